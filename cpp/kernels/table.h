// The bound kernels, as one table per CPU capability. simd/*.cpp are compiled once per capability and each exports its part of that table.
//
// Objects compiled for a capability may be linked into one library with objects for others, so they define nothing that the linker could
// merge across them: no inline function or template of another namespace than their own (tests/packaging/simd_objects.sh looks).
#pragma once

#include "kernels/attention.h"
#include "kernels/bottleneck.h"
#include "kernels/convolution.h"
#include "kernels/copies.h"
#include "kernels/depthwise.h"
#include "kernels/gather.h"
#include "kernels/matmul.h"
#include "kernels/pooling.h"
#include "kernels/positions.h"
#include "kernels/recurrent.h"
#include "kernels/reductions.h"
#include "kernels/resample.h"
#include "kernels/rows.h"
#include "kernels/scatter.h"
#include "kernels/tile.h"
#include "kernels/winograd.h"

namespace stator {

struct KernelTable {
  const char* capability;  // as at::get_cpu_capability() has it
  const TileKernels* tile;
  const CopyKernels* copies;
  const ReductionKernels* reductions;
  const RowKernels* rows;
  const GatherKernels* gather;
  const MatmulKernels* matmul;
  const AttentionKernels* attention;
  const RecurrentKernels* recurrent;
  const ConvolutionKernels* convolution;
  const PoolingKernels* pooling;
  const WinogradKernels* winograd;
  const DepthwiseKernels* depthwise;
  const BottleneckKernels* bottleneck;
  const PositionsKernels* positions;
  const ResampleKernels* resample;
  const ScatterKernels* scatter;
};

}  // namespace stator
