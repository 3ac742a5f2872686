#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <iostream>
#include <optional>
#include <thread>

#include "commands.h"
#include "print.h"
#include "progress.h"

namespace cli {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

double since(Clock::time_point start) { return Nanoseconds(Clock::now() - start).count(); }

double clock_cost() {
  constexpr int kCalls = 100000;
  const Clock::time_point start = Clock::now();
  Clock::time_point last = start;
  for (int i = 0; i < kCalls; ++i) last = Clock::now();
  return Nanoseconds(last - start).count() / kCalls;
}

// Runs per reading of the clock, so that reading it costs under 1 % of the time.
int64_t batch_for(double run_ns, double clock_ns) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(100 * clock_ns / run_ns)));
}

// One of the concurrent callers: its own runtime, arena and copy of the inputs, as a service's thread has them.
class Caller {
 public:
  Caller(stator_module* module, const stator_method* method, const Arguments& arguments, const stator_options* options)
      : method_(method),
        runtime_(make<Runtime>(stator_runtime_create, module, options)),
        arena_(make<Arena>(stator_arena_create, module, nullptr)) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i]) bind(static_cast<int32_t>(i), arguments[i].get());
    }
  }

  void run(int64_t times) {
    for (int64_t i = 0; i < times; ++i) {
      if (stator_status* status = stator_runtime_run(runtime_.get(), method_, arena_.get())) check(status);
    }
  }

  // Runs for about `ns` and gives the time of one run.
  double warm_up(double ns) {
    const Clock::time_point start = Clock::now();
    double best = INFINITY;
    for (int64_t times = 1;; times *= 2) {
      const Clock::time_point batch = Clock::now();
      run(times);
      best = std::min(best, since(batch) / static_cast<double>(times));
      const double spent = since(start);
      if (2 * spent > ns) return best;  // the next round would take longer than all before it
    }
  }

  void measure(int64_t batch, Clock::time_point end) {
    Clock::time_point last = Clock::now();
    begin_ = last;
    do {
      run(batch);
      const Clock::time_point now = Clock::now();
      samples_.push_back(Nanoseconds(now - last).count() / static_cast<double>(batch));
      last = now;
    } while (last < end);
    end_ = last;
  }

  void reserve(size_t samples) { samples_.reserve(samples); }
  const std::vector<double>& samples() const { return samples_; }  // nanoseconds per run, one for each batch
  Clock::time_point begin() const { return begin_; }
  Clock::time_point end() const { return end_; }
  int64_t workspace_bytes() const { return stator_runtime_workspace_bytes(runtime_.get()); }
  int64_t output_bytes() const { return stator_arena_bytes(arena_.get()); }

 private:
  void bind(int32_t index, const stator_value* value) {
    if (stator_value_kind(value) != STATOR_KIND_TENSOR)
      return check(stator_runtime_bind_value(runtime_.get(), method_, index, value));
    struct {
      const void* data;
      int32_t dtype, device, ndim;
      const int64_t *shape, *strides;
    } t{};
    check(stator_value_as_tensor(value, &t.data, &t.dtype, &t.device, &t.ndim, &t.shape, &t.strides));
    inputs_.push_back(
        make<ValuePtr>(stator_value_create_tensor, t.data, t.dtype, t.device, t.ndim, t.shape, t.strides));
    check(stator_value_as_tensor(inputs_.back().get(), &t.data, &t.dtype, &t.device, &t.ndim, &t.shape, &t.strides));
    // Our own copy, so the method may write it if it does so.
    check(stator_runtime_bind(runtime_.get(), method_, index, const_cast<void*>(t.data), t.dtype, t.device, t.ndim,
                              t.shape, t.strides));
  }

  const stator_method* method_;
  std::vector<ValuePtr> inputs_;  // outlive the runtime, which borrows their memory
  Runtime runtime_;
  Arena arena_;
  std::vector<double> samples_;
  Clock::time_point begin_{};
  Clock::time_point end_{};
};

// Warms all callers up at once, then measures them at once. Returns the size of a batch.
int64_t measure_together(std::vector<std::unique_ptr<Caller>>& callers, double seconds) {
  const double clock_ns = clock_cost();
  std::vector<double> run_ns(callers.size(), INFINITY);
  std::vector<std::exception_ptr> errors(callers.size());
  int64_t batch = 1;
  Clock::time_point end;
  std::barrier start(std::ssize(callers), [&]() noexcept {
    const double fastest = *std::min_element(run_ns.begin(), run_ns.end());
    batch = batch_for(fastest, clock_ns);
    end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  });
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < callers.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          run_ns[i] = callers[i]->warm_up(1e8 * seconds);
          callers[i]->reserve(static_cast<size_t>(
              std::min(1.2e9 * seconds / run_ns[i] / static_cast<double>(batch_for(run_ns[i], clock_ns)) + 16, 1e8)));
        } catch (...) {
          errors[i] = std::current_exception();
        }
        start.arrive_and_wait();
        if (errors[i]) return;
        try {
          callers[i]->measure(batch, end);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return batch;
}

double percentile(const std::vector<double>& sorted, double fraction) {
  const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

Json summarize(const std::vector<std::unique_ptr<Caller>>& callers, int64_t batch) {
  std::vector<double> samples;
  Clock::time_point begin = Clock::time_point::max();
  Clock::time_point end = Clock::time_point::min();
  for (const auto& caller : callers) {
    samples.insert(samples.end(), caller->samples().begin(), caller->samples().end());
    begin = std::min(begin, caller->begin());
    end = std::max(end, caller->end());
  }
  double sum = 0;
  for (const double sample : samples) sum += sample;
  std::sort(samples.begin(), samples.end());
  const double runs = static_cast<double>(samples.size()) * static_cast<double>(batch);
  const double seconds = std::chrono::duration<double>(end - begin).count();
  return {{"p50_us", percentile(samples, 0.5) / 1e3},
          {"p99_us", percentile(samples, 0.99) / 1e3},
          {"mean_us", sum / static_cast<double>(samples.size()) / 1e3},
          {"min_us", samples.front() / 1e3},
          {"runs", static_cast<int64_t>(runs)},
          {"batch", batch},
          {"batches", samples.size()},
          {"seconds", seconds},
          {"runs_per_second", runs / seconds}};
}

}  // namespace

void bench(const Common& common, const BenchOptions& options) {
  load_torch(common.torch);
  const Options runtime_options =
      make<Options>(stator_options_create);  // LibTorch is loaded by now, so load_ms is the model's alone
  check(stator_options_set_int(runtime_options.get(), "intra_op_threads", options.threads));
  Clock::time_point start = Clock::now();
  const Module module = load_module(common);
  const double load_ms = since(start) / 1e6;
  const stator_method* method = find_method(module.get(), common);
  const Arguments arguments = read_arguments(inputs_of(module.get(), method), options.inputs);

  std::optional<Progress> progress("measuring " + common.method);
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < options.callers; ++i)
    callers.push_back(std::make_unique<Caller>(module.get(), method, arguments, runtime_options.get()));
  start = Clock::now();
  callers[0]->run(1);
  const double first_call_us = since(start) / 1e3;
  const int64_t batch = measure_together(callers, options.seconds);
  progress.reset();

  Json result = {{"model", common.model}, {"method", common.method}};
  result.update(summarize(callers, batch));
  result.update(Json{{"threads", options.threads},
                     {"callers", options.callers},
                     {"load_ms", load_ms},
                     {"first_call_us", first_call_us},
                     {"workspace_bytes", callers[0]->workspace_bytes()},
                     {"output_bytes", callers[0]->output_bytes()}});
  if (common.json) return print_json(result);

  const auto us = [&](const char* key) { return format_number(result[key].get<double>()) + " us"; };
  std::cout << common.model << ", " << common.method << ": " << plural(options.callers, "caller") << ", "
            << plural(options.threads, "thread") << " inside a run\n";
  Table table({"p50", "p99", "mean", "min", "runs", "runs/s", "batch"});
  table.add({us("p50_us"), us("p99_us"), us("mean_us"), us("min_us"), result["runs"].dump(),
             format_number(result["runs_per_second"]), result["batch"].dump()});
  std::cout << table.str("  ") << "  first call " << us("first_call_us") << ", load " << format_number(load_ms)
            << " ms, workspace " << format_bytes(result["workspace_bytes"]) << ", outputs "
            << format_bytes(result["output_bytes"]) << std::endl;
}

}  // namespace cli
