// Large tensors between two convolutions, made a few channels at a time: the number of kernels that run, the memory, and results beside the
// dynamic plan's.
#include <gtest/gtest.h>

#include "both_plans.h"
#include "kernels/dispatch.h"
#include "kernels/slices.h"

namespace stator {
namespace {

using test::Both;
using test::Side;

// Small whole numbers: sums are exact in any order.
at::Tensor channel_numbers(at::IntArrayRef sizes) { return at::randint(-3, 4, sizes, at::kFloat); }

struct Block {
  int64_t in = 4, between = 40, side = 96, images = 1;
  int64_t window = 3, stride = 1;
  bool pads_apart = false, biased = true;
  bool returns_both = false;
  int64_t first_window = 1, first_stride = 1;  // with zeros around it

  int64_t between_side() const { return (side - 1) / first_stride + 1; }
};

// A convolution, its ReLU6, and a convolution of each channel alone.
std::string graph_of(const Block& block) {
  const auto n = [](int64_t number) { return std::to_string(number); };
  const std::string half = n(block.window / 2), first_half = n(block.first_window / 2);
  const std::string pair = R"(
  %y : Tensor = aten::constant_pad_nd(%c, %zeros, %zero)
  %r : Tensor = aten::conv2d(%y, %v, %d, %strides, %none, %ones, %groups))";
  const std::string one = R"(
  %r : Tensor = aten::conv2d(%c, %v, %d, %strides, %zeros_around, %ones, %groups))";
  return R"(graph(%x : Tensor):
  %w : Tensor = stator::LoadState[slot=0]()
  %v : Tensor = stator::LoadState[slot=1]()
)" +
         std::string(block.biased ? R"(  %b : Tensor = stator::LoadState[slot=2]()
  %d : Tensor = stator::LoadState[slot=3]()
)"
                                  : R"(  %b : NoneType = prim::Constant[value=None]()
  %d : NoneType = prim::Constant[value=None]()
)") + R"(
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %six : int = prim::Constant[value=6]()
  %groups : int = prim::Constant[value=)" +
         n(block.between) + R"(]()
  %strides : int[] = prim::Constant[value=[)" +
         n(block.stride) + ", " + n(block.stride) + R"(]]()
  %first_strides : int[] = prim::Constant[value=[)" +
         n(block.first_stride) + ", " + n(block.first_stride) + R"(]]()
  %first_around : int[] = prim::Constant[value=[)" +
         first_half + ", " + first_half + R"(]]()
  %none : int[] = prim::Constant[value=[0, 0]]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %zeros_around : int[] = prim::Constant[value=[)" +
         half + ", " + half + R"(]]()
  %zeros : int[] = prim::Constant[value=[)" +
         half + ", " + half + ", " + half + ", " + half + R"(]]()
  %a : Tensor = aten::conv2d(%x, %w, %b, %first_strides, %first_around, %ones, %one)
  %c : Tensor = aten::hardtanh(%a, %zero, %six))" +
         (block.pads_apart ? pair : one) +
         (block.returns_both ? "\n  %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%r, %c)\n  return (%t)"
                             : "\n  return (%r)");
}

std::vector<at::Tensor> weights_of(const Block& block) {
  std::vector<at::Tensor> weights{channel_numbers({block.between, block.in, block.first_window, block.first_window}),
                                  channel_numbers({block.between, 1, block.window, block.window})};
  if (block.biased) weights.insert(weights.end(), {channel_numbers({block.between}), channel_numbers({block.between})});
  return weights;
}

at::Tensor input_of(const Block& block) { return channel_numbers({block.images, block.in, block.side, block.side}); }

int64_t bytes_between(const Block& block) {
  return block.images * block.between * block.between_side() * block.between_side() * 4;
}

TEST(SliceChannels, a_kernel_reads_what_another_has_just_made) {
  for (int64_t window : {3, 5}) {
    for (int64_t stride : {1, 2}) {
      for (bool pads_apart : {false, true}) {
        for (bool biased : {false, true}) {
          const Block block{.window = window, .stride = stride, .pads_apart = pads_apart, .biased = biased};
          Both both(graph_of(block), weights_of(block));
          EXPECT_EQ(both.run_often({input_of(block)}), 1) << window << stride << pads_apart << biased;
          EXPECT_LT(both.plans().at(0)->workspace_bytes, bytes_between(block) / 4);
        }
      }
    }
  }
}

TEST(SliceChannels, of_images_that_fill_no_vectors) {
  for (int64_t side : {91, 125}) {
    const Block block{.side = side};
    Both both(graph_of(block), weights_of(block));
    EXPECT_EQ(both.run_often({input_of(block)}), 1) << side;
  }
}

TEST(SliceChannels, of_windows_whose_input_is_laid_out_first) {
  for (int64_t stride : {1, 2}) {
    for (bool biased : {false, true}) {
      const Block block{.in = 3, .side = 97 * stride, .biased = biased, .first_window = 3, .first_stride = stride};
      Both both(graph_of(block), weights_of(block));
      EXPECT_EQ(both.run_often({input_of(block)}), 1) << stride << biased;
      EXPECT_LT(both.plans().at(0)->workspace_bytes, bytes_between(block));
    }
  }
}

TEST(SliceChannels, not_where_it_does_not_pay_or_cannot_be) {
  for (const Block& block : {Block{.side = 60, .first_window = 3}, Block{.between = 44}, Block{.images = 2},
                             Block{.in = 40, .first_window = 3}, Block{.returns_both = true}}) {
    Both both(graph_of(block), weights_of(block));
    EXPECT_GE(both.run_often({input_of(block)}), 2)
        << block.side << block.between << block.images << block.returns_both;
  }
}

// Of the first step that takes both convolutions; 0 if there is none.
int64_t parts_of(const Side& side) {
  for (const auto& plan : side.method().signatures()->plans()) {
    for (const SignatureStep& step : plan->steps) {
      const void* specification = step.specification.get();
      if (step.kernel == run_slices) return static_cast<const SlicesSpec*>(specification)->parts;
      if (step.kernel && step.kernel == kernels().bottleneck->convolve)
        return static_cast<const BottleneckSpec*>(specification)->parts;
    }
  }
  return 0;
}

TEST(SliceChannels, are_shared_among_threads) {
  for (int64_t window : {1, 3}) {
    const Block block{.in = 8, .between = 96, .first_window = window};
    const std::vector<at::Tensor> weights{at::randn({96, 8, window, window}), at::randn({96, 1, 3, 3}), at::randn({96}),
                                          at::randn({96})};
    const at::Tensor x = at::randn({1, 8, 96, 96});
    std::vector<at::Tensor> results;
    for (int threads : {1, 2, 3}) {
      Side side(graph_of(block), true, weights, threads);
      for (int i = 0; i < 4; ++i) results.push_back(side.run({x}).toTensor().clone());
      EXPECT_EQ(parts_of(side), threads) << window;
      EXPECT_TRUE(at::equal(results.back(), results[3])) << threads << window;
    }
  }
}

// By one kernel for both, which lays channels side by side, whatever is between them. Without one for this CPU, or where it takes longer, by two.
TEST(SliceChannels, of_narrow_images_side_by_side) {
  const BottleneckKernels& kernel = *kernels().bottleneck;
  for (int64_t side : {5, 7, 14, 28}) {
    for (int64_t stride : {1, 2}) {
      for (bool pads_apart : {false, true}) {
        // Weights in blocks and, with long vectors, in panels.
        for (int64_t in : {16, 160}) {
          const Block block{
              .in = in, .between = 80, .side = side, .window = 5, .stride = stride, .pads_apart = pads_apart};
          const bool together = kernel.convolve && (kernel.lanes > 8 || in < 120);
          Both both(graph_of(block), weights_of(block));
          EXPECT_EQ(both.run_often({input_of(block)}), together ? 1 : 2) << side << stride << pads_apart << in;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stator
