// Says on stderr what takes long: after one second, if it is a terminal. Gone without a trace when the work ends.
#pragma once

#include <string>
#include <thread>

namespace cli {

class Progress {
 public:
  explicit Progress(std::string what);

 private:
  std::jthread thread_;  // absent if stderr is no terminal
};

}  // namespace cli
