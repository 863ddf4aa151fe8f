#include "device/cuda/stream_ptx.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

// Fewest accesses of a thread between two turns of a loop, to spread the loop's own cost.
constexpr std::uint32_t kMinBodyAccesses = 8;
// Longest body without an inner loop. Longer bodies gain nothing and leave the instruction cache.
constexpr std::uint32_t kMaxBodyAccesses = 64;
// 32-bit registers that all threads of a block share, and what a thread needs beside the data of its accesses.
constexpr std::uint32_t kRegisters = 65536;
constexpr std::uint32_t kOtherRegisters = 24;

bool reads(const StreamShape& shape) { return shape.op != StreamOp::kWrite; }
bool writes(const StreamShape& shape) { return shape.op != StreamOp::kRead; }

// Threads that access different addresses. In the constant bank all threads of a warp read the same one, which is the
// only pattern it is built for.
std::uint32_t lanes(const StreamShape& shape) {
  return shape.space == Space::kConstant ? shape.threads_per_block / 32 : shape.threads_per_block;
}

// A row is one access of every lane.
std::uint64_t row_bytes(const StreamShape& shape) { return std::uint64_t{lanes(shape)} * shape.vector_bytes; }
std::uint64_t slice_rows(const StreamShape& shape) { return shape.slice_bytes / row_bytes(shape); }

// Where a group of accesses begins: registers with the address (or texel index) of this lane's part of row 0.
struct Place {
  std::string_view source;
  std::string_view target;  // of a copy
};

class StreamKernel {
 public:
  explicit StreamKernel(const StreamShape& shape)
      : shape_(shape),
        words_(shape.vector_bytes / 4),
        group_(std::min(shape.loads_in_flight, (kRegisters / shape.threads_per_block - kOtherRegisters) / words_)) {}

  std::string generate() {
    prologue();
    if (shape_.slice_bytes != 0) {
      per_block();
    } else {
      shared_array();
    }
    epilogue();
    return text_.take();
  }

 private:
  [[nodiscard]] bool wide_addresses() const {
    return shape_.space != Space::kConstant && shape_.space != Space::kShared && shape_.space != Space::kTexture;
  }
  [[nodiscard]] bool texture() const { return shape_.space == Space::kTexture; }
  // Addresses are counted in bytes, but in texels (one vector each) for textures.
  [[nodiscard]] std::uint64_t units(std::uint64_t bytes) const {
    return texture() ? bytes / shape_.vector_bytes : bytes;
  }
  [[nodiscard]] std::string_view address_type() const { return wide_addresses() ? "u64" : "u32"; }

  [[nodiscard]] std::string registers(std::uint32_t slot) const {
    if (words_ == 1) return fmt::format("%v{}_0", slot);
    std::string list = fmt::format("{{%v{}_0", slot);
    for (std::uint32_t word = 1; word < words_; ++word) list += fmt::format(", %v{}_{}", slot, word);
    return list + "}";
  }
  [[nodiscard]] std::string_view vector_type() const { return words_ == 4 ? "v4.u32" : words_ == 2 ? "v2.u32" : "u32"; }

  void load(std::uint32_t slot, const Place& place, std::uint64_t offset_units, std::string_view predicate) {
    if (texture()) {
      text_.line("{} add.u32 %texel, {}, {};", predicate, place.source, offset_units);
      // A texel of fewer than four words leaves the others undefined.
      std::string list;
      for (std::uint32_t word = 0; word < 4; ++word) {
        list += word < words_ ? fmt::format("{}%v{}_{}", word == 0 ? "" : ", ", slot, word)
                              : fmt::format(", %unused{}", word);
      }
      text_.line("{} tex.1d.v4.s32.s32 {{{}}}, [%texture, {{%texel}}];", predicate, list);
      return;
    }
    text_.line("{} {}.{} {}, [{} + {}];", predicate, load_opcode(shape_.space), vector_type(), registers(slot),
               place.source, offset_units);
  }

  void store(std::uint32_t slot, const Place& place, std::uint64_t offset_units, std::string_view predicate) {
    const std::string_view opcode = shape_.space == Space::kShared           ? "st.shared"
                                    : shape_.space == Space::kGlobalBypassL1 ? "st.global.cg"
                                                                             : "st.global.wb";
    text_.line("{} {}.{} [{} + {}], {};", predicate, opcode, vector_type(),
               writes(shape_) && reads(shape_) ? place.target : place.source, offset_units, registers(slot));
  }

  // `offsets` (in units) are accessed group_ at a time: all loads of a group before the first use of one.
  void accesses(const Place& place, const std::vector<std::uint64_t>& offsets, std::string_view predicate = "") {
    for (std::size_t first = 0; first < offsets.size(); first += group_) {
      const std::size_t end = std::min<std::size_t>(offsets.size(), first + group_);
      const auto slot = [&](std::size_t i) { return reads(shape_) ? static_cast<std::uint32_t>(i - first) : 0u; };
      for (std::size_t i = first; reads(shape_) && i < end; ++i) load(slot(i), place, offsets[i], predicate);
      for (std::size_t i = first; i < end; ++i) {
        if (writes(shape_)) {
          store(slot(i), place, offsets[i], predicate);
        } else {
          for (std::uint32_t word = 0; word < words_; ++word) {
            text_.line("{} xor.b32 %sum{}, %sum{}, %v{}_{};", predicate, word, word, slot(i), word);
          }
        }
      }
    }
  }

  void rows(const Place& place, std::uint64_t count) {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t row = 0; row < count; ++row) offsets.push_back(units(row * row_bytes(shape_)));
    accesses(place, offsets);
  }

  void prologue() {
    kernel_line(text_, "stream", sizeof(StreamParameters));
    text_.line(".maxntid {}, 1, 1", shape_.threads_per_block);
    // Else ptxas aims at two blocks an SM, saves registers and with that loads in flight.
    text_.line(".minnctapersm 1");
    text_.raw(R"({
  .reg .pred %first_thread, %done, %more, %wrap, %partial;
  .reg .b32 %thread_id, %block, %grid, %sm, %lane, %texel, %unused1, %unused2, %unused3, %never, %rounds, %singles, %todo_rounds, %todo_singles, %turns, %phase;
  .reg .b32 %tiles, %visits, %step, %shift, %step_shift, %step_and_shift, %position, %moved, %index, %rest, %vector, %advance, %target_tiles, %target_index;
  .reg .b32 %ptr32, %from32, %target32, %zero32, %delta32;
  .reg .b32 %sum0, %sum1, %sum2, %sum3;
  .reg .b64 %source, %delta, %result, %texture, %zero, %ptr64, %from64, %target64, %wide, %stamp, %lane_bytes;
)");
    for (std::uint32_t slot = 0; slot < group_; ++slot) {
      for (std::uint32_t word = 0; word < words_; ++word) text_.line("  .reg .b32 %v{}_{};", slot, word);
    }
    const auto parameter = [&](std::string_view type, std::string_view reg, std::size_t offset) {
      load_parameter(text_, type, reg, offset);
    };
    parameter("u64", "%source", offsetof(StreamParameters, source));
    parameter("u64", "%delta", offsetof(StreamParameters, target_delta));
    parameter("u64", "%result", offsetof(StreamParameters, records));
    parameter("u64", "%texture", offsetof(StreamParameters, texture));
    parameter("u64", "%zero", offsetof(StreamParameters, zero));
    parameter("u32", "%never", offsetof(StreamParameters, never));
    parameter("u32", "%rounds", offsetof(StreamParameters, rounds));
    parameter("u32", "%singles", offsetof(StreamParameters, singles));
    parameter("u32", "%tiles", offsetof(StreamParameters, tiles));
    parameter("u32", "%visits", offsetof(StreamParameters, visits));
    parameter("u32", "%step", offsetof(StreamParameters, step));
    parameter("u32", "%shift", offsetof(StreamParameters, shift));
    parameter("u32", "%step_shift", offsetof(StreamParameters, step_shift));
    parameter("u32", "%rest", offsetof(StreamParameters, rest_vectors));
    parameter("u32", "%target_tiles", offsetof(StreamParameters, target_tiles));
    text_.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %grid, %nctaid.x;
  mov.u32 %sm, %smid;
  setp.eq.u32 %first_thread, %thread_id, 0;
  cvt.u32.u64 %zero32, %zero;
  cvt.u32.u64 %delta32, %delta;
  mov.u32 %sum0, 0;
  mov.u32 %sum1, 0;
  mov.u32 %sum2, 0;
  mov.u32 %sum3, 0;
)");
    text_.line("mul.wide.u32 %wide, %block, {};", sizeof(BlockRecord));
    text_.line("add.u64 %result, %result, %wide;");
    if (!reads(shape_)) {
      for (std::uint32_t word = 0; word < words_; ++word) text_.line("add.u32 %v0_{}, %thread_id, {};", word, word);
    }
    if (shape_.space == Space::kConstant) {
      text_.line("shr.u32 %lane, %thread_id, 5;");
    } else {
      text_.line("mov.u32 %lane, %thread_id;");
    }
    text_.line("mul.wide.u32 %lane_bytes, %lane, {};", shape_.vector_bytes);
  }

  void begin_time() {
    text_.line("bar.sync 0;");
    stamp_clocks(text_, "%result", offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  }

  void epilogue() {
    // Stores count once they have arrived.
    if (writes(shape_)) text_.line("membar.gl;");
    text_.line("bar.sync 0;");
    text_.line("mov.u64 %stamp, %clock64;");
    text_.line("@%first_thread st.global.u64 [%result + {}], %stamp;", offsetof(BlockRecord, end_cycles));
    text_.line("mov.u64 %stamp, %globaltimer;");
    text_.line("@%first_thread st.global.u64 [%result + {}], %stamp;", offsetof(BlockRecord, end_ns));
    text_.line("@%first_thread st.global.u32 [%result + {}], %sm;", offsetof(BlockRecord, sm));
    text_.line("xor.b32 %sum0, %sum0, %sum1;");
    text_.line("xor.b32 %sum2, %sum2, %sum3;");
    text_.line("xor.b32 %sum0, %sum0, %sum2;");
    text_.line("setp.eq.u32 %more, %sum0, %never;");
    text_.line("@%more st.global.u32 [%result + {}], %sum0;", offsetof(BlockRecord, sink));
    text_.line("ret;");
    text_.line("}}");
  }

  // Registers that hold an address of this space.
  [[nodiscard]] std::string_view pointer() const { return wide_addresses() ? "%ptr64" : "%ptr32"; }
  [[nodiscard]] std::string_view origin() const { return wide_addresses() ? "%from64" : "%from32"; }
  [[nodiscard]] Place here() const { return {pointer(), wide_addresses() ? "%target64" : "%target32"}; }

  // Sets the copy's target next to the pointer.
  void aim() {
    if (shape_.op != StreamOp::kCopy) return;
    text_.line("add.{} {}, {}, {};", address_type(), here().target, pointer(),
               wide_addresses() ? "%delta" : "%delta32");
  }

  // %lane_bytes and %block to the address of this lane's part of the block's slice.
  void slice_origin() {
    switch (shape_.space) {
      case Space::kShared:
        text_.line("mov.u32 %from32, dynamic_shared;");
        text_.line("cvt.u32.u64 %ptr32, %lane_bytes;");
        text_.line("add.u32 %from32, %from32, %ptr32;");
        break;
      case Space::kConstant:
        text_.line(
            "cvt.u32.u64 %from32, %lane_bytes;");  // the bank starts at 0 of its window; the chase kernel checks that
        break;
      case Space::kTexture:
        text_.line("mad.lo.u32 %from32, %block, {}, %lane;", units(shape_.slice_bytes));
        break;
      default:
        text_.line("mul.wide.u32 %wide, %block, {};", shape_.slice_bytes);
        text_.line("add.u64 %from64, %source, %wide;");
        text_.line("add.u64 %from64, %from64, %lane_bytes;");
    }
  }

  // One pass over the slice. The address moves by a zero that the compiler cannot see: else it would read once for all
  // passes.
  void pass(const std::string& label) {
    const std::uint64_t all_rows = slice_rows(shape_);
    const std::uint64_t body_rows = all_rows <= kMaxBodyAccesses ? all_rows : stream_body_accesses(shape_);
    const std::uint64_t turns = body_rows == 0 ? 0 : all_rows / body_rows;
    text_.line("add.{} {}, {}, {};", address_type(), origin(), origin(), wide_addresses() ? "%zero" : "%zero32");
    text_.line("mov.{} {}, {};", address_type(), pointer(), origin());
    aim();
    if (turns == 1) {
      rows(here(), body_rows);
    } else if (turns > 1) {
      text_.line("mov.u32 %turns, {};", turns);
      text_.line("{}_TURN:", label);
      text_.line(".pragma \"nounroll\";");
      rows(here(), body_rows);
      text_.line("add.{} {}, {}, {};", address_type(), pointer(), pointer(), units(body_rows * row_bytes(shape_)));
      aim();
      text_.line("sub.u32 %turns, %turns, 1;");
      text_.line("setp.ne.u32 %more, %turns, 0;");
      text_.line("@%more bra {}_TURN;", label);
      rows(here(), all_rows % body_rows);
    }
    if (shape_.slice_bytes % row_bytes(shape_) != 0) {
      const std::uint64_t behind = turns <= 1 ? all_rows : all_rows % body_rows;
      accesses(here(), {units(behind * row_bytes(shape_))}, "@%partial");
    }
  }

  // Every block goes over its slice: once untimed, so that caches and instructions are in place, then %rounds times.
  void per_block() {
    slice_origin();
    const std::uint64_t partial_lanes = shape_.slice_bytes % row_bytes(shape_) / shape_.vector_bytes;
    text_.line("setp.lt.u32 %partial, %lane, {};", partial_lanes);
    text_.line("mov.u32 %todo_rounds, %rounds;");
    text_.line("mov.u32 %todo_singles, %singles;");
    text_.line("min.u32 %rounds, %rounds, 1;");
    text_.line("min.u32 %singles, %singles, 1;");
    text_.line("PHASE:");
    begin_time();
    loop("ROUND", "%rounds", stream_body_passes(shape_));
    loop("SINGLE", "%singles", 1);
    // The phase that counts takes what was to be done, and leaves nothing for a third.
    text_.line("or.b32 %phase, %todo_rounds, %todo_singles;");
    text_.line("mov.u32 %rounds, %todo_rounds;");
    text_.line("mov.u32 %singles, %todo_singles;");
    text_.line("mov.u32 %todo_rounds, 0;");
    text_.line("mov.u32 %todo_singles, 0;");
    text_.line("setp.ne.u32 %more, %phase, 0;");
    text_.line("@%more bra PHASE;");
  }

  // `passes` passes over the slice, as often as `counter` (a register) says.
  void loop(const std::string& label, std::string_view counter, std::uint32_t passes) {
    text_.line("setp.eq.u32 %done, {}, 0;", counter);
    text_.line("@%done bra {}_DONE;", label);
    text_.line("{}:", label);
    text_.line(".pragma \"nounroll\";");
    for (std::uint32_t i = 0; i < passes; ++i) pass(fmt::format("{}_PASS{}", label, i));
    text_.line("sub.u32 {}, {}, 1;", counter, counter);
    text_.line("setp.ne.u32 %more, {}, 0;", counter);
    text_.line("@%more bra {};", label);
    text_.line("{}_DONE:", label);
  }

  // %index (of a tile or a vector) to an address. A copy's target is not set.
  void locate(std::uint64_t bytes) {
    if (texture()) {
      text_.line("mad.lo.u32 %ptr32, %index, {}, %lane;", units(bytes));
    } else {
      text_.line("mad.wide.u32 %ptr64, %index, {}, %from64;", bytes);
    }
  }

  // All blocks take turns at the tiles of one array. Every visit takes the same time whatever the number of tiles is,
  // because the passes over the array follow one another without a gap.
  void shared_array() {
    text_.line("add.u64 %from64, %source, %lane_bytes;");
    begin_time();
    text_.raw(R"(
  setp.ge.u32 %done, %block, %visits;
  @%done bra TILES_DONE;
  sub.u32 %turns, %visits, %block;
  add.u32 %turns, %turns, %grid;
  sub.u32 %turns, %turns, 1;
  div.u32 %turns, %turns, %grid;
  rem.u32 %position, %block, %tiles;
  div.u32 %moved, %block, %tiles;
  mul.lo.u32 %moved, %moved, %shift;
  rem.u32 %moved, %moved, %tiles;
  add.u32 %step_and_shift, %step_shift, %shift;
  rem.u32 %step_and_shift, %step_and_shift, %tiles;
TILE:
  .pragma "nounroll";
  add.u32 %index, %position, %moved;
  sub.u32 %advance, %index, %tiles;
  setp.ge.u32 %wrap, %index, %tiles;
  selp.u32 %index, %advance, %index, %wrap;
)");
    locate(stream_tile_bytes(shape_));
    if (shape_.op == StreamOp::kCopy) {
      text_.line("rem.u32 %target_index, %index, %target_tiles;");
      text_.line("mad.wide.u32 %target64, %target_index, {}, %from64;", stream_tile_bytes(shape_));
      text_.line("add.u64 %target64, %target64, %delta;");
    }
    rows(here(), stream_body_accesses(shape_));
    text_.raw(R"(
  add.u32 %position, %position, %step;
  sub.u32 %advance, %position, %tiles;
  setp.ge.u32 %wrap, %position, %tiles;
  selp.u32 %position, %advance, %position, %wrap;
  selp.u32 %advance, %step_and_shift, %step_shift, %wrap;
  add.u32 %moved, %moved, %advance;
  sub.u32 %advance, %moved, %tiles;
  setp.ge.u32 %wrap, %moved, %tiles;
  selp.u32 %moved, %advance, %moved, %wrap;
  sub.u32 %turns, %turns, 1;
  setp.ne.u32 %more, %turns, 0;
  @%more bra TILE;
TILES_DONE:
)");
    // What is left of the array behind the last tile, vector by vector.
    text_.line("setp.eq.u32 %done, %rest, 0;");
    text_.line("@%done bra REST_DONE;");
    text_.line("mul.wide.u32 %wide, %tiles, {};", stream_tile_bytes(shape_));
    text_.line("add.u64 %from64, %source, %wide;");
    text_.line("mul.lo.u32 %lane, %tiles, {};", units(stream_tile_bytes(shape_)));
    text_.line("mul.lo.u32 %advance, %grid, {};", shape_.threads_per_block);
    text_.line("REST:");
    text_.line("mad.lo.u32 %vector, %block, {}, %thread_id;", shape_.threads_per_block);
    text_.line("REST_VECTOR:");
    text_.line(".pragma \"nounroll\";");
    text_.line("setp.ge.u32 %done, %vector, %rest;");
    text_.line("@%done bra REST_PASSED;");
    text_.line("mov.u32 %index, %vector;");
    locate(shape_.vector_bytes);
    aim();
    accesses(here(), {0});
    text_.line("add.u32 %vector, %vector, %advance;");
    text_.line("bra REST_VECTOR;");
    text_.line("REST_PASSED:");
    text_.line("add.u64 %from64, %from64, %zero;");
    text_.line("add.u32 %lane, %lane, %zero32;");
    text_.line("sub.u32 %rounds, %rounds, 1;");
    text_.line("setp.ne.u32 %more, %rounds, 0;");
    text_.line("@%more bra REST;");
    text_.line("REST_DONE:");
  }

  const StreamShape shape_;
  const std::uint32_t words_;
  const std::uint32_t group_;  // accesses in flight: as asked, as far as the registers go
  PtxText text_;
};

}  // namespace

std::uint32_t stream_body_accesses(const StreamShape& shape) {
  const std::uint32_t groups = (kMinBodyAccesses + shape.loads_in_flight - 1) / shape.loads_in_flight;
  return groups * shape.loads_in_flight;
}

std::uint64_t stream_tile_bytes(const StreamShape& shape) { return stream_body_accesses(shape) * row_bytes(shape); }

std::uint32_t stream_body_passes(const StreamShape& shape) {
  const std::uint64_t per_pass = slice_rows(shape) + (shape.slice_bytes % row_bytes(shape) != 0 ? 1 : 0);
  const std::uint64_t wanted = std::max(shape.loads_in_flight, kMinBodyAccesses);
  return static_cast<std::uint32_t>((wanted + per_pass - 1) / per_pass);
}

std::string generate_stream_ptx(const PtxTarget& target, const StreamShape& shape) {
  return module_header(target) + StreamKernel(shape).generate();
}

}  // namespace gputopo::cuda
