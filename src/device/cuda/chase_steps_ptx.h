// The code of the steps of chase programs. chase_ptx.h says what the timing depends on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/ptx_text.h"
#include "gputopo/space.h"

namespace gputopo::cuda {

// The code of one kind of step in one space, at a label of its own. It starts with a StepTask's fields in registers. It
// exits through STEP_DONE with %time0 and %time1, through STEP_ERROR, or through STEP_END.
struct CodePath {
  std::uint32_t code;  // StepTask::code
  std::string label;
  std::string_view lines;   // in the form that PtxText::add() takes
  std::string_view access;  // the access that a timed step times
  Space space;
};
// Paths in ascending order of their codes. Only kernels with local memory have paths for it.
[[nodiscard]] std::vector<CodePath> code_paths(bool has_local);
void add_code_path(PtxText& text, const CodePath& path);

}  // namespace gputopo::cuda
