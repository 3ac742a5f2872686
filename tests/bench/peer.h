// What the benchmark times: one way to run one model. A process holds one.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <vector>

namespace stator::bench {

using Inputs = std::vector<c10::IValue>;

struct PeerSettings {
  std::string stem;  // build/bench/models/NAME: the file's suffix is the peer's to know
  int threads = 1;
};

class Peer {
 public:
  virtual ~Peer() = default;

  // What a caller does once for many runs: binding, where the interface knows that.
  virtual void set_inputs(const Inputs& inputs) = 0;
  // The results of a run are released by the next, or by the run itself where the interface wants it so.
  virtual void run(int times) = 0;
  // Those of the last run, copied.
  virtual std::vector<at::Tensor> outputs() = 0;
  // Whether a model of this peer runs on inputs of other shapes than those it was made with.
  virtual bool takes_other_shapes() const = 0;
};

struct PeerKind {
  std::string name;
  std::unique_ptr<Peer> (*make)(const PeerSettings& settings);
  // What a process does once for any model, so that it counts neither as load time nor as the model's memory; may be null.
  void (*prepare)();
};

// Static objects of these make the table of peers: a program has those that are linked into it.
struct PeerRegistration {
  explicit PeerRegistration(PeerKind kind);
};
const std::vector<PeerKind>& peer_kinds();

// The tensors in a result, depth first.
std::vector<at::Tensor> tensors_of(const c10::IValue& result);

}  // namespace stator::bench
