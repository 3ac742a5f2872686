#include "kernels/dispatch.h"

#include <ATen/Version.h>

namespace stator {

namespace DEFAULT {
extern const TileKernels tile_kernels;
extern const CopyKernels copy_kernels;
extern const ReductionKernels reduction_kernels;
extern const RowKernels row_kernels;
extern const GatherKernels gather_kernels;
extern const MatmulKernels matmul_kernels;
extern const AttentionKernels attention_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const ConvolutionKernels convolution_kernels;
extern const PoolingKernels pooling_kernels;
extern const WinogradKernels winograd_kernels;
extern const DepthwiseKernels depthwise_kernels;
extern const BottleneckKernels bottleneck_kernels;
extern const PositionsKernels positions_kernels;
extern const ResampleKernels resample_kernels;
extern const ScatterKernels scatter_kernels;
}  // namespace DEFAULT
#ifdef STATOR_HAVE_AVX2_KERNELS
namespace AVX2 {
extern const TileKernels tile_kernels;
extern const CopyKernels copy_kernels;
extern const ReductionKernels reduction_kernels;
extern const RowKernels row_kernels;
extern const GatherKernels gather_kernels;
extern const MatmulKernels matmul_kernels;
extern const AttentionKernels attention_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const ConvolutionKernels convolution_kernels;
extern const PoolingKernels pooling_kernels;
extern const WinogradKernels winograd_kernels;
extern const DepthwiseKernels depthwise_kernels;
extern const BottleneckKernels bottleneck_kernels;
extern const PositionsKernels positions_kernels;
extern const ResampleKernels resample_kernels;
extern const ScatterKernels scatter_kernels;
}  // namespace AVX2
#endif
#ifdef STATOR_HAVE_AVX512_KERNELS
namespace AVX512 {
extern const TileKernels tile_kernels;
extern const CopyKernels copy_kernels;
extern const ReductionKernels reduction_kernels;
extern const RowKernels row_kernels;
extern const GatherKernels gather_kernels;
extern const MatmulKernels matmul_kernels;
extern const AttentionKernels attention_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const ConvolutionKernels convolution_kernels;
extern const PoolingKernels pooling_kernels;
extern const WinogradKernels winograd_kernels;
extern const DepthwiseKernels depthwise_kernels;
extern const BottleneckKernels bottleneck_kernels;
extern const PositionsKernels positions_kernels;
extern const ResampleKernels resample_kernels;
extern const ScatterKernels scatter_kernels;
}  // namespace AVX512
#endif

namespace {

constexpr KernelTable kTables[] = {
    {"DEFAULT", &DEFAULT::tile_kernels, &DEFAULT::copy_kernels, &DEFAULT::reduction_kernels, &DEFAULT::row_kernels,
     &DEFAULT::gather_kernels, &DEFAULT::matmul_kernels, &DEFAULT::attention_kernels, &DEFAULT::recurrent_kernels,
     &DEFAULT::convolution_kernels, &DEFAULT::pooling_kernels, &DEFAULT::winograd_kernels, &DEFAULT::depthwise_kernels,
     &DEFAULT::bottleneck_kernels, &DEFAULT::positions_kernels, &DEFAULT::resample_kernels, &DEFAULT::scatter_kernels},
#ifdef STATOR_HAVE_AVX2_KERNELS
    {"AVX2", &AVX2::tile_kernels, &AVX2::copy_kernels, &AVX2::reduction_kernels, &AVX2::row_kernels,
     &AVX2::gather_kernels, &AVX2::matmul_kernels, &AVX2::attention_kernels, &AVX2::recurrent_kernels,
     &AVX2::convolution_kernels, &AVX2::pooling_kernels, &AVX2::winograd_kernels, &AVX2::depthwise_kernels,
     &AVX2::bottleneck_kernels, &AVX2::positions_kernels, &AVX2::resample_kernels, &AVX2::scatter_kernels},
#endif
#ifdef STATOR_HAVE_AVX512_KERNELS
    {"AVX512", &AVX512::tile_kernels, &AVX512::copy_kernels, &AVX512::reduction_kernels, &AVX512::row_kernels,
     &AVX512::gather_kernels, &AVX512::matmul_kernels, &AVX512::attention_kernels, &AVX512::recurrent_kernels,
     &AVX512::convolution_kernels, &AVX512::pooling_kernels, &AVX512::winograd_kernels, &AVX512::depthwise_kernels,
     &AVX512::bottleneck_kernels, &AVX512::positions_kernels, &AVX512::resample_kernels, &AVX512::scatter_kernels},
#endif
};

}  // namespace

const KernelTable* find_kernels(std::string_view capability) {
  for (const KernelTable& table : kTables) {
    if (capability == table.capability) return &table;
  }
  return nullptr;
}

const KernelTable& kernels() {
  static const KernelTable& chosen = []() -> const KernelTable& {
    const KernelTable* found = find_kernels(at::get_cpu_capability());
    return found ? *found : kTables[0];  // LibTorch has names of its own for what is less than AVX2
  }();
  return chosen;
}

}  // namespace stator
