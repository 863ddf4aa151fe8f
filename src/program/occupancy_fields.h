// The fields of occupancy programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/occupancy.h"
#include "program/fields.h"

namespace gputopo {

void visit_fields(Is<OccupancyProgram> auto& program, auto&& visit) {
  visit("threads", program.threads);
  visit("registers", program.registers, 0u);
  visit("shared", program.shared_bytes, 0u);
  visit("blocks_per_sm", program.blocks_per_sm);
  visit("stay", program.stay_cycles);
  visit("clocks", program.clocks, false);
}

void visit_fields(Is<OccupancyResult> auto& result, auto&& visit) {
  visit("registers", result.registers);
  visit("sms", result.sms);
  visit("resident", result.resident);
  visit("timer_ns", result.timer_ns);
  visit("clock_cycles", result.clock_cycles);
  visit("timer_step_ns", result.timer_step_ns);
  visit("clock_read_cycles", result.clock_read_cycles);
  visit("clock_step_cycles", result.clock_step_cycles);
}

void validate_kind(const OccupancyProgram& program);
[[nodiscard]] std::string result_mismatch(const OccupancyProgram& program, const OccupancyResult& result);

}  // namespace gputopo
