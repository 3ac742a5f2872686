// Sizes or strides as plans keep them.
#pragma once

#include <ATen/core/DimVector.h>

#include <cstring>
#include <utility>

namespace stator {

// A DimVector whose copies are quick: views are copied all the time while a plan is made or a call is bound, and hardly any has more than
// five dimensions. All that it may hold without an allocation is copied at once, whether it is in use or not.
class Dims : public at::DimVector {
 public:
  Dims() = default;
  using at::DimVector::DimVector;
  using at::DimVector::operator=;
  Dims(const at::DimVector& other) { copy(other); }  // NOLINT(google-explicit-constructor)
  Dims(const Dims& other) : at::DimVector() { copy(other); }
  Dims(Dims&& other) noexcept { take(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) copy(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }

 private:
  static bool is_short(const at::DimVector& other) { return other.size() <= c10::kDimVectorStaticSize; }
  // There is always room for so many.
  void copy_short(const at::DimVector& other) {
    std::memcpy(data(), other.data(), c10::kDimVectorStaticSize * sizeof(int64_t));
    set_size(other.size());
  }
  void copy(const at::DimVector& other) {
    is_short(other) ? copy_short(other) : static_cast<void>(at::DimVector::operator=(other));
  }
  void take(Dims& other) {
    is_short(other) ? copy_short(other) : static_cast<void>(at::DimVector::operator=(std::move(other)));
  }
};

}  // namespace stator
