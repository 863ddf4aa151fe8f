// The text of a HIP source as it grows. It begins with the parts that all kernels share.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// For kernels whose blocks start together. It needs kStartedApart and a struct Parameters before it, with fields named
// as in launch::AccessParameters.
extern const std::string_view kStartTogether;
// The first and the last lines of such a kernel. It has parameters `p` and `threads`, and u64 variables `start`, `end`
// and `timer` of the warp. The first lines end it if its block does not take part.
extern const std::string_view kBeginChains;
extern const std::string_view kEndChains;
// Lines of an assembly string: read the clock twice, into "timer" and "start", before a loop with the label 1.
extern const std::string_view kReadClock;

// `text` must contain `placeholder`, once.
inline void replace_placeholder(std::string& text, std::string_view placeholder, std::string_view by) {
  text.replace(text.find(placeholder), placeholder.size(), by);
}

class SourceText {
 public:
  // Begins with types, clocks, accesses that bypass vL1 and the scalar cache, and BlockRecord: its fields, and the
  // functions that begin and end it.
  explicit SourceText(const GfxTarget& target);

  void constant(std::string_view name, std::uint64_t value) {
    text_ += fmt::format("static constexpr u32 {} = {}u;\n", name, value);
  }
  // "kBlockRecord_sm" and so on: offsets of these fields of a struct of launch/kernel_layout.h, and its size.
  void offsets(std::string_view type, std::string_view fields);
  void size_of(std::string_view type);
  // The struct Parameters with these members. The source checks that `fields` lie where the host's `type` has them.
  void parameters(std::string_view type, std::string_view members, std::string_view fields);
  void raw(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string take() {
    text_ += "}  // namespace gputopo_kernels\n";
    return std::move(text_);
  }

 private:
  std::string text_;
};

}  // namespace gputopo::hip
