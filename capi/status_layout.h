// What a stator_status is in memory. The front alone makes, counts and frees them (capi/front/status.cpp); the core asks it to through
// stator_front_services (capi/front/services.h). So a status can be made before LibTorch is loaded and read or released in a forked child.
#ifndef STATOR_STATUS_LAYOUT_H
#define STATOR_STATUS_LAYOUT_H

#include "stator/stator.h"

#ifdef __cplusplus
extern "C" {
#endif

// One block of malloc: this struct, then the texts that it points to. No text is NULL. The status for OUT_OF_MEMORY is static, needs
// no memory to make, is not counted, and releasing it does nothing.
struct stator_status {
  int32_t code;
  const char *message;
  const char *op;
  const char *node;
  const char *source;
  const char *argument;
  const char *exception;
};

#ifdef __cplusplus
}
#endif

#endif  // STATOR_STATUS_LAYOUT_H
