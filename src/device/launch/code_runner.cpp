#include "device/launch/code_runner.h"

#include <cstring>

#include "device/launch/code_decode.h"
#include "device/launch/code_layout.h"

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

ProgramResult CodeRunner::run(const InstructionProgram& program) {
  check_duration(program);
  kernel_.check(program);
  const CodeLayout layout = lay_out(program, gpu_.info().sm_count);
  const CodeSizes sizes = kernel_.sizes(layout.kind);
  const Address base = gpu_.reserve(layout.bytes);
  const std::vector<CodeStepTask> steps = encode_steps(program, layout, gpu_.info().warp_size, base);
  // All but the tasks begins as zeros.
  std::vector<std::byte> memory(layout.bytes);
  std::memcpy(memory.data(), steps.data(), steps.size() * sizeof(CodeStepTask));
  gpu_.upload(base, memory.data(), memory.size());
  std::vector<std::uint32_t> wanted_sms;
  for (const std::uint32_t sm : layout.sms) wanted_sms.push_back(sm == kAnySm ? kAnySm : gpu_.hardware_id_of(sm));
  const CodeParameters parameters = encode(layout, wanted_sms, gpu_.patience_cycles(), base);
  const CodeLaunch launch = launch_of(layout);
  memory.resize(layout.bytes - layout.records);
  gpu_.expect_download(parameters.records, memory.size());
  const double started = gpu_.seconds_open();
  kernel_.launch(launch, parameters);

  gpu_.download(memory.data(), parameters.records, memory.size());
  CodeAnswer answer = decode(program, layout, memory, gpu_.info().sm_count);
  InstructionResult result{
      .pass_cycles = std::move(answer.pass_cycles), .block_bytes = sizes.block_bytes, .loop_bytes = sizes.loop_bytes};
  for (const std::uint32_t slot : layout.slots) result.sms.push_back(gpu_.sm_of(answer.blocks[slot].sm));
  ProgramResult marked = gpu_.answer(std::move(result), answer.blocks.front(), launch.carve_out_bytes, started);
  // However short: the code that an earlier launch left in L2 is gone, and misses take longer. Seen on an H200: a level
  // of 126 KiB came out as 105.
  gpu_.mark_company(marked, gpu_.met_others(span_of_launch(answer.blocks)), UINT64_MAX);
  return marked;
}

}  // namespace gputopo::launch
