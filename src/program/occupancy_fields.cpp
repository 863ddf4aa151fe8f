#include "program/occupancy_fields.h"

#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {

void validate_kind(const OccupancyProgram& program) {
  require(program.threads >= 1 && program.threads <= 1024, "threads", "must be 1 to 1024");
  require(program.registers <= kMaxOccupancyRegisters, "registers", "must be 0 to 224");
  require(program.registers == 0 || program.threads <= kMaxThreadsWithRegisters, "threads",
          "must be at most 256 if registers is not 0");
  require(program.blocks_per_sm >= 1 && program.blocks_per_sm <= kMaxOccupancyBlocks, "blocks_per_sm",
          "must be 1 to 128");
  require(program.stay_cycles >= 1 && program.stay_cycles <= kMaxStayCycles, "stay", "must be 1 to 10000000");
}

std::string result_mismatch(const OccupancyProgram& program, const OccupancyResult& result) {
  const std::size_t sms = result.sms.size();
  if (sms == 0) return "has no SM";
  if (result.resident.size() != sms) return "does not have one block count for each SM";
  const std::size_t clocks = program.clocks ? sms : 0;
  for (const auto* column : {&result.timer_ns, &result.clock_cycles, &result.timer_step_ns, &result.clock_read_cycles,
                             &result.clock_step_cycles}) {
    if (column->size() != clocks) return "does not have one clock reading for each SM";
    if (std::string wrong = amount_misfit(*column); !wrong.empty()) return wrong;
  }
  return sm_misfit(result.sms);
}

}  // namespace gputopo
