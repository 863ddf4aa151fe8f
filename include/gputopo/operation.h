// The operations that a GPU computes with: one row each (operations.def). Programs and reports call them by their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gputopo {

// What kind of an operation it is, as reports group them.
enum class OperationClass : std::uint8_t {
  kArithmetic,
  kComparison,
  kLogic,
  kConversion,
  kSpecialFunction,
  kDivision,  // and what else is a sequence of instructions on every GPU
  kWarp,      // among the lanes of a warp
  kMatrix,    // of all lanes of a warp together
  kControl,   // barriers, fences, branches
  kClock,
  kSeveralSms,  // barriers of more than a block: not of the instruction table
};
inline constexpr OperationClass kAllOperationClasses[] = {
    OperationClass::kArithmetic,      OperationClass::kComparison, OperationClass::kLogic, OperationClass::kConversion,
    OperationClass::kSpecialFunction, OperationClass::kDivision,   OperationClass::kWarp,  OperationClass::kMatrix,
    OperationClass::kControl,         OperationClass::kClock};
// "arithmetic", "special_function".
[[nodiscard]] std::string_view to_string(OperationClass of);

// Of the operands. Those of matrices are of the factors; results are several registers of a lane.
enum class OperandType : std::uint8_t {
  kF16,
  kF16x2,
  kBf16x2,
  kF32,
  kF32x2,
  kF64,
  kS32,
  kU32,
  kS64,
  kU64,
  kMatrixF16,        // f16x2; the results are 4 of 32 bits
  kMatrixF16ToF16,   // f16x2; 2 of 32 bits
  kMatrixBf16,       // bf16x2; 4 of 32 bits
  kMatrixF32,        // f32, of which the unit uses a part; 4 of 32 bits
  kMatrixBits,       // whole numbers of fewer bits; 4 of 32 bits
  kMatrixF64,        // f64; 2 of 64 bits
  kMatrixF64Large,   // f64; 4 of 64 bits
  kMatrixF16Four,    // f16x2, of four small matrices; 8 of 32 bits
  kMatrixBitsToTwo,  // as kMatrixBits; 2 of 32 bits
  // Numbers of 4 to 8 bits that many GPUs have no unit for: the compiler makes a sequence of others.
  kMatrixFewBits,       // 4 of 32 bits
  kMatrixFewBitsToF16,  // 2 of 32 bits
  // Of AMD: factors of 64 bits in a lane, and 4 of 32 bits.
  kMatrixF16Wide,
  kMatrixBf16Wide,
  kMatrixBitsWide,
  // Of four warps together, with factors in shared memory, for results that are their own accumulators.
  kWarpgroupSmall,   // 4 of 32 bits
  kWarpgroupPacked,  // 64 of 32 bits, of two f16 each
  kWarpgroup,        // 128 of 32 bits
  // The same with accumulators in tensor memory, begun by one thread of the four warps. No register has a result.
  kTensorMemory,
};
// "f16x2".
[[nodiscard]] std::string_view to_string(OperandType type);
// 16, 32 or 64: of a register that holds one.
[[nodiscard]] std::uint32_t bits_of(OperandType type);
// Of one of the registers of a result; the same but for factors that are wider.
[[nodiscard]] std::uint32_t result_bits_of(OperandType type);
// Of a result of one lane.
[[nodiscard]] std::uint32_t registers_of(OperandType type);
// Warps that do one operation together: 4 of a warpgroup's, else 1. Those of a warpgroup do one at a time, each in
// order.
[[nodiscard]] std::uint32_t warps_together(OperandType type);
// Whether it is a matrix multiply-add so large that a round of a kernel has fewer of them than of others.
[[nodiscard]] bool is_large_matrix(OperandType type);
// Whether it is a matrix multiply-add that is one instruction on some GPUs and on others a long sequence.
[[nodiscard]] bool is_matrix_of_few_bits(OperandType type);

enum class OperationId : std::uint8_t {
#define GPUTOPO_OPERATION(id, ...) id,
#include "gputopo/operations.def"
};

struct OperationInfo {
  OperationId id;
  std::string_view name;   // "fma.f32": in reports, programs and on the command line
  std::string_view title;  // "Fused multiply-add"
  OperationClass of;
  OperandType type;
  std::uint32_t arithmetic;  // operations of arithmetic that one lane does by it: 2 of a fused multiply-add
  int first_sm;              // NVIDIA: 10 * major + minor of the first compute capability that has it
  std::string_view ptx;      // see operations.def; "": none
  std::string_view cdna;     // "": none
};

// All of them, in the order that reports show them.
[[nodiscard]] std::span<const OperationInfo> operation_catalogue();
[[nodiscard]] const OperationInfo& info_of(OperationId id);
[[nodiscard]] std::string_view to_string(OperationId id);
// Those of the instruction table: all but kSeveralSms, which stand at the end of the catalogue.
[[nodiscard]] std::span<const OperationInfo> instruction_catalogue();
// Of which every run tells the latency: those that programs are made of, as much as what a run may take allows.
[[nodiscard]] std::span<const OperationId> common_operations();
// Nothing for a name that is not in the catalogue.
[[nodiscard]] const OperationInfo* find_operation(std::string_view name);

}  // namespace gputopo
