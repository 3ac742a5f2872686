// Names of codes and element types, for callers in any language and for the core's messages.
#include "stator/stator.h"

extern "C" {

const char *stator_status_name(int32_t code) {
  switch (code) {
    case STATOR_OK:
      return "OK";
    case STATOR_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case STATOR_NOT_FOUND:
      return "NOT_FOUND";
    case STATOR_BUSY:
      return "BUSY";
    case STATOR_TIMEOUT:
      return "TIMEOUT";
    case STATOR_FORKED:
      return "FORKED";
    case STATOR_INPUT_MISSING:
      return "INPUT_MISSING";
    case STATOR_SHAPE_MISMATCH:
      return "SHAPE_MISMATCH";
    case STATOR_DTYPE_MISMATCH:
      return "DTYPE_MISMATCH";
    case STATOR_TYPE_MISMATCH:
      return "TYPE_MISMATCH";
    case STATOR_CANCELLED:
      return "CANCELLED";
    case STATOR_IO:
      return "IO";
    case STATOR_BAD_MODEL:
      return "BAD_MODEL";
    case STATOR_UNSUPPORTED:
      return "UNSUPPORTED";
    case STATOR_TORCH_NOT_FOUND:
      return "TORCH_NOT_FOUND";
    case STATOR_TORCH_VERSION:
      return "TORCH_VERSION";
    case STATOR_MODEL_ERROR:
      return "MODEL_ERROR";
    case STATOR_OPERATOR_ERROR:
      return "OPERATOR_ERROR";
    case STATOR_MEMORY_LIMIT:
      return "MEMORY_LIMIT";
    case STATOR_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case STATOR_INTERNAL:
      return "INTERNAL";
    default:
      return "UNKNOWN";
  }
}

const char *stator_dtype_name(int32_t dtype) {
  switch (dtype) {
    case STATOR_INT8:
      return "int8";
    case STATOR_INT16:
      return "int16";
    case STATOR_INT32:
      return "int32";
    case STATOR_INT64:
      return "int64";
    case STATOR_UINT8:
      return "uint8";
    case STATOR_UINT16:
      return "uint16";
    case STATOR_UINT32:
      return "uint32";
    case STATOR_UINT64:
      return "uint64";
    case STATOR_FLOAT16:
      return "float16";
    case STATOR_FLOAT32:
      return "float32";
    case STATOR_FLOAT64:
      return "float64";
    case STATOR_BFLOAT16:
      return "bfloat16";
    case STATOR_COMPLEX32:
      return "complex32";
    case STATOR_COMPLEX64:
      return "complex64";
    case STATOR_COMPLEX128:
      return "complex128";
    case STATOR_BOOL:
      return "bool";
    case STATOR_FLOAT8_E4M3FN:
      return "float8_e4m3fn";
    case STATOR_FLOAT8_E4M3FNUZ:
      return "float8_e4m3fnuz";
    case STATOR_FLOAT8_E5M2:
      return "float8_e5m2";
    case STATOR_FLOAT8_E5M2FNUZ:
      return "float8_e5m2fnuz";
    case STATOR_FLOAT8_E8M0FNU:
      return "float8_e8m0fnu";
    default:
      return nullptr;
  }
}

}  // extern "C"
