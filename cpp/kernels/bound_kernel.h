// What a bound kernel is: a function over raw addresses and a specification that is fixed when a plan is made. No Tensor, no dispatcher, no
// reference count; it does not allocate and does not throw.
//
// What the specification and each address mean is said where the kernel is declared (matmul.h, rows.h, ...). Whoever calls owns all memory.
// Specifications of kernels that can share their work among threads have `parts` (parallel.h).
#pragma once

namespace stator {

// False if it cannot do what it should, an index out of range for example; what it writes is then undefined, and the caller lets LibTorch's
// operator say what is wrong.
using BoundKernel = bool (*)(const void* specification, void* const* addresses);

}  // namespace stator
