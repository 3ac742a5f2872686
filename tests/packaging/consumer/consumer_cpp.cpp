#include <stator/stator.h>

int main() { return stator_abi_version() >> 16 == STATOR_ABI_MAJOR ? 0 : 1; }
