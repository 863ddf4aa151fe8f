// The operations that a GPU computes: one row each (operations.def). Programs and reports refer to them by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gputopo {

// The classes in which reports group operations.
enum class OperationClass : std::uint8_t {
  kArithmetic,
  kComparison,
  kLogic,
  kConversion,
  kSpecialFunction,
  kDivision,  // operations that are a sequence of instructions on every GPU, such as division
  kWarp,      // between the lanes of a warp
  kMatrix,    // by all lanes of a warp together
  kControl,   // barriers, fences, branches
  kClock,
  kSeveralSms,  // barriers of more than one block; not in the instruction table
};
inline constexpr OperationClass kAllOperationClasses[] = {
    OperationClass::kArithmetic,      OperationClass::kComparison, OperationClass::kLogic, OperationClass::kConversion,
    OperationClass::kSpecialFunction, OperationClass::kDivision,   OperationClass::kWarp,  OperationClass::kMatrix,
    OperationClass::kControl,         OperationClass::kClock};
// "arithmetic", "special_function".
[[nodiscard]] std::string_view to_string(OperationClass of);

// The operands. Matrix types name the factors; a result takes several registers per lane.
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
  kMatrixF16,        // f16x2; results: 4 of 32 bits
  kMatrixF16ToF16,   // f16x2; results: 2 of 32 bits
  kMatrixBf16,       // bf16x2; results: 4 of 32 bits
  kMatrixF32,        // f32, of which the unit uses a part; results: 4 of 32 bits
  kMatrixBits,       // narrower integers; results: 4 of 32 bits
  kMatrixF64,        // f64; results: 2 of 64 bits
  kMatrixF64Large,   // f64; results: 4 of 64 bits
  kMatrixF16Four,    // f16x2, four small matrices; results: 8 of 32 bits
  kMatrixBitsToTwo,  // as kMatrixBits; results: 2 of 32 bits
  // Numbers of 4 to 8 bits that many GPUs have no unit for: the compiler emits a sequence of other instructions.
  kMatrixFewBits,       // results: 4 of 32 bits
  kMatrixFewBitsToF16,  // results: 2 of 32 bits
  // AMD: factors of 64 bits per lane; results: 4 of 32 bits.
  kMatrixF16Wide,
  kMatrixBf16Wide,
  kMatrixBitsWide,
  // By four warps together, with factors in shared memory. The results are the next accumulators.
  kWarpgroupSmall,   // results: 4 of 32 bits
  kWarpgroupPacked,  // results: 64 of 32 bits, two f16 each
  kWarpgroup,        // results: 128 of 32 bits
  // The same with accumulators in tensor memory, started by one thread of the four warps. Results are in no register.
  kTensorMemory,
};
// "f16x2".
[[nodiscard]] std::string_view to_string(OperandType type);
// Bits of a register that holds one operand: 16, 32 or 64.
[[nodiscard]] std::uint32_t bits_of(OperandType type);
// Bits of one result register; they differ from bits_of() only if factors are wider.
[[nodiscard]] std::uint32_t result_bits_of(OperandType type);
// Result registers of one lane.
[[nodiscard]] std::uint32_t registers_of(OperandType type);
// Warps that do one operation together: 4 for a warpgroup (it does one at a time, in order), otherwise 1.
[[nodiscard]] std::uint32_t warps_per_operation(OperandType type);
// Whether it is a matrix multiply-add so large that a round of a kernel has fewer of them than of other operations.
[[nodiscard]] bool is_large_matrix(OperandType type);
// Whether it is a matrix multiply-add that is one instruction on some GPUs and a long sequence on others.
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
  std::uint32_t arithmetic;  // arithmetic operations per lane: 2 for a fused multiply-add
  int first_sm;              // NVIDIA: 10 * major + minor of the first compute capability that has it
  std::string_view ptx;      // see operations.def; "": none
  std::string_view cdna;     // "": none
};

// All operations, in the order of reports.
[[nodiscard]] std::span<const OperationInfo> operation_catalogue();
[[nodiscard]] const OperationInfo& info_of(OperationId id);
[[nodiscard]] std::string_view to_string(OperationId id);
// The instruction table: all operations but kSeveralSms, which come last in the catalogue.
[[nodiscard]] std::span<const OperationInfo> instruction_catalogue();
// The operations whose latency every run measures: those that programs use most, as many as the time of a run allows.
[[nodiscard]] std::span<const OperationId> common_operations();
// Null for a name that is not in the catalogue.
[[nodiscard]] const OperationInfo* find_operation(std::string_view name);

}  // namespace gputopo
