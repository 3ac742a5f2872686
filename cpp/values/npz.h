// Files of named arrays, as numpy.savez and numpy.savez_compressed write them and numpy.load reads them.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stator {

using NamedTensor = std::pair<std::string, at::Tensor>;

// In the file's order; names without ".npy". Arrays in Fortran order become tensors with such strides.
// Throws Error: NOT_FOUND, IO, BAD_MODEL (damaged), UNSUPPORTED (a dtype that torch lacks, big-endian, encrypted), OUT_OF_MEMORY.
std::vector<NamedTensor> read_npz(const std::string& path);

// Replaces the file. Tensors are dense and on the CPU; Fortran-contiguous ones stay so.
// Throws Error: IO, UNSUPPORTED (a dtype that numpy lacks), INVALID_ARGUMENT (a name twice), before anything is written where possible.
void write_npz(const std::string& path, std::span<const NamedTensor> arrays);

}  // namespace stator
