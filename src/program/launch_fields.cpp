#include "program/launch_fields.h"

#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {

std::string_view to_string(LaunchMethod way) { return name_of(way); }

void validate_kind(const LaunchProgram& program) {
  require(program.launches >= 1 && program.launches <= kMaxLaunches, "launches", "must be 1 to 4096");
  constexpr std::uint32_t kStep = 8;
  require(program.argument_bytes >= kStep && program.argument_bytes <= kMaxArgumentBytes &&
              program.argument_bytes % kStep == 0,
          "argument_bytes", "must be a multiple of 8 from 8 to 65536");
}

std::string result_mismatch(const LaunchProgram&, const LaunchResult& result) {
  return amount_misfit({result.seconds, result.submit_seconds});
}

}  // namespace gputopo
