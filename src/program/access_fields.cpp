#include "program/access_fields.h"

#include "file/limits.h"
#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {

std::string_view to_string(AccessOp op) { return name_of(op); }

std::uint32_t access_word_bytes(const AccessProgram& program) {
  if (program.load_bytes != 0) return program.load_bytes;
  return program.op == AccessOp::kLoad && is_global(program.space) ? 8 : 4;
}

void validate_kind(const AccessProgram& program) {
  constexpr std::uint32_t kMaxAccesses = 1u << 20;
  constexpr std::uint64_t kMaxStrideBytes = 1u << 20;
  const bool shared = program.space == Space::kShared;
  const bool constant = program.space == Space::kConstant;
  require(shared || constant || is_global(program.space), "space",
          "must be shared, constant, global or global_bypass_l1");
  require(!constant || program.op == AccessOp::kLoad, "op", "must be 'load' if space is 'constant'");
  require(!constant || program.bytes <= kConstantBankBytes, "bytes", "exceeds the 64 KiB of constant memory");
  require(program.space != Space::kGlobal || program.op == AccessOp::kLoad, "op",
          "must be 'load' if space is 'global'; use space 'global_bypass_l1' for other operations");
  const bool wide_load = program.load_bytes == 4 || program.load_bytes == 8 || program.load_bytes == 16;
  require(program.load_bytes == 0 || (wide_load && shared && program.op == AccessOp::kLoad), "load_bytes",
          "must be 0, or 4, 8 or 16 for loads from shared memory");
  require(program.bank_mode_bytes == 0 || (shared && (program.bank_mode_bytes == 4 || program.bank_mode_bytes == 8)),
          "bank_mode", "must be 0, or 4 or 8 in shared memory");
  const std::uint32_t word = access_word_bytes(program);
  require(program.bytes >= word && program.bytes % word == 0, "bytes", "must be a positive multiple of the word size");
  require(program.lane_stride_bytes % word == 0 && program.lane_stride_bytes <= kMaxStrideBytes, "lane_stride_bytes",
          "must be a multiple of the word size, at most 1 MiB");
  require(program.warp_stride_bytes % word == 0 && program.warp_stride_bytes <= kMaxStrideBytes, "warp_stride_bytes",
          "must be a multiple of the word size, at most 1 MiB");
  require(program.hop_bytes % word == 0 && program.hop_bytes < program.bytes, "hop_bytes",
          "must be a multiple of the word size, and less than bytes");
  require(program.hop_bytes == 0 || program.op == AccessOp::kLoad, "hop_bytes", "must be 0 unless op is 'load'");
  require(program.warps >= 1 && program.warps <= kMaxAccessWarps, "warps", "must be 1 to 32");
  require(
      program.accesses >= kAccessUnroll && program.accesses <= kMaxAccesses && program.accesses % kAccessUnroll == 0,
      "accesses", "must be a multiple of 16 from 16 to 2^20");
  require(program.warm_accesses <= kMaxAccesses && program.warm_accesses % kAccessUnroll == 0, "warm_accesses",
          "must be a multiple of 16 up to 2^20");
}

std::string result_mismatch(const AccessProgram&, const AccessResult& result) {
  if (result.blocks < 1 || result.blocks > limits::kMaxSms) {
    return fmt::format("has {} blocks, but only 1 to {} can run", result.blocks, limits::kMaxSms);
  }
  return amount_misfit({result.least_cycles, result.mean_cycles, result.most_cycles, result.total_cycles});
}

}  // namespace gputopo
