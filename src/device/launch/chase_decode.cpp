#include "device/launch/chase_decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

template <typename T>
T read(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.subspan(offset).data(), sizeof(value));
  return value;
}

std::vector<std::uint32_t> read_words(std::span<const std::byte> bytes, std::uint64_t offset, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  if (count != 0) std::memcpy(words.data(), bytes.subspan(offset).data(), count * sizeof(std::uint32_t));
  return words;
}

// `sm`: the named SM, if any.
void check_block(const BlockRecord& block, std::optional<std::uint32_t> sm, std::uint32_t sm_count) {
  if (block.claimed == 0) {
    throw NotSupportedError(
        fmt::format("no block of the launch ran on SM {}: the numbering of this GPU's {} SMs may have gaps",
                    sm.value_or(kAnySm), sm_count));
  }
  switch (block.error) {
    case 0:
      return;
    case kNoLink:
      throw DeviceError("kernel chase: constant memory does not start at offset 0 of its address window on this GPU");
    case kNoTurn:
      throw DeviceError(
          "kernel chase: a step on another SM did not end in time; another program may be using that SM: try again");
    default:
      throw DeviceError(fmt::format(
          "kernel chase: step {} followed a pointer out of its array; the memory may be faulty", block.error - 1));
  }
}

std::size_t used_bins(std::span<const std::byte> record) {
  // Most histograms are short, so bins are read in pairs.
  const std::span<const std::byte> counts = record.subspan(sizeof(StepRecord), kHistogramBytes);
  std::size_t end = counts.size();
  while (end > 0 && read<std::uint64_t>(counts, end - sizeof(std::uint64_t)) == 0) end -= sizeof(std::uint64_t);
  const std::size_t bins = end / sizeof(std::uint32_t);
  return bins > 0 && read<std::uint32_t>(counts, end - sizeof(std::uint32_t)) == 0 ? bins - 1 : bins;
}

StepResult decode_step(const ChaseProgram& program, const ChaseStep& step, std::span<const std::byte> record) {
  StepResult result{.loads = step.loads, .total_cycles = read<StepRecord>(record, 0).cycles};
  if (step.kind == StepKind::kTouch) result.loads = touched_elements(program.arrays[step.array], step);
  if (!has_histogram(step.kind)) return result;
  result.histogram = read_words(record, sizeof(StepRecord), used_bins(record));
  result.latencies = read_words(record, sizeof(StepRecord) + kHistogramBytes, kept_latencies(program, step));
  return result;
}

// No load takes a tenth of this: a walk through all levels of a page table takes about 2,000 cycles. A turn of another
// process takes at least 600,000 (seen on an H200).
constexpr std::uint32_t kStopCycles = 100'000;

bool shows_a_stop(const StepResult& step) {
  return std::ranges::any_of(step.latencies, [](std::uint32_t cycles) { return cycles > kStopCycles; });
}

}  // namespace

std::vector<ChaseAnswer> decode(const std::vector<ChasePlan*>& batch, const BatchLayout& layout,
                                std::span<const std::byte> records, std::uint32_t sm_count) {
  const auto block_of = [&](std::size_t p, std::size_t slot) {
    return read<BlockRecord>(records, layout.records[p] - layout.records_begin + slot * sizeof(BlockRecord));
  };
  std::map<std::uint32_t, int> blocks_on_sm;
  for (std::size_t p = 0; p < batch.size(); ++p) {
    for (std::size_t slot = 0; slot < batch[p]->layout.slots(); ++slot) ++blocks_on_sm[block_of(p, slot).sm];
  }
  std::vector<ChaseAnswer> answers;
  for (std::size_t p = 0; p < batch.size(); ++p) {
    const ChaseProgram& program = *batch[p]->program;
    const ChaseLayout& own = batch[p]->layout;
    ChaseAnswer& answer = answers.emplace_back(ChaseAnswer{.block = block_of(p, 0)});
    for (std::size_t slot = own.slots(); slot-- > 0;) {
      const BlockRecord block = block_of(p, slot);
      check_block(block, own.sms.empty() ? program.sm : own.sms[slot], sm_count);
      answer.met_another = answer.met_another || blocks_on_sm[block.sm] > 1;
      answer.span.add(block);
    }
    std::uint64_t at = layout.records[p] - layout.records_begin + own.steps_offset();
    for (const ChaseStep& step : program.steps) {
      const std::uint64_t bytes = step_record_bytes(program, step);
      answer.steps.push_back(decode_step(program, step, records.subspan(at, bytes)));
      answer.was_stopped = answer.was_stopped || shows_a_stop(answer.steps.back());
      at += bytes;
    }
  }
  return answers;
}

}  // namespace gputopo::launch
