#include "program/stream_fields.h"

#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {

std::string_view to_string(StreamOp op) { return name_of(op); }

void validate_kind(const StreamProgram& program) {
  require(program.vector_bytes == 4 || program.vector_bytes == 8 || program.vector_bytes == 16, "vector_bytes",
          "must be 4, 8 or 16");
  require(program.loads_in_flight >= 1 && program.loads_in_flight <= 16, "loads_in_flight", "must be 1 to 16");
  require(program.threads_per_block >= 32 && program.threads_per_block <= 1024 && program.threads_per_block % 32 == 0,
          "threads_per_block", "must be a multiple of 32 up to 1024");
  require(program.blocks_per_sm >= 1 && program.blocks_per_sm <= 32, "blocks_per_sm", "must be 1 to 32");
  require(program.sms == 0 || program.blocks_per_sm == 1, "blocks_per_sm", "must be 1 if sms is not 0");
  require(program.repeats >= 1, "repeats", "must be at least 1");
  require(program.bytes >= program.vector_bytes, "bytes", "must hold at least one vector");
  const bool may_span = program.op == StreamOp::kCopy && !program.per_block && is_global(program.space);
  require(
      program.write_span_bytes == 0 || (may_span && program.write_span_bytes <= program.bytes), "write_span_bytes",
      "must not exceed bytes, and must be 0 unless the program copies in global or global_bypass_l1 without per_block");
  const bool may_evict = program.op == StreamOp::kRead && !program.per_block && is_global(program.space);
  require(program.evict_bytes == 0 || (may_evict && program.evict_bytes >= program.vector_bytes), "evict_bytes",
          "must be 0 or at least vector_bytes, and must be 0 unless the program reads global or global_bypass_l1 "
          "without per_block");
  require(program.space != Space::kLocal, "space", "must not be local, which only chases can read");
  require(program.space != Space::kShared || program.per_block, "per_block", "must be set for shared memory");
  require(program.space != Space::kConstant || program.bytes <= kConstantBankBytes, "bytes",
          "exceeds the 64 KiB of constant memory");
  const bool writable =
      program.space == Space::kGlobal || program.space == Space::kGlobalBypassL1 || program.space == Space::kShared;
  require(writable || program.op == StreamOp::kRead, "op", "must be 'read' in a read-only space");
}

std::string result_mismatch(const StreamProgram&, const StreamResult& result) {
  return amount_misfit({result.seconds, result.cycles});
}

}  // namespace gputopo
