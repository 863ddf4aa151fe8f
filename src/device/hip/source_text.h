// Text of a HIP source as it grows: begins with what all kernels share.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// For kernels whose blocks begin at a time; they come behind a struct Parameters that has the fields of the same names
// of launch::AccessParameters, and kStartedApart.
extern const std::string_view kStartTogether;
// The first and the last lines of such a kernel, which has parameters `p` and `threads`, a u64 of the warp's `start`,
// `end` and `timer`, and ends before the first if its block does not take part.
extern const std::string_view kBeginChains;
extern const std::string_view kEndChains;
// Within a string of assembly: reads the clock twice, into "timer" and "start", before a loop with the label 1.
extern const std::string_view kReadClock;

// `placeholder` is in `text`, once.
inline void replace_placeholder(std::string& text, std::string_view placeholder, std::string_view by) {
  text.replace(text.find(placeholder), placeholder.size(), by);
}

class SourceText {
 public:
  // Types, clocks, accesses that leave vL1 and the scalar cache alone, and BlockRecord: its fields, what begins and
  // ends it.
  explicit SourceText(const GfxTarget& target);

  void constant(std::string_view name, std::uint64_t value) {
    text_ += fmt::format("static constexpr u32 {} = {}u;\n", name, value);
  }
  // "kBlockRecord_sm" and so on: where these fields of a struct of launch/kernel_layout.h lie, and its size.
  void offsets(std::string_view type, std::string_view fields);
  void size_of(std::string_view type);
  // The struct Parameters with these members, of which some fields are checked to lie where the host's `type` has them.
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
