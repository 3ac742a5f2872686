/* The extension's C source beside what cffi generates: what must not make Python objects, and what must be a C function. */
#include <stdint.h>

#include "stator/stator.h"
#include "stator/stator_experimental.h"

/* DLPack's structures; their layout is frozen. */
typedef struct {
  void *data;
  struct {
    int32_t type, index;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} stator_py_dltensor;

struct DLManagedTensor {
  stator_py_dltensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  stator_py_dltensor tensor;
};

/* stator_runtime_run() with a result that needs no new Python object: 0, or the status's address. */
static intptr_t stator_py_run(stator_runtime *runtime, const stator_method *method, stator_arena *arena) {
  return (intptr_t)stator_runtime_run(runtime, method, arena);
}

/* A stator_release_fn: drops the reference to a Python object whose memory was lent. Any thread may call it. */
static void stator_py_release(void *object) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DecRef((PyObject *)object);
  PyGILState_Release(state);
}

/* The part of DLPack's exchange interface that is used here: what a type has as __dlpack_c_exchange_api__. */
typedef struct {
  struct {
    uint32_t major, minor;
  } version;
  const void *previous, *allocate;
  int (*export_object)(void *object, struct DLManagedTensorVersioned **out);
} stator_py_exchange;

/* A Python object's tensor. NULL: it exports none; its __dlpack__ can say why. */
static struct DLManagedTensorVersioned *stator_py_exported(uintptr_t exchange, uintptr_t object) {
  struct DLManagedTensorVersioned *out = NULL;
  PyGILState_STATE state = PyGILState_Ensure();
  if (((const stator_py_exchange *)exchange)->export_object((void *)object, &out) != 0) {
    PyErr_Clear();
    out = NULL;
  }
  PyGILState_Release(state);
  return out;
}

/* Of one that nobody took over. */
static void stator_py_delete(struct DLManagedTensorVersioned *tensor) {
  if (tensor->deleter != NULL) tensor->deleter(tensor);
}

/* stator_value_as_tensor() into one place: 0, or the status's address. */
typedef struct {
  uintptr_t data;
  int32_t dtype, ndim;
  const int64_t *shape, *strides; /* the value's */
} stator_py_layout;

static intptr_t stator_py_describe(const stator_value *value, stator_py_layout *out) {
  const void *data = NULL;
  const intptr_t failed =
      (intptr_t)stator_value_as_tensor(value, &data, &out->dtype, NULL, &out->ndim, &out->shape, &out->strides);
  out->data = (uintptr_t)data;
  return failed;
}

/* DLPack's protocol in Python: a capsule that nobody took over calls the deleter itself. */
static const char stator_py_legacy[] = "dltensor";
static const char stator_py_versioned[] = "dltensor_versioned";
static const char stator_py_legacy_used[] = "used_dltensor";
static const char stator_py_versioned_used[] = "used_dltensor_versioned";

static void stator_py_delete_legacy(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, stator_py_legacy)) return;
  struct DLManagedTensor *tensor = (struct DLManagedTensor *)PyCapsule_GetPointer(capsule, stator_py_legacy);
  if (tensor->deleter != NULL) tensor->deleter(tensor);
}

static void stator_py_delete_versioned(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, stator_py_versioned)) return;
  struct DLManagedTensorVersioned *tensor =
      (struct DLManagedTensorVersioned *)PyCapsule_GetPointer(capsule, stator_py_versioned);
  if (tensor->deleter != NULL) tensor->deleter(tensor);
}

/* 0: legacy, 1: versioned; 2 and 3: the same once a consumer has taken it over. */
static uintptr_t stator_py_capsule_name(int32_t which) {
  const char *const names[] = {stator_py_legacy, stator_py_versioned, stator_py_legacy_used, stator_py_versioned_used};
  return (uintptr_t)names[which & 3];
}

static uintptr_t stator_py_capsule_destructor(int32_t which) {
  return which ? (uintptr_t)stator_py_delete_versioned : (uintptr_t)stator_py_delete_legacy;
}
