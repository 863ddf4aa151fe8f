// Small helpers shared by the generators of PTX text.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "device/cuda/ptx_target.h"
#include "gputopo/space.h"

namespace gputopo::cuda {

// Collects lines of PTX.
class PtxText {
 public:
  // `target`: where the text depends on it.
  explicit PtxText(const PtxTarget& target = {}) : target_(target) {}

  [[nodiscard]] const PtxTarget& target() const { return target_; }
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void raw(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  PtxTarget target_;
  std::string text_;
};

// ".version", ".target", the constant bank at the start of its window and the dynamic shared memory.
[[nodiscard]] std::string module_header(const PtxTarget& target);

// What the kernels share whose parameters are one struct: their first line, a load of one of its fields into a
// register, and a stamp of the first thread's clocks (%globaltimer, then %clock64) in the BlockRecord at `record`. The
// stamp uses %stamp and %first_thread.
void kernel_line(PtxText& text, std::string_view name, std::size_t parameter_bytes);
void load_parameter(PtxText& text, std::string_view type, std::string_view reg, std::size_t offset);
void stamp_clocks(PtxText& text, std::string_view record, std::size_t cycles_offset, std::size_t ns_offset);

// The opcode prefix of a load from a space, without its type: "ld.global.ca". Not for textures.
[[nodiscard]] std::string_view load_opcode(Space space);
// The same of a load of a chain. From sm_70 on a load with an explicit .ca is one that is ordered among the threads of
// its block, and takes longer than an ordinary one (on an H200 38.6 cycles instead of 32, its only difference to
// ld.global.nc); ordinary loads are cached in L1 there without saying so. Before, ".ca" says so and orders nothing.
[[nodiscard]] std::string_view chain_load_opcode(const PtxTarget& target, Space space);

}  // namespace gputopo::cuda
