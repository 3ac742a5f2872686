#include "guard.h"

#include <c10/util/Exception.h>

#include "front/services.h"

namespace stator::capi {
namespace {

stator_status* make(ErrorCode code, const char* message, const ErrorPlace& place) {
  return stator_core_services()->status_make(static_cast<int32_t>(code), message, place.op.c_str(), place.node.c_str(),
                                             place.source.c_str(), place.argument.c_str(), place.raised.c_str());
}

static_assert(static_cast<int>(ErrorCode::kInvalidArgument) == STATOR_INVALID_ARGUMENT &&
              static_cast<int>(ErrorCode::kNotFound) == STATOR_NOT_FOUND &&
              static_cast<int>(ErrorCode::kBusy) == STATOR_BUSY &&
              static_cast<int>(ErrorCode::kTimeout) == STATOR_TIMEOUT &&
              static_cast<int>(ErrorCode::kInputMissing) == STATOR_INPUT_MISSING &&
              static_cast<int>(ErrorCode::kShapeMismatch) == STATOR_SHAPE_MISMATCH &&
              static_cast<int>(ErrorCode::kDtypeMismatch) == STATOR_DTYPE_MISMATCH &&
              static_cast<int>(ErrorCode::kTypeMismatch) == STATOR_TYPE_MISMATCH &&
              static_cast<int>(ErrorCode::kCancelled) == STATOR_CANCELLED &&
              static_cast<int>(ErrorCode::kIo) == STATOR_IO &&
              static_cast<int>(ErrorCode::kBadModel) == STATOR_BAD_MODEL &&
              static_cast<int>(ErrorCode::kUnsupported) == STATOR_UNSUPPORTED &&
              static_cast<int>(ErrorCode::kModelError) == STATOR_MODEL_ERROR &&
              static_cast<int>(ErrorCode::kOperatorError) == STATOR_OPERATOR_ERROR &&
              static_cast<int>(ErrorCode::kMemoryLimit) == STATOR_MEMORY_LIMIT &&
              static_cast<int>(ErrorCode::kOutOfMemory) == STATOR_OUT_OF_MEMORY &&
              static_cast<int>(ErrorCode::kInternal) == STATOR_INTERNAL);

}  // namespace

stator_status* status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return make(error.code, error.message.c_str(), error.place);
  } catch (const c10::OutOfMemoryError& error) {
    return make(ErrorCode::kOutOfMemory, error.what_without_backtrace(), {});
  } catch (const c10::Error& error) {
    return make(ErrorCode::kInternal, error.what_without_backtrace(), {});
  } catch (const std::bad_alloc&) {
    return make(ErrorCode::kOutOfMemory, "out of memory", {});
  } catch (const std::exception& error) {
    return make(ErrorCode::kInternal, error.what(), {});
  } catch (...) {
    return make(ErrorCode::kInternal, "an unknown exception", {});
  }
}

void refuse(const char* parameter, const char* what) {
  throw Error(ErrorCode::kInvalidArgument, std::string("parameter \"") + parameter + "\" " + what,
              {"", "", "", parameter});
}

}  // namespace stator::capi
