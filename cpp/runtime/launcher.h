// Launcher: who runs what may run beside a caller: the process's own threads, or the caller's by way of a callback.
#pragma once

#include <functional>

namespace stator {

struct Launcher {
  // Must see to it that `run(task)` is called once, on any thread and at any time. Called with no lock held; may not throw.
  using Callback = void (*)(void* context, void (*run)(void* task), void* task);

  Callback callback = nullptr;  // NULL: the process's threads
  void* context = nullptr;      // passed to the callback; lives as long as whatever holds the launcher

  explicit operator bool() const { return callback != nullptr; }
  // False if there is no thread for it; then `work` will not run. What `work` throws ends the process: it must not.
  bool launch(std::function<void()> work) const;
};

}  // namespace stator
