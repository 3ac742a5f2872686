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

// From the input as it lies -----------------------------------------------------------------------------------------------

// Results of a row that are computed at once, a vector: column x of their windows.
template <int kStride, int kColumns>
struct Inside {
  static constexpr int64_t kNeeded = kStride * kWidth + (kColumns - 1) / kStride * kStride;

  int64_t first;  // column of the input

  template <class X>
  STATOR_INLINE Lanes load_column(const float* row, X x) const {
    if constexpr (kStride == 1) return load(row + first + x.value);
    const float* from = row + first + x.value / 2 * 2;
    return every_other<X::value % 2>(load(from), load(from + kWidth));
  }
};

// The same where windows reach over an end of the row.
template <int kStride, int kColumns>
class AtEnd {
 public:
  AtEnd(const PoolingSpec& spec, int64_t first) : first_(first) {
    for (int64_t x = 0; x < kColumns; ++x) {
      for (int v = 0; v < kStride; ++v) {
        const int64_t begin = first + x + v * kWidth;
        inside_[x][v] = Between(-begin, spec.in_columns - begin);
        around_[x][v] = inside_[x][v].others(spec.around);
      }
    }
  }

  template <class X>
  STATOR_INLINE Lanes load_column(const float* row, X x) const {
    const Lanes low = some(row, x.value, 0);
    if constexpr (kStride == 1) return low;
    return every_other(low, some(row, x.value, kStride - 1));
  }

 private:
  STATOR_INLINE Lanes some(const float* row, int64_t x, int v) const {
    return from_bits(bits_of(inside_[x][v].load(row + first_ + x + v * kWidth)) | bits_of(around_[x][v]));
  }

  int64_t first_;
  Between inside_[kColumns][kStride];
  Lanes around_[kColumns][kStride];
};

// A vector of results of each row.
template <class Kind, int kColumns, class Columns>
void pool_columns(const PoolingSpec& spec, const float* in, const Columns columns, int64_t count, float* out) {
  const Part part(count);
  const int64_t in_row = spec.in_row, in_rows = spec.in_rows, out_row = spec.out_row, rows = spec.window_rows;
  for (int64_t y = 0; y < spec.out_rows; ++y, out += out_row) {
    const int64_t top = y * spec.row_stride - spec.rows_before, end = least(top + rows, in_rows);
    Lanes found = Kind::first();
    for (int64_t row = top < 0 ? 0 : top; row < end; ++row) {
      each<kColumns>([&](auto x) __attribute__((always_inline)) {
        found = Kind::with(found, columns.load_column(in + row * in_row, x));
      });
    }
    part.store(Kind::finish(found, spec), out);
  }
}

template <class Kind, int kStride, int kColumns>
void pool_as_it_lies(const PoolingSpec& spec, const float* in, float* out) {
  for (int64_t x = 0; x < spec.out_columns; x += kWidth) {
    const int64_t first = x * kStride - spec.columns_before, count = least(kWidth, spec.out_columns - x);
    const Inside<kStride, kColumns> inside{first};
    if (first >= 0 && first + inside.kNeeded <= spec.in_columns) {
      pool_columns<Kind, kColumns>(spec, in, inside, count, out + x);
    } else {
      pool_columns<Kind, kColumns>(spec, in, AtEnd<kStride, kColumns>(spec, first), count, out + x);
    }
  }
}

template <class Kind, int kStride>
void pool_as_it_lies(const PoolingSpec& spec, const float* in, float* out) {
  spec.window_columns == 2 ? pool_as_it_lies<Kind, kStride, 2>(spec, in, out)
                           : pool_as_it_lies<Kind, kStride, 3>(spec, in, out);
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
        float* const out = result + i * spec.out_image;
        if (spec.window_columns > 0) {
          spec.column_stride == 1 ? pool_as_it_lies<Kind, 1>(spec, in, out) : pool_as_it_lies<Kind, 2>(spec, in, out);
          continue;
        }
        if (spec.lays_out) lay_out(spec, in, scratch, {0, 1});
        pool_image<Kind>(spec, spec.lays_out ? scratch : in, offsets, tiling, out);
      }
    }
  });
  return true;
}

}  // namespace

const PoolingKernels pooling_kernels{pool<Largest>, pool<Mean>};

}  // namespace stator::CPU_CAPABILITY
