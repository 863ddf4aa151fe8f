#include "program/transfer_fields.h"

#include <algorithm>
#include <charconv>

#include "program/result_mismatch.h"
#include "program/text.h"
#include "program/validation.h"

namespace gputopo {
namespace {

// Whether every transfer has a GPU at the end whose SMs do the work. Copies need none.
bool works_at_a_gpu(const TransferProgram& program) {
  return std::ranges::all_of(program.transfers, [&](const Transfer& transfer) {
    switch (program.op) {
      case TransferOp::kCopy:
      case TransferOp::kPageableCopy:
        return true;
      case TransferOp::kRead:
      case TransferOp::kLoad:
      case TransferOp::kAtomic:
        return transfer.to.kind == EndpointKind::kGpu;
      case TransferOp::kWrite:
      case TransferOp::kStore:
        return transfer.from.kind == EndpointKind::kGpu;
    }
    return false;
  });
}

}  // namespace

std::string_view to_string(EndpointKind kind) { return name_of(kind); }
std::string_view to_string(TransferOp op) { return name_of(op); }
std::string to_text(const Endpoint& place) { return fmt::format("{}{}", name_of(place.kind), place.index); }

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  for (const EndpointKind kind : {EndpointKind::kHost, EndpointKind::kGpu}) {
    if (!text.starts_with(to_string(kind))) continue;
    const std::string_view digits = text.substr(to_string(kind).size());
    std::uint32_t index = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (status == std::errc{} && end == digits.data() + digits.size()) return Endpoint{kind, index};
  }
  return std::nullopt;
}

std::string link_name(const Endpoint& from, const Endpoint& to) {
  return fmt::format("{} to {}", to_text(from), to_text(to));
}

std::optional<std::pair<Endpoint, Endpoint>> parse_link_name(std::string_view text) {
  constexpr std::string_view kTo = " to ";
  const std::size_t middle = text.find(kTo);
  if (middle == std::string_view::npos) return std::nullopt;
  const auto from = parse_endpoint(text.substr(0, middle));
  const auto to = parse_endpoint(text.substr(middle + kTo.size()));
  return from && to ? std::optional(std::pair(*from, *to)) : std::nullopt;
}

bool is_latency(TransferOp op) {
  return op == TransferOp::kLoad || op == TransferOp::kAtomic || op == TransferOp::kStore;
}

void validate(const TransferProgram& program) {
  require(!program.transfers.empty() && program.transfers.size() <= kMaxTransfers, "transfers",
          "must have 1 to 1024 entries");
  require(
      program.bytes >= kTransferStride && program.bytes <= kMaxTransferBytes && program.bytes % kTransferStride == 0,
      "bytes", "must be a multiple of 256 up to 1 GiB");
  require(program.repeats >= 1 && program.repeats <= kMaxTransferRepeats, "repeats", "must be 1 to 4096");
  const bool alone = is_latency(program.op) || program.op == TransferOp::kPageableCopy;
  require(!alone || program.transfers.size() == 1, "transfers", "must have exactly one entry for this operation");
  require(!is_latency(program.op) || program.bytes >= 2 * kTransferStride, "bytes", "must be at least 512 for chains");
  for (const Transfer& transfer : program.transfers) {
    require(transfer.from != transfer.to, "transfers", "must have two different ends");
    require(transfer.from.kind == EndpointKind::kGpu || transfer.to.kind == EndpointKind::kGpu, "transfers",
            "must have a GPU at one end");
    require(program.op != TransferOp::kPageableCopy || transfer.from.kind != transfer.to.kind, "transfers",
            "must have the host at one end for this operation");
  }
  require(works_at_a_gpu(program), "transfers", "must have a GPU at the end that performs this operation");
}

std::string result_mismatch(const TransferProgram& program, const TransferResult& result) {
  if (is_latency(program.op)) {
    if (result.seconds.empty()) return "has no SM";
    if (result.seconds.size() > limits::kMaxSms) return "has more SMs than any GPU";
  } else if (result.seconds.size() != program.transfers.size()) {
    return "does not have one time for each transfer";
  }
  if (!result.begins.empty() && result.begins.size() != program.transfers.size()) {
    return "does not have one start time for each transfer";
  }
  constexpr double kShortest = 1e-12;
  constexpr double kLongest = 1e6;
  for (const double seconds : result.seconds) {
    if (seconds >= kShortest && seconds <= kLongest) continue;
    return fmt::format("has a time of {:g} s, which is impossible", seconds);
  }
  for (const double begin : result.begins) {
    if (!(begin >= 0 && begin <= kLongest))
      return fmt::format("has a start time of {:g} s, which is impossible", begin);
  }
  return {};
}

std::string to_text(const TransferProgram& program) { return text::write_program(program); }

TransferProgram parse_transfer(std::string_view text) {
  const std::vector<std::string_view> words = text::split(text, ' ');
  if (words.front() != TransferProgram::kKind) text::throw_unknown_word(words.front());
  TransferProgram program;
  text::read_program(std::span(words).subspan(1), program);
  return program;
}

}  // namespace gputopo
