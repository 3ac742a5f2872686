// Resampling: resample.h says what it computes. Compiled once per CPU capability.
#include "kernels/resample.h"

#include "kernels/simd/lanes.h"
#include "kernels/simd/share.h"

namespace stator::CPU_CAPABILITY {

extern const ResampleKernels resample_kernels;

namespace {

STATOR_INLINE Lanes gathered(const float* from, const int32_t* indices) {
#if defined(CPU_CAPABILITY_AVX512)
  return _mm512_i32gather_ps(_mm512_loadu_si512(indices), from, sizeof(float));
#elif defined(CPU_CAPABILITY_AVX2)
  return _mm256_i32gather_ps(from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices)), sizeof(float));
#else
  Lanes value;
  for (int64_t i = 0; i < kWidth; ++i) value[i] = from[indices[i]];
  return value;
#endif
}

void pick(const float* row, const int32_t* columns, int64_t width, float* out) {
  int64_t x = 0;
  for (; x + kWidth <= width; x += kWidth) store(gathered(row, columns + x), out + x);
  for (; x < width; ++x) out[x] = row[columns[x]];
}

void nearest_image(const ResampleSpec& spec, const float* in, const int32_t* columns, const int32_t* rows, float* out) {
  for (int64_t y = 0; y < spec.out_height; ++y, out += spec.out_row) {
    if (y > 0 && rows[y] == rows[y - 1]) {
      __builtin_memcpy(out, out - spec.out_row, spec.out_width * sizeof(float));
    } else {
      pick(in + rows[y] * spec.in_row, columns, spec.out_width, out);
    }
  }
}

bool nearest(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ResampleSpec*>(specification);
  const auto* columns = static_cast<const int32_t*>(addresses[1]);
  const auto* rows = static_cast<const int32_t*>(addresses[2]);
  share(spec.parts, spec.images, [&](int64_t image, int64_t end) {
    for (; image < end; ++image) {
      nearest_image(spec, static_cast<const float*>(addresses[0]) + image * spec.in_image, columns, rows,
                    static_cast<float*>(addresses[3]) + image * spec.out_image);
    }
  });
  return true;
}

// Where two elements are, and how much each weighs.
struct Between {
  const int32_t *first, *second;
  const float *first_weight, *second_weight;

  Between(const void* places, const void* weights, int64_t count)
      : first(static_cast<const int32_t*>(places)),
        second(first + count),
        first_weight(static_cast<const float*>(weights)),
        second_weight(first_weight + count) {}
};

void widen(const float* row, const Between& columns, int64_t width, float* out) {
  int64_t x = 0;
  for (; x + kWidth <= width; x += kWidth) {
    const Lanes first = gathered(row, columns.first + x), second = gathered(row, columns.second + x);
    store(first * load(columns.first_weight + x) + second * load(columns.second_weight + x), out + x);
  }
  for (; x < width; ++x)
    out[x] = row[columns.first[x]] * columns.first_weight[x] + row[columns.second[x]] * columns.second_weight[x];
}

void blend(const float* first, float first_weight, const float* second, float second_weight, int64_t width,
           float* out) {
  int64_t x = 0;
  for (; x + kWidth <= width; x += kWidth)
    store(load(first + x) * first_weight + load(second + x) * second_weight, out + x);
  for (; x < width; ++x) out[x] = first[x] * first_weight + second[x] * second_weight;
}

// A row and the next one are of different parity, and so each has a place.
void linear_image(const ResampleSpec& spec, const float* in, const Between& columns, const Between& rows,
                  float* scratch, float* out) {
  int64_t held[] = {-1, -1};
  const auto widened = [&](int64_t row) {
    float* place = scratch + row % 2 * spec.out_width;
    if (held[row % 2] != row) widen(in + row * spec.in_row, columns, spec.out_width, place);
    held[row % 2] = row;
    return place;
  };
  for (int64_t y = 0; y < spec.out_height; ++y) {
    const float *first = widened(rows.first[y]), *second = widened(rows.second[y]);
    blend(first, rows.first_weight[y], second, rows.second_weight[y], spec.out_width, out + y * spec.out_row);
  }
}

bool linear(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ResampleSpec*>(specification);
  const Between columns(addresses[1], addresses[2], spec.out_width), rows(addresses[3], addresses[4], spec.out_height);
  const auto* input = static_cast<const float*>(addresses[0]);
  auto* result = static_cast<float*>(addresses[5]);
  share(spec.parts, spec.parts, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) {
      float* scratch = static_cast<float*>(addresses[6]) + part * 2 * spec.out_width;
      for (int64_t i = part * spec.images / spec.parts; i < (part + 1) * spec.images / spec.parts; ++i) {
        linear_image(spec, input + i * spec.in_image, columns, rows, scratch, result + i * spec.out_image);
      }
    }
  });
  return true;
}

}  // namespace

const ResampleKernels resample_kernels{nearest, linear};

}  // namespace stator::CPU_CAPABILITY
