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
  void raw(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string take() {
    text_ += "}  // namespace gputopo_kernels\n";
    return std::move(text_);
  }

 private:
  std::string text_;
};

}  // namespace gputopo::hip
