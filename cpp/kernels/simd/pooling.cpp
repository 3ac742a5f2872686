// Pooling: pooling.h says what it computes. Compiled once per CPU capability.
#include "kernels/pooling.h"

#include "kernels/simd/share.h"
#include "kernels/simd/windows.h"

namespace stator::CPU_CAPABILITY {

extern const PoolingKernels pooling_kernels;

namespace {

// As LibTorch finds the largest: of equal ones the first, and a NaN for good.
struct Largest {
  STATOR_INLINE static Lanes first() { return all_lanes(-__builtin_inff()); }
  STATOR_INLINE static Lanes with(Lanes most, Lanes value) { return (value > most) | (value != value) ? value : most; }
  STATOR_INLINE static Lanes finish(Lanes most, const PoolingSpec&) { return most; }
};

struct Mean {
  STATOR_INLINE static Lanes first() { return Lanes{}; }
  STATOR_INLINE static Lanes with(Lanes sum, Lanes value) { return sum + value; }
  STATOR_INLINE static Lanes finish(Lanes sum, const PoolingSpec& spec) { return sum / all_lanes(spec.count); }
};

template <class Kind, int kVectors, bool kPartly>
void pool_tile(const PoolingSpec& spec, const float* in, const int64_t* offsets, const Tile& tile, float* out) {
  const Part part(tile.last);
  Lanes found[kVectors];
  each<kVectors>([&](auto v) __attribute__((always_inline)) { found[v.value] = Kind::first(); });
  for (int64_t k = 0; k < spec.depth; ++k) {
    const float* from = in + tile.position + offsets[k];
    each<kVectors>([&](auto v) __attribute__((always_inline)) {
      const float* at = from + v.value * kWidth;
      found[v.value] = Kind::with(found[v.value], kPartly && v.value == kVectors - 1 ? part.load(at) : load(at));
    });
  }
  TileRows<1, kVectors> row;
  each<kVectors>([&](auto v) __attribute__((always_inline)) {
    const Lanes value = Kind::finish(found[v.value], spec);
    if (tile.out < 0) {
      store(value, row[0] + v.value * kWidth);
    } else {
      float* to = out + tile.out + v.value * kWidth;
      v.value == kVectors - 1 ? part.store(value, to) : store(value, to);
    }
  });
  if (tile.out < 0) put_rows<1, kVectors>(spec, row, tile, out);
}

// Beyond the last element of the input there may be nothing to read.
template <class Kind, int kVectors>
void pool_tile(const PoolingSpec& spec, const float* in, const int64_t* offsets, const Tile& tile, float* out) {
  const bool whole = spec.lays_out || tile.last == kWidth;
  whole ? pool_tile<Kind, kVectors, false>(spec, in, offsets, tile, out)
        : pool_tile<Kind, kVectors, true>(spec, in, offsets, tile, out);
}

template <class Kind>
void pool_image(const PoolingSpec& spec, const float* in, const int64_t* offsets, const Tiling& tiling, float* out) {
  for (int64_t i = 0; i < tiling.count(); ++i) {
    const Tile tile = tiling.tile(i);
    if (tile.count == 1) {
      pool_tile<Kind, 1>(spec, in, offsets, tile, out);
    } else if (tile.count == 2) {
      pool_tile<Kind, 2>(spec, in, offsets, tile, out);
    } else {
      pool_tile<Kind, 3>(spec, in, offsets, tile, out);
    }
  }
}

template <class Kind>
bool pool(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const PoolingSpec*>(specification);
  const auto* input = static_cast<const float*>(addresses[0]);
  const auto* offsets = static_cast<const int64_t*>(addresses[1]);
  auto* result = static_cast<float*>(addresses[2]);
  const Tiling tiling = tiling_of(spec);
  share(spec.parts, spec.parts, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) {
      float* scratch = spec.lays_out ? static_cast<float*>(addresses[3]) + part * spec.group_floats : nullptr;
      for (int64_t i = part * spec.images / spec.parts; i < (part + 1) * spec.images / spec.parts; ++i) {
        const float* in = input + i * spec.in_image;
        if (spec.lays_out) lay_out(spec, in, scratch, {0, 1});
        pool_image<Kind>(spec, spec.lays_out ? scratch : in, offsets, tiling, result + i * spec.out_image);
      }
    }
  });
  return true;
}

}  // namespace

const PoolingKernels pooling_kernels{pool<Largest>, pool<Mean>};

}  // namespace stator::CPU_CAPABILITY
