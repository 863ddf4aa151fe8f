// Small helpers shared by the generators of PTX text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cuda/ptx_target.h"
#include "gputopo/space.h"

namespace gputopo::cuda {

// The text of a module. It begins with ".version", ".target", the constant bank at the start of its window and the
// dynamic shared memory.
class PtxText {
 public:
  // The text that replaces a name in braces.
  struct Value {
    template <typename T>
    Value(std::string_view name_in_braces, const T& value) : name(name_in_braces), text(fmt::format("{}", value)) {}
    std::string_view name;
    std::string text;
  };
  using Values = std::vector<Value>;

  explicit PtxText(const PtxTarget& target);

  [[nodiscard]] const PtxTarget& target() const { return target_; }
  // Adds lines. In them "{label}" stands for the value of that name, which may contain other names, "{BlockRecord.sm}"
  // for the offset of a field in its struct, and "{BlockRecord}" for the size of the struct. Other braces are PTX.
  void add(std::string_view lines, const Values& values = {});
  // Adds lines `times` times. "{i}" counts them.
  void repeat(std::uint32_t times, std::string_view lines);
  // Adds one line, for code that repeats with other numbers.
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  PtxTarget target_;
  std::string text_;
};

// Begins a kernel that takes the struct `parameters`, and its body. `directives`: about its threads and registers.
void begin_kernel(PtxText& text, std::string_view name, std::string_view parameters, std::string_view directives = "");
void end_kernel(PtxText& text);

// Loads fields of the struct `type` at `address`, a register, into registers of the same names. `fields`: words, of the
// form "hop=hop_bytes" if the register has another name.
void load_fields(PtxText& text, std::string_view opcode, std::string_view address, std::string_view type,
                 std::string_view fields);
// The same for the kernel's parameters.
void load_parameters(PtxText& text, std::string_view type, std::string_view fields);

// Moves the register `pointer` to element `index`, a register, of an array of structs. Uses %wide.
void move_to_element(PtxText& text, std::string_view pointer, std::string_view index, std::string_view type);
// Writes the first thread's clocks (%globaltimer, then %clock64) to the BlockRecord at `record`. `moment`: "start" or
// "end". Uses %stamp and %first_thread.
void stamp_clocks(PtxText& text, std::string_view moment, std::string_view record = "%records",
                  std::string_view opcode = "st.global");
// Exits through EXIT unless this block is the first to claim the BlockRecord at `record`.
void claim_record(PtxText& text, std::string_view record);
// Keeps a block on an unwanted SM, so that no other block takes its place there, then ends the kernel.
void linger_and_exit(PtxText& text, std::string_view label);

// The opcode prefix of a load from a space, without its type: "ld.global.ca". Not for textures.
[[nodiscard]] std::string_view load_opcode(Space space);
// The same for a load of a chain. From sm_70 on, an explicit .ca makes a load ordered among the threads of its block.
// It then takes longer than an ordinary load (on an H200 38.6 cycles instead of 32, its only difference to
// ld.global.nc). Ordinary loads are cached in L1 there anyway. Before sm_70, ".ca" requests caching and orders nothing.
[[nodiscard]] std::string_view chain_load_opcode(const PtxTarget& target, Space space);

}  // namespace gputopo::cuda
