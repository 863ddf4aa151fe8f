#include "device/cuda/occupancy_runner.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "device/launch/occupancy_decode.h"
#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::cuda {
namespace {

// From where a launch's memory begins: the operands, a record of each block, and what each saw of the clocks.
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
  std::set<std::uint32_t> missing;
  for (const Program& program : programs) {
    const auto* occupancy = std::get_if<OccupancyProgram>(&program);
    if (occupancy != nullptr && !kernels_.contains(occupancy->registers)) missing.insert(occupancy->registers);
  }
  if (missing.empty()) return;
  const std::vector<std::uint32_t> counts(missing.begin(), missing.end());
  const auto parts = CompileAhead::parts_of(counts, counts.size());
  std::vector<CompileAhead::Begun<std::string>> begun;
  for (const std::vector<std::uint32_t>& part : parts) {
    begun.push_back(gpu_.compiler().begin<std::string>(
        [driver = gpu_.driver(), ptx = generate_occupancy_ptx(gpu_.target(), part)] { return compile(*driver, ptx); }));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Module& module = modules_.emplace_back(gpu_.driver(), begun[i].get());
    for (const std::uint32_t count : parts[i]) add_kernel(module, count);
  }
}

void OccupancyRunner::add_kernel(const Module& module, std::uint32_t count) {
  const FunctionHandle function = module.function(occupancy_kernel_name(count).c_str());
  int registers = 0;
  gpu_.driver()->check(gpu_.driver()->func_get_attribute(&registers, FunctionAttribute::kRegisters, function),
                       "cuFuncGetAttribute");
  kernels_[count] = {function, static_cast<std::uint32_t>(std::max(0, registers))};
}

ProgramResult OccupancyRunner::run(const OccupancyProgram& program) {
  const Kernel& kernel = kernels_.at(program.registers);
  const std::uint32_t blocks = gpu_.info().sm_count * program.blocks_per_sm;
  launch::KernelLaunch launch{.blocks = blocks, .threads = program.threads, .shared_bytes = program.shared_bytes};
  // The largest, so that shared memory is what the SM has.
  launch.carve_out_bytes = gpu_.carve_out_for(UINT64_MAX, program.shared_bytes, 1);
  const OccupancyLayout layout = lay_out(blocks);
  const DevicePointer base = gpu_.reserve(layout.bytes);
  OccupancyParameters parameters{.operands = base,
                                 .records = base + layout.records,
                                 .clock_records = base + layout.clock_records,
                                 .stay_cycles = program.stay_cycles,
                                 .never = kNever};
  const bool met_before = gpu_.others_still_work();
  gpu_.clear(base, layout.bytes);
  gpu_.expect_download(parameters.records, layout.bytes - layout.records);
  const double started = gpu_.seconds_open();
  gpu_.run(kernel.function, occupancy_kernel_name(program.registers), launch, {&parameters});
  const std::uint64_t waited_ns = gpu_.waited_ns();

  std::vector<BlockRecord> records(blocks);
  gpu_.download(records.data(), parameters.records, records.size() * sizeof(BlockRecord));
  std::vector<ClockRecord> clocks(program.clocks ? blocks : 0);
  if (program.clocks) gpu_.download(clocks.data(), parameters.clock_records, clocks.size() * sizeof(ClockRecord));
  OccupancyResult result =
      launch::decode_occupancy(records, clocks, [&](std::uint32_t hardware_id) { return gpu_.sm_of(hardware_id); });
  result.registers = kernel.registers;
  ProgramResult answer = gpu_.answer(std::move(result), records.front(), launch.carve_out_bytes, started);
  const bool met_after = gpu_.others_work();
  gpu_.mark_company(answer, met_before || met_after, waited_ns);
  return answer;
}

}  // namespace gputopo::cuda
