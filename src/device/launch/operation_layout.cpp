#include "device/launch/operation_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gputopo/error.h"
#include "gputopo/program/operation_duration.h"
#include "model/round_up.h"

namespace gputopo::launch {
namespace {

// Never more than the timed rounds: otherwise blocks of a barrier of all could wait for some that cannot start.
constexpr std::uint32_t kWarmRounds = 1;

// Values that stay normal in any chain of operations: a growing f16 stops where its spacing reaches the addend.
constexpr double kChain[] = {1.5, 1.25, 1.75, 1.125};
constexpr double kFixed[] = {1.0, 0.25, 0.5, 1.0, 0.75};

// Large values that no operation soon turns into 0, nor their halves.
constexpr std::uint64_t kChainBits[] = {0x123456789abcdef1, 0x23456789abcdef17, 0x3456789abcdef123, 0x456789abcdef1237};
constexpr std::uint64_t kFixedBits[] = {0x7ffffff37ffffff3, 0x2468ace013579bdf, 0x0000000000000005, 0x5a5a5a5a5a5a5a5b,
                                        0x13579bdf2468ace1};

// Only for numbers with few fraction bits.
std::uint64_t f16_bits(double number) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  const std::uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
  return exponent << 10 | (bits >> 13 & 0x3ff);
}

std::uint64_t twice(std::uint64_t bits) { return bits << 16 | bits; }

std::uint64_t bits_of_number(OperandType type, double number, std::uint64_t whole) {
  const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  switch (type) {
    case OperandType::kF16:
      return f16_bits(number);
    case OperandType::kF16x2:
    case OperandType::kMatrixF16:
    case OperandType::kMatrixF16ToF16:
    case OperandType::kMatrixF16Four:
    case OperandType::kWarpgroupSmall:
    case OperandType::kWarpgroupPacked:
    case OperandType::kWarpgroup:
    case OperandType::kTensorMemory:
      return twice(f16_bits(number));
    case OperandType::kMatrixF16Wide:
      return twice(f16_bits(number)) << 32 | twice(f16_bits(number));
    case OperandType::kBf16x2:
    case OperandType::kMatrixBf16:
      return twice(f32 >> 16);
    case OperandType::kMatrixBf16Wide:
      return twice(f32 >> 16) << 32 | twice(f32 >> 16);
    case OperandType::kF32:
    case OperandType::kMatrixF32:
      return f32;
    case OperandType::kF32x2:
      return std::uint64_t{f32} << 32 | f32;
    case OperandType::kF64:
    case OperandType::kMatrixF64:
    case OperandType::kMatrixF64Large:
      return std::bit_cast<std::uint64_t>(number);
    case OperandType::kS32:
    case OperandType::kU32:
    case OperandType::kMatrixBits:
    case OperandType::kMatrixBitsToTwo:
    case OperandType::kMatrixFewBits:
    case OperandType::kMatrixFewBitsToF16:
      return whole & UINT32_MAX;
    case OperandType::kS64:
    case OperandType::kU64:
    case OperandType::kMatrixBitsWide:
      break;
  }
  return whole;
}

OperationOperands operands_of(OperandType type) {
  OperationOperands operands{.one = 1};
  static_assert(std::size(kChain) == std::size(operands.chain) && std::size(kFixed) == std::size(operands.fixed));
  for (std::size_t i = 0; i < std::size(kChain); ++i) {
    operands.chain[i] = bits_of_number(type, kChain[i], kChainBits[i]);
  }
  for (std::size_t i = 0; i < std::size(kFixed); ++i) {
    operands.fixed[i] = bits_of_number(type, kFixed[i], kFixedBits[i]);
  }
  return operands;
}

}  // namespace

void check_duration(const OperationProgram& program) {
  const double cycles = most_cycles(program);
  if (cycles <= kMaxOperationCycles) return;
  throw UsageError(fmt::format(
      "program: its operations could take {:.0e} cycles, but a launch is limited to {:.0e}; use fewer rounds or warps",
      cycles, kMaxOperationCycles));
}

OperationLayout lay_out(const OperationProgram& program, std::uint32_t blocks) {
  OperationLayout layout{.blocks = blocks, .warps = std::uint64_t{blocks} * program.warps};
  layout.records = round_up(2 * sizeof(OperationOperands), 256);
  layout.warp_records = layout.records + blocks * sizeof(BlockRecord);
  layout.arrived = layout.warp_records + layout.warps * sizeof(WarpRecord);
  layout.claims = layout.arrived + sizeof(std::uint64_t);
  layout.bytes = layout.claims + kClaimsBytes;
  return layout;
}

std::array<OperationOperands, 2> operands_of(const OperationProgram& program) {
  return {operands_of(info_of(program.operation).type),
          operands_of(info_of(program.beside.value_or(program.operation)).type)};
}

OperationParameters encode(const OperationProgram& program, const OperationLayout& layout, Address base, bool claims) {
  return {.operands = base,
          .records = base + layout.records,
          .warp_records = base + layout.warp_records,
          .arrived = base + layout.arrived,
          .claims = claims ? base + layout.claims : 0,
          .warm_rounds = kWarmRounds,
          .rounds = program.rounds,
          .never = kNever,
          .longest_wait_cycles = static_cast<std::uint32_t>(kMaxLaunchCycles)};
}

}  // namespace gputopo::launch
