// Reductions: many elements made one, along any dimensions that are one run of memory.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

// The elements that are kept in two groups of dimensions, those that are reduced in one; none is empty. Strides in elements. Results are
// contiguous, [outer, inner].
struct ReductionSpec {
  int64_t outer, reduced, inner;
  int64_t outer_stride, reduced_stride, inner_stride;
  double correction = 0;  // of variances; less than `reduced`
  int64_t parts = 1;      // of what is kept
};

// Addresses: the elements, then the results. `int64` and so on are the elements' type where it is not float32.
struct ReductionKernels {
  BoundKernel sum, mean, product, greatest, least;
  BoundKernel norm;  // Euclid's
  BoundKernel variance, deviation;
  BoundKernel variance_and_mean, deviation_and_mean;  // two results
  BoundKernel greatest_and_where,
      least_and_where;                      // two results: the first of equals, NaN before all, and its int64 index
  BoundKernel where_greatest, where_least;  // the index alone
  BoundKernel any, all;                     // bool; NaN is true

  BoundKernel any_bool, all_bool;
  BoundKernel sum_bool, sum_int32, sum_int64;  // int64
  BoundKernel greatest_int64, least_int64, where_greatest_int64, where_least_int64;
  BoundKernel greatest_and_where_int64, least_and_where_int64;
  BoundKernel sum_double, mean_double, greatest_double, least_double;
};

}  // namespace stator
