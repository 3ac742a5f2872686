"""Builds the extension stator._stator: cffi, API mode, from the declarations that tools/abi.py writes.

STATOR_INCLUDE_DIR and STATOR_LIBRARY_DIR say where stator.h and libstator.so are; without them, this repository and its build folder.
"""

import os
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "stator"
ROOT = HERE.parents[1]

include_dir = Path(os.environ.get("STATOR_INCLUDE_DIR", ROOT / "capi" / "include")).resolve()
library_dir = Path(os.environ.get("STATOR_LIBRARY_DIR", ROOT / "build" / "lib")).resolve()

# In a wheel the library lies beside the extension; in the repository, where it was built.
run_paths = ["$ORIGIN", f"$ORIGIN/{os.path.relpath(library_dir, PACKAGE)}"]

ffibuilder = FFI()
ffibuilder.cdef((PACKAGE / "_cdef.h").read_text(encoding="utf-8"))
ffibuilder.cdef("""
intptr_t stator_py_run(stator_runtime *runtime, const stator_method *method, stator_arena *arena);
void stator_py_release(void *object);
typedef struct {
  uintptr_t data;
  int32_t dtype, ndim;
  const int64_t *shape, *strides;
} stator_py_layout;
intptr_t stator_py_describe(const stator_value *value, stator_py_layout *out);
struct DLManagedTensorVersioned *stator_py_exported(uintptr_t exchange, uintptr_t object);
void stator_py_delete(struct DLManagedTensorVersioned *tensor);
uintptr_t stator_py_capsule_name(int32_t which);
uintptr_t stator_py_capsule_destructor(int32_t which);
""")
ffibuilder.set_source(
    "stator._stator",
    (PACKAGE / "_helpers.h").read_text(encoding="utf-8"),
    include_dirs=[str(include_dir)],
    library_dirs=[str(library_dir)],
    libraries=["stator"],
    extra_link_args=[f"-Wl,-rpath,{path}" for path in run_paths] + ["-Wl,--enable-new-dtags"],
    define_macros=[("Py_LIMITED_API", "0x030a0000")],
)
