// The fields of cluster programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/cluster.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 3> kNames<ClusterOp>{"chase", "read", "bulk_copy"};

void visit_fields(Is<ClusterProgram> auto& program, auto&& visit) {
  visit("op", program.op);
  visit("size", program.cluster_size);
  visit("every_sm", program.every_sm);
  visit("reader", program.reader);
  visit("hop", program.hop);
  visit("bytes", program.bytes);
  visit("warps", program.warps);
  visit("copy_bytes", program.copy_bytes);
  visit("in_flight", program.in_flight);
  visit("warm", program.warm_accesses);
  visit("accesses", program.accesses);
}

void visit_fields(Is<ClusterResult> auto& result, auto&& visit) {
  visit("sms", result.sms);
  visit("cycles", result.cycles);
  visit("bytes_moved", result.bytes_moved);
  visit("seconds", result.seconds);
  visit("clusters_at_once", result.clusters_at_once);
  visit("largest_cluster", result.largest_cluster);
}

void validate_kind(const ClusterProgram& program);
[[nodiscard]] std::string result_mismatch(const ClusterProgram& program, const ClusterResult& result);

}  // namespace gputopo
