"""What pyproject.toml cannot say: the extension comes from cffi, and a wheel carries the libraries."""

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext


class BuildExtension(build_ext):
    """Puts libstator.so and its core beside the extension, unless that is built in place."""

    def run(self) -> None:
        super().run()
        if self.inplace or self.editable_mode:
            return
        libraries = Path(os.environ.get("STATOR_LIBRARY_DIR", Path(__file__).resolve().parents[2] / "build" / "lib"))
        package = Path(self.build_lib) / "stator"
        package.mkdir(parents=True, exist_ok=True)
        # By the name that the loader asks for: libstator.so.0, not the file with the full version.
        names = [path for path in libraries.glob("libstator.so.?") if path.suffix[1:].isdigit()] + list(
            libraries.glob("libstator_torch*.so")
        )
        for library in names:
            shutil.copyfile(library, package / library.name)


setup(cffi_modules=["build_ffi.py:ffibuilder"], cmdclass={"build_ext": BuildExtension})
