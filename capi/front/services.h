// The protocol between the front (libstator.so, no torch) and the core (libstator_torch2_15.so).
//
// The front opens the core and calls the one function that it exports, stator_core_table(), once per process. It hands over the services
// below, which stay valid for the life of the process, and gets the core's functions: an array in the order of `stator_core_index` in
// capi/front/table.gen.h. Entry 0 is stator_core_live_handles(), the others are functions of stator.h with exactly those signatures.
// Both sides are generated from the header by tools/abi.py; `table_id` is a hash of all signatures in the table, so a front and a core
// that do not fit are refused instead of called wrongly.
//
// In the core: define each function of the table under its public name, as stator.h declares it (capi/core.map keeps the names inside
// the library), and stator_core_live_handles(). What the front defines (stator_status_*, stator_abi_version, stator_torch_load,
// stator_live_handles, stator_dtype_name) does not exist in the core: use stator_core_services() for it.
#ifndef STATOR_FRONT_SERVICES_H
#define STATOR_FRONT_SERVICES_H

#include "stator/stator.h"
#include "stator/stator_experimental.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stator_front_services {
  uint64_t table_id;  // STATOR_TABLE_ID of the front

  // Makes a status. Texts are copied; a NULL text is "". Never fails: without memory it gives the static OUT_OF_MEMORY status.
  stator_status *(*status_make)(int32_t code, const char *message, const char *op, const char *node, const char *source,
                                const char *argument, const char *exception);
  void (*status_release)(stator_status *status);

  // 1 in a child forked after the core was opened. The front has checked it before every call of the table that returns a status, and
  // swallows retain and release there; callbacks that do not pass the front (DLPack deleters) ask here and then do nothing.
  int32_t (*forked)(void);

  const char *(*dtype_name)(int32_t dtype);  // stator_dtype_name()
  const char *(*status_name)(int32_t code);  // stator_status_name()

  const char *version;       // of Stator, "0.1.0"
  const char *torch_path;    // the libtorch_cpu that was found: its file's path, or its name if the loader found it
  int32_t torch_version[3];  // of that LibTorch: major, minor, patch
} stator_front_services;

// Exported by the core. NULL if `services->table_id` is not the core's.
__attribute__((visibility("default"))) const void *const *stator_core_table(const stator_front_services *services,
                                                                            int32_t *count);

// Defined by the core: how many handles of a kind are alive, all kinds but STATOR_HANDLE_STATUS; 0 for an unknown one. Never throws.
int64_t stator_core_live_handles(int32_t kind);

// In the core (capi/core_table.cpp): what the front handed over. Valid whenever a function of the table runs.
const stator_front_services *stator_core_services(void);

#ifdef __cplusplus
}
#endif

#endif  // STATOR_FRONT_SERVICES_H
