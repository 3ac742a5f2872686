/* DLPack 1.x as its specification lays it out (dlpack/dlpack.h), for tests that need no other header. */
#ifndef STATOR_TESTS_DLPACK_LAYOUT_H
#define STATOR_TESTS_DLPACK_LAYOUT_H

#include <stdint.h>

#define DLPACK_READ_ONLY 1U

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
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} dlpack_tensor;

struct DLManagedTensor {
  dlpack_tensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  dlpack_tensor tensor;
};

#endif /* STATOR_TESTS_DLPACK_LAYOUT_H */
