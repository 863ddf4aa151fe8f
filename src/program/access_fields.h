// The fields of access programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/access.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 4> kNames<AccessOp>{"load", "store", "store_load", "atomic_add"};

void visit_fields(Is<AccessProgram> auto& program, auto&& visit) {
  visit("op", program.op);
  visit("space", program.space);
  visit("bytes", program.bytes);
  visit("lane_stride", program.lane_stride_bytes);
  visit("warp_stride", program.warp_stride_bytes);
  visit("hop", program.hop_bytes);
  visit("warps", program.warps);
  visit("every_sm", program.every_sm);
  visit("warm", program.warm_accesses);
  visit("accesses", program.accesses);
  visit("load_bytes", program.load_bytes, 0u);
  visit("bank_mode", program.bank_mode_bytes, 0u);
  visit("carve_out", program.shared_carve_out_bytes);
}

void visit_fields(Is<AccessResult> auto& result, auto&& visit) {
  visit("least_cycles", result.least_cycles);
  visit("mean_cycles", result.mean_cycles);
  visit("most_cycles", result.most_cycles);
  visit("total_cycles", result.total_cycles);
  visit("blocks", result.blocks);
}

void validate_kind(const AccessProgram& program);
[[nodiscard]] std::string result_mismatch(const AccessProgram& program, const AccessResult& result);

}  // namespace gputopo
