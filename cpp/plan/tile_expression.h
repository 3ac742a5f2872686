// TileExpression: pointwise work while a plan is being made, and how it becomes a tile program.
//
// A list of loads, numbers and operators in the order of their making, over one iteration space, and what is stored where. Two of them can
// be joined; what one stores and the other loads is then handed on in a register.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/tile.h"
#include "plan/tensor_view.h"

namespace stator {

// The type of the registers that hold elements of this dtype; nullopt: none does.
std::optional<TileType> tile_type(at::ScalarType dtype);

// A tile program with all that it points to.
struct TileSpecification {
  TileProgram program{};
  std::vector<TileWalk> loads, stores;
  std::vector<TileConstant> constants;
  std::vector<TileOp> ops;
  std::vector<TensorView> read, written;  // parallel to loads and stores
};

class TileExpression {
 public:
  using Node = int32_t;

  explicit TileExpression(at::IntArrayRef sizes);

  const at::DimVector& sizes() const { return sizes_; }
  int64_t numel() const { return c10::multiply_integers(sizes_); }

  // The tensor is broadcast to the iteration space.
  Node load(const TensorView& view);
  Node number(double value, TileType type);
  Node number(int64_t value, TileType type);
  Node op(TileOpcode code, Node a) { return op(code, a, a, a); }
  Node op(TileOpcode code, Node a, Node b) { return op(code, a, b, a); }
  Node op(TileOpcode code, Node a, Node b, Node c);
  // The value of a node that holds elements of `from` as elements of `to`.
  Node cast(Node node, at::ScalarType from, at::ScalarType to);
  // After an operator on registers: as if its result had been stored as `dtype`.
  Node rounded(Node node, at::ScalarType dtype);
  // `to` has the sizes of the iteration space and elements that do not overlap.
  void store(Node node, const TensorView& to);

  std::vector<TensorView> reads() const;
  std::vector<TensorView> writes() const;

  // Appends another one over the same iteration space. What it loads from where this one stores is taken from there. False, and nothing has
  // changed, if it reads such memory in another order.
  bool join(const TileExpression& other);
  // Stores for which keep(view) is false are dropped.
  template <class Keep>
  void keep_stores(const Keep& keep) {
    std::erase_if(stores_, [&](const Store& store) { return !keep(store.to); });
  }
  bool stores_nothing() const { return stores_.empty(); }

  // All that an expression does, if that is to hand elements on from one load to one store, unchanged, with another's of float32 added or within
  // bounds.
  struct Transfer {
    TensorView from, to;  // over the iteration space
    std::optional<TensorView> addend{};
    float least = -INFINITY, most = INFINITY;  // what is below or above is made these

    bool clamps() const { return least != -INFINITY || most != INFINITY; }
    bool changes() const { return addend || clamps(); }
  };
  std::optional<Transfer> as_transfer() const;
  // Whether it does nothing but make elements 0.
  bool stores_zeros() const;
  // Whether all loads from the buffer of `view`, which is over an iteration space, are just that.
  bool loads_only(const TensorView& view) const;
  // Loads of `from` become loads of `to`, which is over the same iteration space; the store to a buffer goes to `place`.
  void load_elsewhere(const TensorView& from, const TensorView& to);
  void store_elsewhere(BufferId buffer, const TensorView& place);

  // The same over `count` neighbouring rows, of which there are `outer` times `inner` in the first dimensions: over [1, count, what is left], where
  // strides of the first two dimensions lead to the same place for the next outer one and the next row. nullopt: they do not lie so.
  std::optional<TileExpression> some_rows(int64_t outer, int64_t inner, int64_t count) const;

  // For runs with so many threads. NULL if it needs more registers or dimensions than there are.
  std::shared_ptr<const TileSpecification> compile(int threads = 1) const;

 private:
  friend class TileCompiler;
  struct NodeData {
    enum class Kind : uint8_t { kLoad, kNumber, kOp } kind;
    TileType type;      // of the register that holds it
    TensorView view{};  // kLoad; as wide as the iteration space
    double real = 0;    // kNumber, by type one of these
    int64_t integer = 0;
    TileOpcode code = TileOpcode::kCopy;  // kOp
    Node inputs[3] = {-1, -1, -1};
  };
  struct Store {
    Node node;
    TensorView to;
  };

  Node as_converted_to_32(Node node);
  const NodeData* clamped_by(const NodeData& op, Transfer& transfer) const;
  const NodeData* added_by(const NodeData& op, Transfer& transfer) const;
  // The load reads just what the store writes, element by element.
  bool hands_on(const Store& store, const TensorView& load) const;

  at::DimVector sizes_;
  std::vector<NodeData> nodes_;
  std::vector<Store> stores_;
};

}  // namespace stator
