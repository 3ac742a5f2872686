#include <stator/stator.h>

#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const int32_t version = stator_abi_version();
  if (version >> 16 != STATOR_ABI_MAJOR || (version & 0xffff) < STATOR_ABI_MINOR) {
    fprintf(stderr, "header %d.%d, library %d.%d\n", STATOR_ABI_MAJOR, STATOR_ABI_MINOR, version >> 16,
            version & 0xffff);
    return 1;
  }
  stator_status *status = stator_torch_load(getenv("STATOR_TORCH_HOME"));
  if (status != NULL) {
    fprintf(stderr, "%s\n", stator_status_message(status));
    stator_status_release(status);
    return 1;
  }
  printf("stator ABI %d.%d found its core and LibTorch\n", version >> 16, version & 0xffff);
  return 0;
}
