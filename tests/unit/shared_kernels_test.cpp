// Bound kernels that share large work among threads: who really takes part, and that nothing else depends on it.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "kernels/parallel.h"
#include "ops/threads.h"
#include "runtime/runtime.h"
#include "test_module.h"

namespace stator {
namespace {

// ---- parts ----

struct Counted {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> calls;

  static void count(const void* whole, int64_t part) {
    auto& self = *const_cast<Counted*>(static_cast<const Counted*>(whole));
    std::lock_guard lock(self.mutex);
    self.threads.insert(std::this_thread::get_id());
    ++self.calls.at(part);
  }
};

Counted count_parts(int64_t parts) {
  Counted counted{.mutex = {}, .threads = {}, .calls = std::vector<int>(parts)};
  run_parts(parts, Counted::count, &counted);
  return Counted{.mutex = {}, .threads = counted.threads, .calls = counted.calls};
}

// By its own word: that ours cannot be set would be a failure.
bool have_threads() { return at::hasOpenMP(); }

TEST(PartsThreads, each_part_is_done_once_by_as_many_threads_as_a_run_may_use) {
  if (!have_threads()) GTEST_SKIP() << "this LibTorch has no OpenMP";
  for (int threads : {1, 2, 3}) {
    IntraOpThreads set(threads);
    for (int64_t parts : {1, 2, 3, 7}) {
      const Counted counted = count_parts(parts);
      EXPECT_EQ(counted.calls, std::vector<int>(parts, 1));
      EXPECT_LE(counted.threads.size(), static_cast<size_t>(std::min<int64_t>(parts, threads)));
      EXPECT_EQ(counted.threads.size() > 1, parts > 1 && threads > 1) << parts << " parts, " << threads << " threads";
    }
  }
}

// Sums of what all parts wrote before each of a hundred meetings.
struct Meetings {
  std::vector<int64_t> written, sums;
  Barrier barrier;
  std::mutex mutex;
  std::set<std::thread::id> threads;

  explicit Meetings(int64_t parts) : written(parts), sums(parts), barrier(parts) {}
  static void meet(const void* whole, int64_t first, int64_t end) {
    auto& self = *const_cast<Meetings*>(static_cast<const Meetings*>(whole));
    for (int64_t round = 1; round <= 100; ++round) {
      for (int64_t part = first; part < end; ++part) self.written[part] = round * (part + 1);
      self.barrier.wait(end - first);
      for (int64_t part = first; part < end; ++part)
        self.sums[part] += std::accumulate(self.written.begin(), self.written.end(), int64_t{0});
      self.barrier.wait(end - first);
    }
    std::lock_guard lock(self.mutex);
    self.threads.insert(std::this_thread::get_id());
  }
};

TEST(PartsThreads, parts_that_run_together_wait_for_one_another) {
  for (int threads : {1, 2, 3}) {
    IntraOpThreads set(threads);
    for (int64_t parts : {1, 2, 3, 7}) {
      Meetings meetings(parts);
      run_parts_together(parts, Meetings::meet, &meetings);
      EXPECT_EQ(meetings.sums, std::vector<int64_t>(parts, 5050 * parts * (parts + 1) / 2));
      EXPECT_EQ(meetings.threads.size() > 1, have_threads() && parts > 1 && threads > 1);
    }
  }
}

TEST(PartsThreads, within_parallel_work_parts_stay_where_they_are) {
  IntraOpThreads two(2);
  c10::ParallelGuard guard(true);
  const Counted counted = count_parts(4);
  EXPECT_EQ(counted.calls, std::vector<int>(4, 1));
  EXPECT_EQ(counted.threads, std::set{std::this_thread::get_id()});
}

TEST(PartsThreads, settings_of_threads_stay) {
  // In a thread that LibTorch has not seen yet, with a number of its own.
  std::thread([] {
    IntraOpThreads three(3);
    count_parts(2);
    EXPECT_EQ(at::get_num_threads(), 3);
  }).join();
  const int before = at::get_num_threads();
  {
    IntraOpThreads two(2);
    count_parts(2);
    EXPECT_EQ(at::get_num_threads(), 2);
  }
  EXPECT_EQ(at::get_num_threads(), before);
}

// ---- kernels ----

// Counts the threads that write into the whole pages of a tensor's memory: each page is read-only until somebody writes there.
class Writers {
 public:
  explicit Writers(const at::Tensor& tensor) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
    begin_ = (begin + page - 1) / page * page;
    end_ = std::max(begin_, (begin + tensor.nbytes()) / page * page);
    page_ = page;
    for (auto& thread : threads_) thread = 0;
    struct sigaction action{};
    action.sa_sigaction = on_write;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
    mprotect(reinterpret_cast<void*>(begin_), end_ - begin_, PROT_READ);
  }
  ~Writers() {
    mprotect(reinterpret_cast<void*>(begin_), end_ - begin_, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before_, nullptr);
  }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  int count() const {
    int count = 0;
    while (count < kMost && threads_[count] != 0) ++count;
    return count;
  }

 private:
  static void on_write(int signal, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    if (at < begin_ || at >= end_) {
      sigaction(signal, &before_, nullptr);  // not ours: again, and without us
      return;
    }
    note(gettid());
    mprotect(reinterpret_cast<void*>(at / page_ * page_), page_, PROT_READ | PROT_WRITE);
  }
  static void note(int thread) {
    for (auto& place : threads_) {
      int none = 0;
      if (place.compare_exchange_strong(none, thread) || none == thread) return;
    }
  }

  static constexpr int kMost = 16;
  static inline std::atomic<int> threads_[kMost];
  static inline uintptr_t begin_, end_, page_;
  static inline struct sigaction before_;
};

struct SharedCase {
  const char* name;
  const char* graph;
  std::vector<at::Tensor> small, large;
};

void PrintTo(const SharedCase& c, std::ostream* out) { *out << c.name; }

std::vector<SharedCase> cases() {
  const auto some = [](at::IntArrayRef sizes) { return at::randn(sizes); };
  return {
      {"pointwise",
       R"(graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul.Tensor(%x, %y)
  %b : Tensor = aten::sigmoid(%a)
  return (%b))",
       {some({50, 100}), some({100})},
       {some({700, 600}), some({600})}},
      {"matmul",
       R"(graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::matmul(%x, %y)
  return (%a))",
       {some({64, 32}), some({32, 64})},
       {some({1200, 120}), some({120, 96})}},
      {"attention",
       R"(graph(%x : Tensor, %y : Tensor):
  %none : NoneType = prim::Constant[value=None]()
  %zero : float = prim::Constant[value=0.]()
  %no : bool = prim::Constant[value=False]()
  %a : Tensor = aten::scaled_dot_product_attention(%x, %y, %y, %none, %zero, %no, %none, %no)
  return (%a))",
       {some({1, 4, 32, 32}), some({1, 4, 32, 32})},
       {some({2, 4, 64, 32}), some({2, 4, 64, 32})}},
      {"softmax",
       R"(graph(%x : Tensor, %y : Tensor):
  %none : NoneType = prim::Constant[value=None]()
  %last : int = prim::Constant[value=-1]()
  %a : Tensor = aten::softmax.int(%x, %last, %none)
  return (%a))",
       {some({50, 100}), some({1})},
       {some({700, 300}), some({1})}},
      {"layer_norm",
       R"(graph(%x : Tensor, %y : Tensor):
  %size : int[] = prim::Constant[value=[300]]()
  %eps : float = prim::Constant[value=1e-05]()
  %no : bool = prim::Constant[value=False]()
  %a : Tensor = aten::layer_norm(%x, %size, %y, %y, %eps, %no)
  return (%a))",
       {some({16, 300}), some({300})},
       {some({700, 300}), some({300})}},
      {"sum",
       R"(graph(%x : Tensor, %y : Tensor):
  %none : NoneType = prim::Constant[value=None]()
  %dims : int[] = prim::Constant[value=[0]]()
  %no : bool = prim::Constant[value=False]()
  %a : Tensor = aten::sum.dim_IntList(%x, %dims, %no, %none)
  return (%a))",
       {some({4, 4096}), some({1})},
       {some({40, 8192}), some({1})}},
      {"index_select",
       R"(graph(%x : Tensor, %y : Tensor):
  %zero : int = prim::Constant[value=0]()
  %a : Tensor = aten::index_select(%x, %zero, %y)
  return (%a))",
       {some({40, 128}), at::arange(39, -1, -1)},
       {some({2000, 128}), at::arange(1999, -1, -1)}},
  };
}

class SharedKernelsThreads : public testing::TestWithParam<SharedCase> {};

// The result of a runtime whose plan is made and used, and how many threads wrote it when it ran once more on what is bound.
at::Tensor run(const SharedCase& c, const std::vector<at::Tensor>& inputs, int threads, int& writers) {
  auto module = test::make_module(c.graph, {.signature_plans = true});
  const StaticMethod& method = *module->methods()[0];
  StaticRuntime runtime(module, {.intra_op_threads = threads});
  Arena arena(module);
  for (int i = 0; i < 2; ++i) runtime.bind(method, i, inputs[i]);
  for (int i = 0; i < 4; ++i) runtime.run(method, arena);
  EXPECT_TRUE(method.signatures()->plans().at(0)->only_kernels);
  {
    Writers counted(arena.outputs().at(0));
    runtime.run(method, arena);
    writers = counted.count();
  }
  return arena.outputs().at(0).clone();
}

TEST_P(SharedKernelsThreads, large_work_is_shared_and_small_is_not) {
  if (!have_threads()) GTEST_SKIP() << "this LibTorch has no OpenMP";
  const int before = at::get_num_threads();
  int writers = 0;
  const at::Tensor one = run(GetParam(), GetParam().large, 1, writers);
  EXPECT_EQ(writers, 1);
  const at::Tensor two = run(GetParam(), GetParam().large, 2, writers);
  EXPECT_EQ(writers, 2);
  EXPECT_TRUE(at::equal(one, two));
  run(GetParam(), GetParam().small, 2, writers);
  EXPECT_EQ(writers, 1);
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(SharedKernelsThreads, steps_of_recurrent_networks_are_shared_where_there_are_many_weights) {
  if (!have_threads()) GTEST_SKIP() << "this LibTorch has no OpenMP";
  for (const auto& [steps, hidden, shared] : {std::tuple(6, 256, true), {1, 256, false}, {6, 64, false}}) {
    auto module = test::make_module(
        R"(graph(%x : Tensor, %h : Tensor):
  %w : Tensor = stator::LoadState[slot=0]()
  %r : Tensor = stator::LoadState[slot=1]()
  %weights : Tensor[] = prim::ListConstruct(%w, %r)
  %states : Tensor[] = prim::ListConstruct(%h, %h)
  %no : bool = prim::Constant[value=False]()
  %one : int = prim::Constant[value=1]()
  %dropout : float = prim::Constant[value=0.]()
  %y : Tensor, %hidden : Tensor, %cell : Tensor = aten::lstm.input(%x, %states, %weights, %no, %one, %dropout, %no, %no, %no)
  return (%y))",
        {.signature_plans = true}, {at::randn({4 * hidden, 8}), at::randn({4 * hidden, hidden})});
    const StaticMethod& method = *module->methods()[0];
    StaticRuntime runtime(module, {.intra_op_threads = 2});
    Arena arena(module);
    runtime.bind(method, 0, at::randn({steps, 1, 8}));
    runtime.bind(method, 1, at::randn({1, 1, hidden}));
    for (int i = 0; i < 4; ++i) runtime.run(method, arena);
    const auto plan = method.signatures()->plans().at(0);
    EXPECT_TRUE(plan->only_kernels);
    EXPECT_EQ(plan->shares_work, shared) << steps << " steps of " << hidden;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SharedKernelsThreads, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stator
