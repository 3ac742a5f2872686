// Tile programs: pointwise operators over elements that broadcast, a whole chain of them in one pass over memory.
//
// The elements of an iteration space are walked in tiles that stay in the first-level cache. A *register* holds one tile; an operator reads
// up to three registers and writes one. Registers are of three types, whatever the memory holds: float (also for bfloat16, half and bool,
// which is 0 or 1), double, and int64 (also for narrower integers).
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

constexpr int kTileElements = 512;  // at most
// The first ones have room for a tile of their own; the others stand for memory that is read or written in place.
constexpr int kTilesOfOwn = 16;
constexpr int kMostTileRegisters = 64;
constexpr int kMostTileDims = 6;

enum class TileType : uint8_t { kFloat, kDouble, kInt };
// Of elements in memory.
enum class TileDtype : uint8_t { kFloat, kDouble, kBFloat16, kHalf, kBool, kInt64, kInt32, kInt16, kInt8, kUint8 };

enum class TileOpcode : uint8_t {
  // One input. Float and double; those marked * int as well.
  kCopy,  // *
  kNeg,   // *
  kAbs,   // *
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kTanh,
  kSigmoid,
  kRelu,  // *
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kFrac,
  kSign,    // *
  kSquare,  // *
  kErf,
  kErfc,
  kLgamma,
  kSilu,
  kGelu,
  kGeluTanh,
  kHardswish,
  kHardsigmoid,
  kMish,
  kRoundToBFloat16,  // float: as if stored as bfloat16 and loaded again
  kRoundToHalf,
  kBitNot,    // int
  kWrapTo32,  // int: as if stored as int32 and loaded again
  kWrapTo16,
  kWrapTo8,
  kWrapToUnsigned8,
  // One input to a register of another type.
  kToFloat,
  kToDouble,
  kToInt,   // towards zero
  kToBool,  // to a float register: whether it is not 0
  // Two inputs.
  kAdd,  // *
  kSub,  // *
  kMul,  // *
  kDiv,  // * integers towards zero, and not by 0: that is so of all that divides them
  kMax,  // * NaN wins
  kMin,  // * NaN wins
  // * x, and a number that it may not be below or above: an x that is equal to it, as -0 is to 0, stays. So does NaN.
  kClampMin,
  kClampMax,
  kPow,
  kAtan2,
  kHypot,
  kCopysign,
  kDivFloor,   // *
  kFmod,       // * with the sign of the first
  kRemainder,  // * with the sign of the second
  // int
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,   // by as many bits as there are or more, or less than 0: 0
  kShiftRight,  // the same: by all but the sign
  // Two inputs of one type, the result a bool.
  kEqual,         // *
  kNotEqual,      // *
  kLess,          // *
  kLessEqual,     // *
  kGreater,       // *
  kGreaterEqual,  // *
  // Of bools.
  kAnd,
  kOr,
  kXor,
  kNot,
  // Three inputs.
  kMulAdd,  // * c + a * b
  kClamp,   // * (x, least, most), numbers
  // Two operators in one, each rounded: the second one's other input is c.
  kAddAdd,
  kAddMul,
  kSubMul,
  kMulMul,
  kWhere,      // * a (a bool) ? b : c
  kLeakyRelu,  // (x, slope)
  kElu,        // (x, alpha): x > 0 ? x : alpha * (exp(x) - 1)
  kSoftplus,   // (x, beta, threshold)
  kCount
};

struct TileOp {
  TileOpcode code;
  TileType type;  // of the inputs
  uint8_t out;    // registers
  uint8_t inputs[3];
};

// How the elements of a tensor lie over the iteration space: bytes from one to the next, by dimension, innermost last.
struct TileWalk {
  TileDtype dtype;
  uint8_t reg;
  // Loads: one element for all. What is not read in place is copied into a tile by the operators' own needs.
  bool scalar;
  bool in_place;  // the register stands for the memory itself: a step of one element, no conversion
  bool
      repeats;  // loads: every tile holds the same elements, as of a row that all rows are added to, and is filled once
  int64_t strides[kMostTileDims];
};

// A number known when the plan is made.
struct TileConstant {
  uint8_t reg;
  bool scalar;  // else as a whole tile, because an operator that reads it takes no scalar
  TileType type;
  union {
    float as_float;
    double as_double;
    int64_t as_int;
  };
};

struct TileProgram {
  int32_t dims;  // at least 1
  int64_t sizes[kMostTileDims];
  bool by_rows;           // tiles do not cross the innermost dimension, so that inputs are read in place
  int32_t tile_elements;  // kTileElements, or so few less that a tile has whole periods of what repeats
  // The last operator, of floats, writes them where the last store is to go, run by run of the innermost dimension, and not into a tile.
  bool last_in_place;
  int32_t load_count, store_count, constant_count, op_count;
  const TileWalk* loads;
  const TileWalk* stores;
  const TileConstant* constants;
  const TileOp* ops;
  uint64_t scalars;  // bit r: register r is one element for all, and no tile
  int64_t parts = 1;
};

struct TileKernels {
  BoundKernel run;  // of a TileProgram; addresses: of the loads, then of the stores
};

// Which operators take scalars as they are: the first two inputs of those with two, any of a clamp.
constexpr bool takes_scalars(TileOpcode code, TileType type) {
  return type == TileType::kFloat &&
         ((code >= TileOpcode::kAdd && code <= TileOpcode::kClampMax) ||
          (code >= TileOpcode::kEqual && code <= TileOpcode::kGreaterEqual) || code == TileOpcode::kClamp);
}

}  // namespace stator
