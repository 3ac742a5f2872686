// The header of numpy's .npy format, versions 1 to 3 (numpy.lib.format describes it).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stator {

struct NpyHeader {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  bool fortran_order = false;  // the first index runs fastest

  int64_t bytes() const;  // of the elements
  std::vector<int64_t> strides() const;
};

// Reads the dict that the header is: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// `what` names the array in messages. Throws Error: BAD_MODEL (damaged), UNSUPPORTED (a dtype that torch lacks, or big-endian).
NpyHeader parse_npy_header(std::string_view text, const std::string& what);

// The file's bytes up to its elements: magic, version, length, dict. Throws Error UNSUPPORTED if numpy has no such dtype.
std::string format_npy_header(const NpyHeader& header, const std::string& what);

}  // namespace stator
