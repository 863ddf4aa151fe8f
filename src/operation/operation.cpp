#include "gputopo/operation.h"

#include <algorithm>
#include <iterator>

namespace gputopo {
namespace {

constexpr OperationInfo kOperations[] = {
#define GPUTOPO_OPERATION(id, name, title, of, type, arithmetic, first_sm, ptx, cdna) \
  OperationInfo{OperationId::id, name, title, OperationClass::of, OperandType::type, arithmetic, first_sm, ptx, cdna},
#include "gputopo/operations.def"
};

}  // namespace

std::string_view to_string(OperationClass of) {
  constexpr std::string_view kNames[] = {"arithmetic",       "comparison", "logic",      "conversion",
                                         "special_function", "division",   "warp",       "matrix",
                                         "control",          "clock",      "several_sms"};
  return kNames[static_cast<std::size_t>(of)];
}

std::string_view to_string(OperandType type) {
  constexpr std::string_view kNames[] = {
      "f16",  "f16x2", "bf16x2", "f32", "f32x2", "f64",  "s32",  "u32", "s64",  "u64",  "f16", "f16", "bf16", "f32",
      "bits", "f64",   "f64",    "f16", "bits",  "bits", "bits", "f16", "bf16", "bits", "f32", "f16", "f32",  "f16"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(OperandType::kTensorMemory) + 1);
  return kNames[static_cast<std::size_t>(type)];
}

std::uint32_t bits_of(OperandType type) {
  switch (type) {
    case OperandType::kF16:
      return 16;
    case OperandType::kF32x2:
    case OperandType::kF64:
    case OperandType::kS64:
    case OperandType::kU64:
    case OperandType::kMatrixF64:
    case OperandType::kMatrixF64Large:
    case OperandType::kMatrixF16Wide:
    case OperandType::kMatrixBf16Wide:
    case OperandType::kMatrixBitsWide:
      return 64;
    default:
      return 32;
  }
}

std::uint32_t result_bits_of(OperandType type) {
  switch (type) {
    case OperandType::kMatrixF16Wide:
    case OperandType::kMatrixBf16Wide:
    case OperandType::kMatrixBitsWide:
      return 32;
    default:
      return bits_of(type);
  }
}

std::uint32_t registers_of(OperandType type) {
  switch (type) {
    case OperandType::kMatrixF16:
    case OperandType::kMatrixBf16:
    case OperandType::kMatrixF32:
    case OperandType::kMatrixBits:
    case OperandType::kMatrixFewBits:
    case OperandType::kMatrixF64Large:
    case OperandType::kMatrixF16Wide:
    case OperandType::kMatrixBf16Wide:
    case OperandType::kMatrixBitsWide:
    case OperandType::kWarpgroupSmall:
      return 4;
    case OperandType::kMatrixF16Four:
      return 8;
    case OperandType::kWarpgroupPacked:
      return 64;
    case OperandType::kWarpgroup:
      return 128;
    case OperandType::kMatrixF16ToF16:
    case OperandType::kMatrixBitsToTwo:
    case OperandType::kMatrixFewBitsToF16:
    case OperandType::kMatrixF64:
      return 2;
    default:
      return 1;
  }
}

std::uint32_t warps_per_operation(OperandType type) {
  constexpr std::uint32_t kWarpgroupWarps = 4;
  switch (type) {
    case OperandType::kWarpgroupSmall:
    case OperandType::kWarpgroupPacked:
    case OperandType::kWarpgroup:
    case OperandType::kTensorMemory:
      return kWarpgroupWarps;
    default:
      return 1;
  }
}

bool is_large_matrix(OperandType type) {
  return type == OperandType::kWarpgroupPacked || type == OperandType::kWarpgroup || type == OperandType::kTensorMemory;
}

bool is_matrix_of_few_bits(OperandType type) {
  return type == OperandType::kMatrixFewBits || type == OperandType::kMatrixFewBitsToF16;
}

std::span<const OperationInfo> operation_catalogue() { return kOperations; }

std::span<const OperationInfo> instruction_catalogue() {
  const auto end = std::ranges::find(kOperations, OperationClass::kSeveralSms, &OperationInfo::of);
  return {std::begin(kOperations), end};
}

std::span<const OperationId> common_operations() {
  using enum OperationId;
  static constexpr OperationId kCommon[] = {
      kAddF32,    kMulF32,    kFmaF32,    kMinF32,  kAddF64,      kMulF64, kFmaF64,  kAddF16x2, kFmaF16x2, kAddS32,
      kMulS32,    kMadS32,    kMinS32,    kSelpB32, kSetpSelpS32, kAndB32, kLop3B32, kShlB32,   kPopcB32,  kCvtS32F32,
      kCvtF32S32, kCvtF32F16, kCvtF64F32, kRcpF32,  kRsqrtF32,    kSinF32, kEx2F32,  kLg2F32,   kShflBfly, kMmaF32F16};
  return kCommon;
}

const OperationInfo& info_of(OperationId id) { return kOperations[static_cast<std::size_t>(id)]; }

std::string_view to_string(OperationId id) { return info_of(id).name; }

const OperationInfo* find_operation(std::string_view name) {
  const auto found = std::ranges::find(operation_catalogue(), name, &OperationInfo::name);
  return found == operation_catalogue().end() ? nullptr : &*found;
}

}  // namespace gputopo
