// Copies of runs of so many bytes, for loops over many of one length. Everything here is of one file and one capability.
#pragma once

#include <cstring>

#include "kernels/simd/vectors.h"

namespace stator::CPU_CAPABILITY {
namespace {

constexpr int64_t kVectorBytes = kLanes * static_cast<int64_t>(sizeof(float));

// As many bytes as a type has.
template <class T>
struct CopyOne {
  explicit CopyOne(int64_t) {}
  void operator()(char* to, const char* from) const {
    T value;
    std::memcpy(&value, from, sizeof(T));
    std::memcpy(to, &value, sizeof(T));
  }
};

struct Bytes16 {
  uint64_t halves[2];
};

// From one to two times as many; the two may meet.
template <class T>
struct CopyTwo {
  explicit CopyTwo(int64_t bytes) : last(bytes - static_cast<int64_t>(sizeof(T))) {}
  void operator()(char* to, const char* from) const {
    T first, second;
    std::memcpy(&first, from, sizeof(T));
    std::memcpy(&second, from + last, sizeof(T));
    std::memcpy(to, &first, sizeof(T));
    std::memcpy(to + last, &second, sizeof(T));
  }
  int64_t last;
};

// At least one vector; the last one may meet the one before.
struct CopyVectors {
  explicit CopyVectors(int64_t bytes) : bytes(bytes) {}
  void operator()(char* to, const char* from) const {
    for (int64_t b = 0; b + kVectorBytes <= bytes; b += kVectorBytes) Vec::loadu(from + b).store(to + b);
    const int64_t last = bytes - kVectorBytes;
    Vec::loadu(from + last).store(to + last);
  }
  int64_t bytes;
};

struct CopyAny {
  explicit CopyAny(int64_t bytes) : bytes(static_cast<size_t>(bytes)) {}
  void operator()(char* to, const char* from) const { std::memcpy(to, from, bytes); }
  size_t bytes;
};

// Calls `f` with what copies runs of so many bytes.
template <class F>
bool with_copy(int64_t bytes, const F& f) {
  if (bytes == 1) return f(CopyOne<uint8_t>(bytes));
  if (bytes == 2) return f(CopyOne<uint16_t>(bytes));
  if (bytes == 4) return f(CopyOne<uint32_t>(bytes));
  if (bytes == 8) return f(CopyOne<uint64_t>(bytes));
  if (bytes > 4 && bytes < 8) return f(CopyTwo<uint32_t>(bytes));
  if (bytes > 8 && bytes <= 16) return f(CopyTwo<uint64_t>(bytes));
  if (bytes > 16 && bytes < 32) return f(CopyTwo<Bytes16>(bytes));
  if (bytes >= kVectorBytes && bytes <= 64 * kVectorBytes) return f(CopyVectors(bytes));
  return f(CopyAny(bytes));
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
