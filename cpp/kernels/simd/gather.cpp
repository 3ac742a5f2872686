// Picking elements and rows by indices. Compiled once per CPU capability.
#include "kernels/gather.h"

#include <cstring>

#include "kernels/simd/copying.h"
#include "kernels/simd/share.h"
#include "kernels/simd/vectors.h"

namespace stator::CPU_CAPABILITY {

extern const GatherKernels gather_kernels;

namespace {

// ---- indices ----

int64_t counted(int64_t index, int64_t size, bool negative) { return negative && index < 0 ? index + size : index; }

bool is_in(int64_t index, int64_t size) { return static_cast<uint64_t>(index) < static_cast<uint64_t>(size); }

constexpr int64_t kAhead = 8;  // rows that are fetched before they are needed
constexpr int64_t kMostFetched = 512;

template <class Index, class Copy>
bool pick_runs(const PickRunsSpec& spec, const char* from, const Index* indices, char* to, const Copy& copy) {
  return share_pieces_checked(spec.parts, spec.outer, spec.count, [&](int64_t o, int64_t first, int64_t last) {
    const char* table = from + o * spec.outer_stride;
    char* next = to + o * spec.to_outer + first * spec.to_stride;
    for (int64_t i = first; i < last; ++i, next += spec.to_stride) {
      if (i + kAhead < last) __builtin_prefetch(table + static_cast<int64_t>(indices[i + kAhead]) * spec.stride);
      const int64_t index = counted(indices[i], spec.size, spec.negative);
      if (!is_in(index, spec.size)) return false;
      copy(next, table + index * spec.stride);
    }
    return true;
  });
}

bool pick_runs(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const PickRunsSpec*>(specification);
  const auto* from = static_cast<const char*>(addresses[0]);
  auto* to = static_cast<char*>(addresses[2]);
  return with_copy(spec.bytes, [&](const auto& copy) {
    return spec.wide ? pick_runs(spec, from, static_cast<const int64_t*>(addresses[1]), to, copy)
                     : pick_runs(spec, from, static_cast<const int32_t*>(addresses[1]), to, copy);
  });
}

// False if an index is out of range.
bool offset_of(const PickByManySpec& spec, void* const* indices, int64_t i, int64_t& offset) {
  offset = 0;
  for (int k = 0; k < spec.indices; ++k) {
    const int64_t index = counted(static_cast<const int64_t*>(indices[k])[i * spec.step[k]], spec.size[k], true);
    if (!is_in(index, spec.size[k])) return false;
    offset += index * spec.stride[k];
  }
  return true;
}

bool pick_by_many(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const PickByManySpec*>(specification);
  const auto* from = static_cast<const char*>(addresses[0]);
  auto* to = static_cast<char*>(addresses[1 + spec.indices]);
  return with_copy(spec.bytes, [&](const auto& copy) {
    return share_checked(spec.parts, spec.count, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        int64_t offset;
        if (!offset_of(spec, addresses + 1, i, offset)) return false;
        for (int64_t o = 0; o < spec.outer; ++o) {
          copy(to + o * spec.to_outer + i * spec.to_stride, from + o * spec.outer_stride + offset);
        }
      }
      return true;
    });
  });
}

bool pick_offsets(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const PickOffsetsSpec*>(specification);
  const auto* from = static_cast<const char*>(addresses[0]);
  const auto* offsets = static_cast<const int32_t*>(addresses[1]);
  auto* to = static_cast<char*>(addresses[2]);
  return with_copy(spec.bytes, [&](const auto& copy) {
    share_pieces(spec.parts, spec.outer, spec.count, [&](int64_t o, int64_t first, int64_t last) {
      const char* elements = from + o * spec.outer_stride;
      char* next = to + o * spec.to_outer + first * spec.to_stride;
      for (int64_t i = first; i < last; ++i, next += spec.to_stride) copy(next, elements + offsets[i]);
    });
    return true;
  });
}

template <class T>
bool gather(const GatherSpec& spec, const T* from, const int64_t* indices, T* to) {
  for (int64_t o = 0; o < spec.outer; ++o, from += spec.size * spec.inner) {
    for (int64_t c = 0; c < spec.count; ++c) {
      for (int64_t i = 0; i < spec.inner; ++i) {
        const int64_t index = *indices++;
        if (!is_in(index, spec.size)) return false;
        *to++ = from[index * spec.inner + i];
      }
    }
  }
  return true;
}

template <class T>
bool gather(const GatherSpec& spec, void* const* addresses) {
  return gather(spec, static_cast<const T*>(addresses[0]), static_cast<const int64_t*>(addresses[1]),
                static_cast<T*>(addresses[2]));
}

bool gather(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const GatherSpec*>(specification);
  if (spec.bytes == 1) return gather<uint8_t>(spec, addresses);
  if (spec.bytes == 4) return gather<uint32_t>(spec, addresses);
  return gather<uint64_t>(spec, addresses);
}

bool one_hot(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const OneHotSpec*>(specification);
  const auto* classes = static_cast<const int64_t*>(addresses[0]);
  auto* to = static_cast<int64_t*>(addresses[1]);
  std::memset(to, 0, static_cast<size_t>(spec.count * spec.classes) * sizeof(int64_t));
  for (int64_t i = 0; i < spec.count; ++i) {
    if (!is_in(classes[i], spec.classes)) return false;
    to[i * spec.classes + classes[i]] = 1;
  }
  return true;
}

// ---- bags ----

template <class Index>
struct Bag {
  const Index* indices;
  const float* weights;  // NULL: all 1
  int64_t count;
};

// `kStrips` vectors of a bag's rows, from `table` on.
template <bool kWeighted, int kStrips, class Index, class Which>
void sum_strips(const float* table, int64_t stride, const Bag<Index>& bag, float scale, float* to, const Which& lanes) {
  Vec sums[kStrips];
  for (Vec& sum : sums) sum = Vec(0.0f);
  for (int64_t i = 0; i < bag.count; ++i) {
    const float* row = table + static_cast<int64_t>(bag.indices[i]) * stride;
    const Vec weight(kWeighted ? bag.weights[i] : 1.0f);
    for (int s = 0; s < kStrips; ++s) {
      const Vec value = lanes.load(row + s * kLanes);
      sums[s] = kWeighted ? at::vec::fmadd(value, weight, sums[s]) : sums[s] + value;
    }
  }
  for (int s = 0; s < kStrips; ++s) lanes.store(sums[s] * Vec(scale), to + s * kLanes);
}

template <bool kWeighted, class Index>
void sum_bag(const BagsSpec& spec, const float* table, const Bag<Index>& bag, float* to) {
  const float scale = spec.mode == BagMode::kMean && bag.count > 1 ? 1.0f / static_cast<float>(bag.count) : 1.0f;
  int64_t i = 0;
  for (; i + 4 * kLanes <= spec.size; i += 4 * kLanes) {
    sum_strips<kWeighted, 4>(table + i, spec.row_stride, bag, scale, to + i, AllLanes());
  }
  if (i + 2 * kLanes <= spec.size) {
    sum_strips<kWeighted, 2>(table + i, spec.row_stride, bag, scale, to + i, AllLanes());
    i += 2 * kLanes;
  }
  if (i + kLanes <= spec.size) {
    sum_strips<kWeighted, 1>(table + i, spec.row_stride, bag, scale, to + i, AllLanes());
    i += kLanes;
  }
  if (i < spec.size) {
    sum_strips<kWeighted, 1>(table + i, spec.row_stride, bag, scale, to + i, Lanes(spec.size - i));
  }
}

template <class Index>
bool are_in(const BagsSpec& spec, const float* table, const Index* indices, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!is_in(indices[i], spec.rows)) return false;
    const float* row = table + static_cast<int64_t>(indices[i]) * spec.row_stride;
    for (int64_t at = 0; at < spec.size && at < 64; at += 16) __builtin_prefetch(row + at);
  }
  return true;
}

// What LibTorch tells beside the sums.
template <class Index>
struct BagNotes {
  Index* bags_of;
  Index* sizes;
  Index* same_sizes;

  void note(int64_t bag, int64_t first, int64_t end) const {
    if (bags_of) {
      for (int64_t i = first; i < end; ++i) bags_of[i] = static_cast<Index>(bag);
    }
    if (sizes) sizes[bag] = same_sizes[bag] = static_cast<Index>(end - first);
  }
};

template <class Index>
struct Bags {
  const float* table;
  const Index *indices, *offsets;
  const float* weights;  // NULL: all 1
  float* to;
  BagNotes<Index> notes;
};

// Bags begin .. last - 1.
template <class Index>
bool sum_bags(const BagsSpec& spec, const Bags<Index>& all, int64_t begin, int64_t last) {
  const auto end_of = [&](int64_t b) -> int64_t {
    return b + 1 < spec.bags || spec.last_offset ? all.offsets[b + 1] : spec.indices;
  };
  const int64_t start = all.offsets[begin], end = end_of(last - 1);
  if (start < 0 || start > end || end > spec.indices) return false;
  if (!are_in(spec, all.table, all.indices + start, end - start)) return false;
  float* to = all.to + begin * spec.to_stride;
  for (int64_t b = begin; b < last; ++b, to += spec.to_stride) {
    const int64_t first = all.offsets[b], behind = end_of(b);
    if (first < start || first > behind || behind > end) return false;
    all.notes.note(b, first, behind);
    const Bag<Index> bag{all.indices + first, all.weights ? all.weights + first : nullptr, behind - first};
    all.weights ? sum_bag<true>(spec, all.table, bag, to) : sum_bag<false>(spec, all.table, bag, to);
  }
  return true;
}

template <class Index>
bool bags(const BagsSpec& spec, void* const* addresses) {
  const auto* table = static_cast<const float*>(addresses[0]);
  const auto* indices = static_cast<const Index*>(addresses[1]);
  const auto* offsets = static_cast<const Index*>(addresses[2]);
  void* const* next = addresses + 3;
  const auto* weights = spec.weighted ? static_cast<const float*>(*next++) : nullptr;
  auto* to = static_cast<float*>(*next++);
  auto* bags_of = spec.has_bags_of ? static_cast<Index*>(*next++) : nullptr;
  auto* sizes = static_cast<Index*>(next[0]);
  auto* same_sizes = static_cast<Index*>(next[1]);
  const BagNotes<Index> notes{bags_of, spec.has_bag_sizes ? sizes : nullptr, same_sizes};
  if (!spec.has_bag_sizes) {
    const size_t bytes = static_cast<size_t>(spec.bags + (spec.last_offset ? 1 : 0)) * sizeof(Index);
    std::memset(sizes, 0, bytes);
    std::memset(same_sizes, 0, bytes);
  }
  if (offsets[0] != 0 || (spec.last_offset && offsets[spec.bags] != spec.indices)) return false;
  const Bags<Index> all{table, indices, offsets, weights, to, notes};
  // So many bags at a time that the rows that are fetched for them are still there when they are summed.
  const int64_t at_once = spec.indices <= kMostFetched ? spec.bags : spec.bags * kMostFetched / spec.indices + 1;
  return share_checked(spec.parts, spec.bags, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b += at_once) {
      if (!sum_bags(spec, all, b, b + at_once < end ? b + at_once : end)) return false;
    }
    return true;
  });
}

bool bags(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const BagsSpec*>(specification);
  return spec.wide ? bags<int64_t>(spec, addresses) : bags<int32_t>(spec, addresses);
}

}  // namespace

const GatherKernels gather_kernels{
    .pick_runs = pick_runs,
    .pick_by_many = pick_by_many,
    .pick_offsets = pick_offsets,
    .gather = gather,
    .bags = bags,
    .one_hot = one_hot,
};

}  // namespace stator::CPU_CAPABILITY
