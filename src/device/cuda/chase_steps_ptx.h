// The code of the steps of chase programs. What the timing depends on stands in chase_ptx.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/ptx_text.h"
#include "gputopo/space.h"

namespace gputopo::cuda {

// The code of a kind of step in a space, at a label of its own. It is entered with a StepTask's fields in registers and
// leaves through STEP_DONE with %time0 and %time1, through STEP_ERROR, or through STEP_END.
struct CodePath {
  std::uint32_t code;  // StepTask::code
  std::string label;
  std::string_view lines;   // as PtxText::add() takes them
  std::string_view access;  // that a timed step times
  Space space;
};
// In ascending order of their codes. Those of local memory are of kernels that have some.
[[nodiscard]] std::vector<CodePath> code_paths(bool has_local);
void add_code_path(PtxText& text, const CodePath& path);

}  // namespace gputopo::cuda
