#include "device/launch/code_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/launch/code_decode.h"
#include "device/launch/row.h"

namespace gputopo::launch {

CodeLaunch CodeRunner::launch_of(const CodeLayout& layout) const {
  constexpr std::uint64_t kSharedBytes = sizeof(std::uint32_t);
  CodeLaunch launch{.threads = gpu_.info().warp_size * layout.warps,
                    .carve_out_bytes = gpu_.carve_out_for(0, kSharedBytes, 1),
                    .kind = layout.kind,
                    .has_lead = layout.has_lead};
  if (layout.sms.front() == kAnySm) {
    launch.shared_bytes = gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, kSharedBytes);
  } else {
    launch.blocks = gpu_.blocks_to_reach_every_sm();
    launch.shared_bytes = gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, kSharedBytes);
  }
  return launch;
}

CodeRunner::Placed CodeRunner::place(const InstructionProgram& program) {
  check_duration(program);
  kernel_.check(program);
  Placed placed{.program = &program, .layout = lay_out(program, gpu_.info().sm_count), .launch = {}};
  placed.launch = launch_of(placed.layout);
  static_cast<void>(kernel_.sizes(placed.layout.kind));  // compiles it if it is new
  return placed;
}

std::uint64_t CodeRunner::run_row(std::vector<Placed>& row, std::uint64_t bytes, std::vector<ProgramResult>& results) {
  const Address base = gpu_.reserve(bytes);
  // Everything but the tasks begins as zeros.
  std::vector<std::byte> memory(bytes);
  for (const Placed& placed : row) {
    const Address own = base + placed.offset;
    const std::vector<CodeStepTask> steps = encode_steps(*placed.program, placed.layout, gpu_.info().warp_size, own);
    std::memcpy(memory.data() + placed.offset, steps.data(), steps.size() * sizeof(CodeStepTask));
  }
  gpu_.upload(base, memory.data(), bytes);
  {
    const HeldLaunches held(gpu_);
    for (Placed& placed : row) {
      std::vector<std::uint32_t> wanted_sms;
      for (const std::uint32_t sm : placed.layout.sms) {
        wanted_sms.push_back(sm == kAnySm ? kAnySm : gpu_.hardware_id_of(sm));
      }
      placed.started = gpu_.seconds_open();
      kernel_.launch(placed.launch, encode(placed.layout, wanted_sms, gpu_.patience_cycles(), base + placed.offset));
    }
    gpu_.expect_download(base, bytes);
    gpu_.finish_launches();
  }
  const std::uint64_t took_ns = gpu_.waited_ns();
  gpu_.download(memory.data(), base, bytes);

  std::vector<CodeAnswer> answers;
  LaunchSpan span;
  std::uint64_t longest_gap = 0;
  for (const Placed& placed : row) {
    const auto records =
        std::span(memory).subspan(placed.offset + placed.layout.records, placed.layout.bytes - placed.layout.records);
    answers.push_back(decode(*placed.program, placed.layout, records, gpu_.info().sm_count));
    const LaunchSpan own = span_of_launch(answers.back().blocks);
    if (span.last != 0 && own.first > span.last) longest_gap = std::max(longest_gap, own.first - span.last);
    span.add(own);
  }
  const bool saw_contention = gpu_.saw_contention(span, longest_gap);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Placed& placed = row[i];
    const CodeSizes sizes = kernel_.sizes(placed.layout.kind);
    InstructionResult result{.pass_cycles = std::move(answers[i].pass_cycles),
                             .block_bytes = sizes.block_bytes,
                             .loop_bytes = sizes.loop_bytes};
    for (const std::uint32_t slot : placed.layout.slots) result.sms.push_back(gpu_.sm_of(answers[i].blocks[slot].sm));
    results.push_back(
        gpu_.answer(std::move(result), answers[i].blocks.front(), placed.launch.carve_out_bytes, placed.started));
    // Even a short launch is affected: the code that earlier launches left in L2 is gone, so misses take longer. On an
    // H200, a level of 126 KiB came out as 105.
    gpu_.mark_contention(results.back(), saw_contention, UINT64_MAX);
  }
  return took_ns;
}

std::vector<ProgramResult> CodeRunner::run(std::span<const InstructionProgram* const> programs) {
  std::vector<ProgramResult> results;
  Row<Placed> row([&](std::vector<Placed>& placed, std::uint64_t bytes) { return run_row(placed, bytes, results); });
  for (const InstructionProgram* program : programs) row.add(place(*program));
  row.end();
  return results;
}

}  // namespace gputopo::launch
