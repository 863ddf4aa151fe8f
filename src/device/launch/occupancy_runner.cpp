#include "device/launch/occupancy_runner.h"

#include <set>
#include <vector>

#include "device/launch/occupancy_decode.h"
#include "model/round_up.h"

namespace gputopo::launch {
namespace {

// Memory of a launch: the operands, then the records of the blocks, and their clock readings.
struct OccupancyLayout {
  std::uint64_t records = 0;
  std::uint64_t clock_records = 0;
  std::uint64_t bytes = 0;
};

OccupancyLayout lay_out(std::uint64_t blocks) {
  OccupancyLayout layout{.records = round_up(kOccupancyOperands * sizeof(std::uint32_t), 256)};
  layout.clock_records = layout.records + blocks * sizeof(BlockRecord);
  layout.bytes = layout.clock_records + blocks * sizeof(ClockRecord);
  return layout;
}

}  // namespace

void OccupancyRunner::prepare(std::span<const Program> programs) {
  std::set<std::uint32_t> counts;
  for (const Program& program : programs) {
    if (const auto* occupancy = std::get_if<OccupancyProgram>(&program)) counts.insert(occupancy->registers);
  }
  if (!counts.empty()) kernels_.prepare(std::vector(counts.begin(), counts.end()));
}

ProgramResult OccupancyRunner::run(const OccupancyProgram& program) {
  KernelLaunch launch{.blocks = gpu_.info().sm_count * program.blocks_per_sm,
                      .threads = program.threads,
                      .shared_bytes = program.shared_bytes};
  // The largest carve-out, so that shared memory is what the SM has.
  launch.carve_out_bytes = gpu_.carve_out_for(UINT64_MAX, program.shared_bytes, 1);
  if (program.clocks && launch.blocks < gpu_.blocks_to_reach_every_sm()) {
    launch.blocks = gpu_.blocks_to_reach_every_sm();
    launch.shared_bytes = gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, program.shared_bytes);
  }
  const std::uint32_t blocks = launch.blocks;
  const OccupancyLayout layout = lay_out(blocks);
  const Address base = gpu_.reserve(layout.bytes);
  const OccupancyParameters parameters{.operands = base,
                                       .records = base + layout.records,
                                       .clock_records = base + layout.clock_records,
                                       .stay_cycles = program.stay_cycles,
                                       .never = kNever};
  const bool met_before = gpu_.is_gpu_still_contended();
  gpu_.clear(base, layout.bytes);
  gpu_.expect_download(parameters.records, layout.bytes - layout.records);
  const double started = gpu_.seconds_open();
  kernels_.launch(program.registers, launch, parameters);
  const std::uint64_t waited_ns = gpu_.waited_ns();

  std::vector<BlockRecord> records(blocks);
  gpu_.download(records.data(), parameters.records, records.size() * sizeof(BlockRecord));
  std::vector<ClockRecord> clocks(program.clocks ? blocks : 0);
  if (program.clocks) gpu_.download(clocks.data(), parameters.clock_records, clocks.size() * sizeof(ClockRecord));
  for (ClockRecord& clock : clocks) {
    clock.timer = gpu_.nanoseconds(clock.timer);
    if (clock.timer_step != INT64_MAX) clock.timer_step = gpu_.nanoseconds(clock.timer_step);
  }
  OccupancyResult result =
      decode_occupancy(records, clocks, [&](std::uint32_t hardware_id) { return gpu_.sm_of(hardware_id); });
  result.registers = kernels_.registers_of(program.registers);
  ProgramResult answer = gpu_.answer(std::move(result), records.front(), launch.carve_out_bytes, started);
  const bool met_after = gpu_.is_gpu_contended();
  gpu_.mark_contention(answer, met_before || met_after, waited_ns);
  return answer;
}

}  // namespace gputopo::launch
