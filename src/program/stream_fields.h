// The fields of stream programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/stream.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 3> kNames<StreamOp>{"read", "write", "copy"};

void visit_fields(Is<StreamProgram> auto& program, auto&& visit) {
  visit("op", program.op);
  visit("space", program.space);
  visit("bytes", program.bytes);
  visit("per_block", program.per_block);
  visit("blocks_per_sm", program.blocks_per_sm);
  visit("threads", program.threads_per_block);
  visit("vector", program.vector_bytes);
  visit("in_flight", program.loads_in_flight);
  visit("repeats", program.repeats);
  visit("carve_out", program.shared_carve_out_bytes);
  visit("write_span", program.write_span_bytes, 0u);
  visit("sms", program.sms, 0u);
  visit("evict", program.evict_bytes, 0u);
}

void visit_fields(Is<StreamResult> auto& result, auto&& visit) {
  visit("bytes_moved", result.bytes_moved);
  visit("seconds", result.seconds);
  visit("cycles", result.cycles);
}

void validate_kind(const StreamProgram& program);
[[nodiscard]] std::string result_mismatch(const StreamProgram& program, const StreamResult& result);

}  // namespace gputopo
