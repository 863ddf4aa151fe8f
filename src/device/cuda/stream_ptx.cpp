#include "device/cuda/stream_ptx.h"

#include <algorithm>
#include <vector>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

// Fewest accesses of a thread in one iteration of a loop, to spread the loop's own cost.
constexpr std::uint32_t kMinBodyAccesses = 8;
// Longest body without an inner loop. Longer bodies gain nothing and exceed the instruction cache.
constexpr std::uint32_t kMaxBodyAccesses = 64;
// 32-bit registers that all threads of a block share, and those that a thread needs besides the data of its accesses.
constexpr std::uint32_t kRegisters = 65536;
constexpr std::uint32_t kOtherRegisters = 24;

bool reads(const StreamShape& shape) { return shape.op != StreamOp::kWrite; }
bool writes(const StreamShape& shape) { return shape.op != StreamOp::kRead; }

// Threads with addresses of their own. The constant bank is built for one pattern only: a warp reads one address.
std::uint32_t lanes(const StreamShape& shape) {
  return shape.space == Space::kConstant ? shape.threads_per_block / 32 : shape.threads_per_block;
}

// A row is one access of every lane.
std::uint64_t row_bytes(const StreamShape& shape) { return std::uint64_t{lanes(shape)} * shape.vector_bytes; }
std::uint64_t slice_rows(const StreamShape& shape) { return shape.slice_bytes / row_bytes(shape); }

constexpr std::string_view kStreamRegisters =
    R"(  .reg .pred %first_thread, %done, %more, %wrap, %partial;
  .reg .b32 %thread_id, %block, %grid, %sm, %lane, %texel, %unused1, %unused2, %unused3, %never, %rounds, %singles, %todo_rounds, %todo_singles, %turns, %phase;
  .reg .b32 %tiles, %visits, %step, %shift, %step_shift, %step_and_shift, %position, %moved, %index, %rest, %vector, %advance, %target_tiles, %target_index;
  .reg .b32 %ptr32, %from32, %target32, %zero32, %delta32;
  .reg .b32 %sum0, %sum1, %sum2, %sum3;
  .reg .b64 %source, %delta, %result, %texture, %zero, %ptr64, %from64, %target64, %wide, %stamp, %lane_bytes;)";

constexpr std::string_view kSetStreamRegisters = R"(
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
  mov.u32 %sum3, 0;)";

constexpr std::string_view kEpilogue = R"(bar.sync 0;
mov.u64 %stamp, %clock64;
@%first_thread st.global.u64 [%result + {BlockRecord.end_cycles}], %stamp;
mov.u64 %stamp, %globaltimer;
@%first_thread st.global.u64 [%result + {BlockRecord.end_ns}], %stamp;
@%first_thread st.global.u32 [%result + {BlockRecord.sm}], %sm;
xor.b32 %sum0, %sum0, %sum1;
xor.b32 %sum2, %sum2, %sum3;
xor.b32 %sum0, %sum0, %sum2;
setp.eq.u32 %more, %sum0, %never;
@%more st.global.u32 [%result + {BlockRecord.sink}], %sum0;
ret;
})";

constexpr std::string_view kFirstTile = R"(
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
  selp.u32 %index, %advance, %index, %wrap;)";

constexpr std::string_view kTargetTile = R"(rem.u32 %target_index, %index, %target_tiles;
mad.wide.u32 %target64, %target_index, {tile_bytes}, %from64;
add.u64 %target64, %target64, %delta;)";

constexpr std::string_view kNextTile = R"(
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
TILES_DONE:)";

constexpr std::string_view kBeginRest = R"(setp.eq.u32 %done, %rest, 0;
@%done bra REST_DONE;
mul.wide.u32 %wide, %tiles, {tile_bytes};
add.u64 %from64, %source, %wide;
mul.lo.u32 %lane, %tiles, {tile_units};
mul.lo.u32 %advance, %grid, {threads};
REST:
mad.lo.u32 %vector, %block, {threads}, %thread_id;
REST_VECTOR:
.pragma "nounroll";
setp.ge.u32 %done, %vector, %rest;
@%done bra REST_PASSED;
mov.u32 %index, %vector;)";

constexpr std::string_view kEndRest = R"(add.u32 %vector, %vector, %advance;
bra REST_VECTOR;
REST_PASSED:
add.u64 %from64, %from64, %zero;
add.u32 %lane, %lane, %zero32;
sub.u32 %rounds, %rounds, 1;
setp.ne.u32 %more, %rounds, 0;
@%more bra REST;
REST_DONE:)";

// Turns %lane_bytes and %block into the address of this lane's part of the block's slice. The constant bank starts at 0
// of its window, which the chase kernel checks.
std::string_view slice_origin(Space space) {
  switch (space) {
    case Space::kShared:
      return "mov.u32 %from32, dynamic_shared;\ncvt.u32.u64 %ptr32, %lane_bytes;\nadd.u32 %from32, %from32, %ptr32;";
    case Space::kConstant:
      return "cvt.u32.u64 %from32, %lane_bytes;";
    case Space::kTexture:
      return "mad.lo.u32 %from32, %block, {slice_units}, %lane;";
    default:
      return R"(mul.wide.u32 %wide, %block, {slice_bytes};
add.u64 %from64, %source, %wide;
add.u64 %from64, %from64, %lane_bytes;)";
  }
}

class StreamKernel {
 public:
  StreamKernel(const PtxTarget& target, const StreamShape& shape)
      : shape_(shape),
        words_(shape.vector_bytes / 4),
        group_(std::min(shape.loads_in_flight, (kRegisters / shape.threads_per_block - kOtherRegisters) / words_)),
        text_(target) {}

  std::string generate() {
    prologue();
    shape_.slice_bytes != 0 ? per_block() : shared_array();
    // Stores count only once they have arrived.
    if (writes(shape_)) text_.add("membar.gl;");
    text_.add(kEpilogue);
    return text_.take();
  }

 private:
  // Adds lines in which names stand for the registers that hold an address of this space.
  void add(std::string_view lines, PtxText::Values values = {}) {
    const bool wide = wide_addresses();
    values.insert(values.end(), {{"type", wide ? "u64" : "u32"},
                                 {"pointer", pointer()},
                                 {"origin", wide ? "%from64" : "%from32"},
                                 {"target", target()},
                                 {"delta", wide ? "%delta" : "%delta32"},
                                 {"zero", wide ? "%zero" : "%zero32"}});
    text_.add(lines, values);
  }
  [[nodiscard]] bool wide_addresses() const {
    return shape_.space != Space::kConstant && shape_.space != Space::kShared && shape_.space != Space::kTexture;
  }
  // Registers for the start of a group of accesses in this space: this lane's part of row 0 (an address, or the index
  // of a texel), and the same for a copy's target.
  [[nodiscard]] std::string_view pointer() const { return wide_addresses() ? "%ptr64" : "%ptr32"; }
  [[nodiscard]] std::string_view target() const { return wide_addresses() ? "%target64" : "%target32"; }
  [[nodiscard]] bool texture() const { return shape_.space == Space::kTexture; }
  // Addresses count bytes, but texels (one vector each) for textures.
  [[nodiscard]] std::uint64_t units(std::uint64_t bytes) const {
    return texture() ? bytes / shape_.vector_bytes : bytes;
  }

  [[nodiscard]] std::string registers(std::uint32_t slot) const {
    if (words_ == 1) return fmt::format("%v{}_0", slot);
    std::string list = fmt::format("{{%v{}_0", slot);
    for (std::uint32_t word = 1; word < words_; ++word) list += fmt::format(", %v{}_{}", slot, word);
    return list + "}";
  }
  [[nodiscard]] std::string_view vector_type() const { return words_ == 4 ? "v4.u32" : words_ == 2 ? "v2.u32" : "u32"; }

  void load(std::uint32_t slot, std::uint64_t offset_units, std::string_view predicate) {
    if (!texture()) {
      text_.line("{} {}.{} {}, [{} + {}];", predicate, load_opcode(shape_.space), vector_type(), registers(slot),
                 pointer(), offset_units);
      return;
    }
    // A texel of fewer than four words leaves the others undefined.
    std::string list;
    for (std::uint32_t word = 0; word < 4; ++word) {
      list += word < words_ ? fmt::format("{}%v{}_{}", word == 0 ? "" : ", ", slot, word)
                            : fmt::format(", %unused{}", word);
    }
    text_.line("{} add.u32 %texel, %ptr32, {};\n{} tex.1d.v4.s32.s32 {{{}}}, [%texture, {{%texel}}];", predicate,
               offset_units, predicate, list);
  }

  void store(std::uint32_t slot, std::uint64_t offset_units, std::string_view predicate) {
    const std::string_view opcode = shape_.space == Space::kShared           ? "st.shared"
                                    : shape_.space == Space::kGlobalBypassL1 ? "st.global.cg"
                                                                             : "st.global.wb";
    text_.line("{} {}.{} [{} + {}], {};", predicate, opcode, vector_type(),
               shape_.op == StreamOp::kCopy ? target() : pointer(), offset_units, registers(slot));
  }

  // Accesses `offsets` (in units), group_ at a time. All loads of a group come before the first use of one.
  void accesses(const std::vector<std::uint64_t>& offsets, std::string_view predicate = "") {
    for (std::size_t first = 0; first < offsets.size(); first += group_) {
      const std::size_t end = std::min<std::size_t>(offsets.size(), first + group_);
      const auto slot = [&](std::size_t i) { return reads(shape_) ? static_cast<std::uint32_t>(i - first) : 0u; };
      for (std::size_t i = first; reads(shape_) && i < end; ++i) load(slot(i), offsets[i], predicate);
      for (std::size_t i = first; i < end; ++i) {
        if (writes(shape_)) {
          store(slot(i), offsets[i], predicate);
        } else {
          for (std::uint32_t word = 0; word < words_; ++word) {
            text_.line("{} xor.b32 %sum{}, %sum{}, %v{}_{};", predicate, word, word, slot(i), word);
          }
        }
      }
    }
  }

  void rows(std::uint64_t count) {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t row = 0; row < count; ++row) offsets.push_back(units(row * row_bytes(shape_)));
    accesses(offsets);
  }

  // Without .minnctapersm, ptxas aims at two blocks for each SM and saves registers, which reduces the loads in flight.
  void prologue() {
    begin_kernel(text_, "stream", "StreamParameters",
                 fmt::format(".maxntid {}, 1, 1\n.minnctapersm 1", shape_.threads_per_block));
    text_.add(kStreamRegisters);
    for (std::uint32_t slot = 0; slot < group_; ++slot) {
      for (std::uint32_t word = 0; word < words_; ++word) text_.line("  .reg .b32 %v{}_{};", slot, word);
    }
    load_parameters(text_, "StreamParameters",
                    "source delta=target_delta result=records texture zero never rounds singles tiles visits step "
                    "shift step_shift rest=rest_vectors target_tiles");
    text_.add(kSetStreamRegisters);
    move_to_element(text_, "%result", "%block", "BlockRecord");
    for (std::uint32_t word = 0; word < words_ && !reads(shape_); ++word) {
      text_.line("add.u32 %v0_{0}, %thread_id, {0};", word);
    }
    const bool by_warp = shape_.space == Space::kConstant;
    text_.add(by_warp ? "shr.u32 %lane, %thread_id, 5;" : "mov.u32 %lane, %thread_id;");
    text_.line("mul.wide.u32 %lane_bytes, %lane, {};", shape_.vector_bytes);
  }

  void begin_time() {
    text_.add("bar.sync 0;");
    stamp_clocks(text_, "start", "%result");
  }

  // Sets the copy's target to match the pointer.
  void aim() {
    if (shape_.op == StreamOp::kCopy) add("add.{type} {target}, {pointer}, {delta};");
  }

  // One pass over the slice. The address moves by a hidden zero, or the compiler would read once for all passes.
  void pass(const std::string& label) {
    const std::uint64_t all_rows = slice_rows(shape_);
    const std::uint64_t body_rows = all_rows <= kMaxBodyAccesses ? all_rows : stream_body_accesses(shape_);
    const std::uint64_t turns = body_rows == 0 ? 0 : all_rows / body_rows;
    add("add.{type} {origin}, {origin}, {zero};\nmov.{type} {pointer}, {origin};");
    aim();
    if (turns == 1) {
      rows(body_rows);
    } else if (turns > 1) {
      text_.add(R"(mov.u32 %turns, {turns};
{label}_TURN:
.pragma "nounroll";)",
                {{"turns", turns}, {"label", label}});
      rows(body_rows);
      add("add.{type} {pointer}, {pointer}, {turn};", {{"turn", units(body_rows * row_bytes(shape_))}});
      aim();
      text_.add(R"(sub.u32 %turns, %turns, 1;
setp.ne.u32 %more, %turns, 0;
@%more bra {label}_TURN;)",
                {{"label", label}});
      rows(all_rows % body_rows);
    }
    if (shape_.slice_bytes % row_bytes(shape_) != 0) {
      const std::uint64_t behind = turns <= 1 ? all_rows : all_rows % body_rows;
      accesses({units(behind * row_bytes(shape_))}, "@%partial");
    }
  }

  // Every block goes over its slice: once untimed, to load caches and instructions, then %rounds times.
  void per_block() {
    text_.add(slice_origin(shape_.space),
              {{"slice_units", units(shape_.slice_bytes)}, {"slice_bytes", shape_.slice_bytes}});
    const std::uint64_t partial_lanes = shape_.slice_bytes % row_bytes(shape_) / shape_.vector_bytes;
    text_.add(R"(setp.lt.u32 %partial, %lane, {partial_lanes};
mov.u32 %todo_rounds, %rounds;
mov.u32 %todo_singles, %singles;
min.u32 %rounds, %rounds, 1;
min.u32 %singles, %singles, 1;
PHASE:)",
              {{"partial_lanes", partial_lanes}});
    begin_time();
    loop("ROUND", "%rounds", stream_body_passes(shape_));
    loop("SINGLE", "%singles", 1);
    // The timed phase takes the remaining counts and leaves none for a third phase.
    text_.add(R"(or.b32 %phase, %todo_rounds, %todo_singles;
mov.u32 %rounds, %todo_rounds;
mov.u32 %singles, %todo_singles;
mov.u32 %todo_rounds, 0;
mov.u32 %todo_singles, 0;
setp.ne.u32 %more, %phase, 0;
@%more bra PHASE;)");
  }

  // Makes `passes` passes over the slice, repeated `counter` (a register) times.
  void loop(const std::string& label, std::string_view counter, std::uint32_t passes) {
    text_.add(R"(setp.eq.u32 %done, {counter}, 0;
@%done bra {label}_DONE;
{label}:
.pragma "nounroll";)",
              {{"counter", counter}, {"label", label}});
    for (std::uint32_t i = 0; i < passes; ++i) pass(fmt::format("{}_PASS{}", label, i));
    text_.add(R"(sub.u32 {counter}, {counter}, 1;
setp.ne.u32 %more, {counter}, 0;
@%more bra {label};
{label}_DONE:)",
              {{"counter", counter}, {"label", label}});
  }

  // Turns %index (of a tile or a vector) into an address. Does not set a copy's target.
  void locate(std::uint64_t bytes) {
    text_.add(
        texture() ? "mad.lo.u32 %ptr32, %index, {units}, %lane;" : "mad.wide.u32 %ptr64, %index, {bytes}, %from64;",
        {{"units", units(bytes)}, {"bytes", bytes}});
  }

  // All blocks take turns at the tiles of one array. Every visit takes the same time for any number of tiles, because
  // the passes over the array follow one another without a gap.
  void shared_array() {
    const PtxText::Values values = {{"tile_bytes", stream_tile_bytes(shape_)},
                                    {"tile_units", units(stream_tile_bytes(shape_))},
                                    {"threads", shape_.threads_per_block}};
    text_.add("add.u64 %from64, %source, %lane_bytes;");
    begin_time();
    text_.add(kFirstTile);
    locate(stream_tile_bytes(shape_));
    if (shape_.op == StreamOp::kCopy) text_.add(kTargetTile, values);
    rows(stream_body_accesses(shape_));
    text_.add(kNextTile);
    // The rest of the array behind the last tile, vector by vector.
    text_.add(kBeginRest, values);
    locate(shape_.vector_bytes);
    aim();
    accesses({0});
    text_.add(kEndRest);
  }

  const StreamShape shape_;
  const std::uint32_t words_;
  const std::uint32_t group_;  // accesses in flight: as requested, as far as the registers allow
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
  return StreamKernel(target, shape).generate();
}

}  // namespace gputopo::cuda
