// The fields of transfers and their validation.
#pragma once

#include <string>

#include "gputopo/program/transfer.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 2> kNames<EndpointKind>{"host", "gpu"};
template <>
inline constexpr std::array<std::string_view, 7> kNames<TransferOp>{"copy", "pageable_copy", "read", "write",
                                                                    "load", "atomic",        "store"};

void visit_fields(Is<Transfer> auto& transfer, auto&& visit) {
  visit("from_kind", transfer.from.kind);
  visit("from", transfer.from.index);
  visit("to_kind", transfer.to.kind);
  visit("to", transfer.to.index);
}

void visit_fields(Is<TransferProgram> auto& program, auto&& visit) {
  visit("op", program.op);
  visit("bytes", program.bytes);
  visit("repeats", program.repeats);
  visit("transfer", program.transfers);
}

// Explains why `result` cannot answer the program; empty if it can.
[[nodiscard]] std::string result_mismatch(const TransferProgram& program, const TransferResult& result);

}  // namespace gputopo
