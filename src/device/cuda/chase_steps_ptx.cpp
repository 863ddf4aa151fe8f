#include "device/cuda/chase_steps_ptx.h"

#include <bit>

#include "device/cuda/kernel_layout.h"
#include "gputopo/program/unrolled_loads.h"

namespace gputopo::cuda {
namespace {

constexpr auto kUnroll = static_cast<std::uint32_t>(kUnrolledLoads);

static_assert(std::has_single_bit(kHistogramBinCycles) && std::has_single_bit(kStepCodes));

bool has_pointer_links(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1 || space == Space::kReadOnly;
}

// Runs the dry pass, then the counted one, for which %hot switches the loads on.
constexpr std::string_view kBeginPasses = R"({name}:
mov.u32 %passes, %dry_passes;
{name}_PASS:
setp.eq.u32 %hot, %passes, 0;
selp.u32 %todo, %loads, {dry_loads}, %hot;)";

constexpr std::string_view kEndPasses = R"(mov.u64 %time1, %clock64;
@%hot bra STEP_DONE;
sub.u32 %passes, %passes, 1;
bra {name}_PASS;)";

constexpr std::string_view kWarm = R"({begin_passes}
{start_chain}
and.b32 %rest, %todo, {unroll_mask};
shr.u32 %todo, %todo, {unroll_shift};
mov.u64 %time0, %clock64;
setp.eq.u32 %done, %rest, 0;
@%done bra {name}_REST_DONE;
{name}_REST:
.pragma "nounroll";
@%hot {follow}
sub.u32 %rest, %rest, 1;
setp.ne.u32 %more, %rest, 0;
@%more bra {name}_REST;
{name}_REST_DONE:
setp.eq.u32 %done, %todo, 0;
@%done bra {name}_DONE;
{name}_LOOP:
.pragma "nounroll";
{follow_many}sub.u32 %todo, %todo, 1;
setp.ne.u32 %more, %todo, 0;
@%more bra {name}_LOOP;
{name}_DONE:
{wait_for_link}
{end_passes})";

// Loads a link, predicated by %live, between two clock readings; the difference is %latency. The code that sets %live
// stands between the two parts.
constexpr std::string_view kReadClock = "mov.u64 %stamp, %clock64;\ncvt.u32.u64 %before, %stamp;";
constexpr std::string_view kTimedLoad = R"(@%live {access}
{wait_for_link}
mov.u64 %wide, %clock64;
sub.u64 %wide, %wide, %stamp;
min.u64 %wide, %wide, 4294967295;
cvt.u32.u64 %latency, %wide;)";

// Counts %latency in the histogram, unless the loads are off.
constexpr std::string_view kCountLatency = R"(shr.u32 %bin, %latency, {bin_shift};
min.u32 %bin, %bin, {last_bin};
shl.b32 %bin, %bin, 2;
add.u32 %bin, %bin, %histogram;
ld.shared.u32 %count, [%bin];
add.u32 %count, %count, %increment;
st.shared.u32 [%bin], %count;)";

constexpr std::string_view kBeginCounting = R"({begin_passes}
{start_chain}
selp.u32 %increment, 1, 0, %hot;
mov.u32 %index, 0;)";

constexpr std::string_view kEndCounting = R"(add.u32 %index, %index, 1;
setp.lt.u32 %more, %index, %todo;
@%more bra {name}_LOOP;
{end_passes})";

// Times every access and keeps the first latencies. %previous is 0, which ptxas does not know.
constexpr std::string_view kTimed = R"({begin_counting}
cvt.u64.u32 %previous, %zero32;
selp.u32 %keep_below, %cap, 0, %hot;
mov.u32 %slot, %latencies;
mov.u64 %time0, %clock64;
{name}_LOOP:
.pragma "nounroll";
{read_clock}
setp.ne.and.u32 %live, %before, %never, %hot;
{timed_load}
{count_latency}
setp.lt.u32 %keep, %index, %keep_below;
@%keep st.shared.u32 [%slot], %latency;
add.u32 %slot, %slot, 4;
{end_counting})";

// Follows each link twice and counts how much longer the first load took. The second load is predicated on %half, or
// ptxas would compute %half behind that load, before its clock is read.
constexpr std::string_view kPaired = R"({begin_counting}
mov.u64 %time0, %clock64;
{name}_LOOP:
.pragma "nounroll";
mov.u64 %previous, %pointer;
{read_clock}
setp.ne.and.u32 %live, %before, %never, %hot;
{timed_load}
add.u32 %half, %latency, {paired_zero};
setp.ne.and.u32 %more, %half, %never, %hot;
{read_clock}
setp.ne.and.u32 %live, %before, %never, %more;
{timed_load}
min.u32 %latency, %latency, %half;
sub.u32 %latency, %half, %latency;
{count_latency}
{end_counting})";

// Each thread touches every n-th element, n being the number of threads.
constexpr std::string_view kTouch = R"({name}:
mov.u64 %time0, %clock64;
add.u32 %half, %loads, 1;
shr.u32 %half, %half, 1;
mov.u32 %index, %thread_id;
mov.u32 %sum, 0;
setp.ne.u64 %more, %table, 0;
{name}_LOOP:
setp.ge.u32 %done, %index, %loads;
@%done bra {name}_DONE;
mov.u32 %element, %index;
mul.wide.u32 %wide, %index, 4;
add.u64 %wide, %wide, %table;
@%more ld.global.cg.u32 %element, [%wide];
cvt.u64.u32 %wide, %element;
mad.lo.u64 %pointer, %wide, %stride, %base;
mul.lo.u64 %wide, %wide, %stagger;
and.b64 %wide, %wide, %stagger_mask;
add.u64 %pointer, %pointer, %wide;
setp.ge.u32 %upper, %element, %half;
@%upper add.u64 %pointer, %pointer, %skew;
{touch}
xor.b32 %sum, %sum, %link;
add.u32 %index, %index, %thread_count;
bra {name}_LOOP;
{name}_DONE:
setp.eq.u32 %more, %sum, %never;
@%more st.global.u32 [%result + {BlockRecord.sink}], %sum;
bra STEP_END;)";

// Writes both links of each element: to the next one (%wide) and, in the other chain, to the one before (%previous).
constexpr std::string_view kStore = R"({begin_passes}
mov.u64 %pointer, %base;
sub.u32 %rest, %elements, 1;
cvt.u64.u32 %wide, %rest;
mad.lo.u64 %previous, %wide, %stride, %base;
mov.u32 %index, 0;
mov.u64 %time0, %clock64;
{name}_LOOP:
.pragma "nounroll";
add.u32 %index, %index, 1;
setp.eq.u32 %done, %index, %elements;
add.u64 %wide, %pointer, %stride;
selp.u64 %wide, %base, %wide, %done;
add.u64 %previous, %previous, 8;
@%hot {store} [%pointer], %wide;
@%hot {store} [%pointer + 8], %previous;
mov.u64 %previous, %pointer;
mov.u64 %pointer, %wide;
setp.lt.u32 %more, %index, %todo;
@%more bra {name}_LOOP;
{end_passes})";

std::string_view start_of_chain(Space space) {
  if (has_pointer_links(space)) return "mov.u64 %pointer, %start;";
  if (space == Space::kShared) return "cvt.u32.u64 %link, %start;\nadd.u32 %link, %link, %copy_to;";
  if (space == Space::kLocal) return "cvt.u32.u64 %link, %start;\nadd.u32 %link, %link, %local;";
  return "cvt.u32.u64 %link, %start;";
}

// One dependent load of the chain. It follows the link in %link (32 bits) or %pointer.
std::string follow(const PtxTarget& target, Space space) {
  if (space == Space::kTexture) {
    return "tex.1d.v4.s32.s32 {%link, %unused1, %unused2, %unused3}, [%texture, {%link}];";
  }
  const std::string load(chain_load_opcode(target, space));
  return load + (has_pointer_links(space) ? ".u64 %pointer, [%pointer];" : ".u32 %link, [%link];");
}

// A load of the element at %pointer.
std::string_view touch(Space space) {
  if (space == Space::kShared) {
    return "cvt.u64.u32 %wide, %copy_to;\nadd.u64 %pointer, %pointer, %wide;\n{load}.u32 %link, [%pointer];";
  }
  if (space == Space::kTexture) return "shr.u64 %pointer, %pointer, 2;\ncvt.u32.u64 %link, %pointer;\n{follow}";
  return "{load}.u32 %link, [%pointer];";
}

}  // namespace

std::vector<CodePath> code_paths(bool has_local) {
  std::vector<CodePath> paths;
  for (const Space space : kCudaSpaces) {
    if (space == Space::kLocal && !has_local) continue;
    const auto add = [&](StepCode step, std::string_view name, std::string_view lines, std::string_view access = "") {
      const std::uint32_t code = static_cast<std::uint32_t>(step) + kStepCodes * static_cast<std::uint32_t>(space);
      paths.push_back({code, fmt::format("{}_{}", name, to_string(space)), lines, access, space});
    };
    add(StepCode::kWarm, "WARM", kWarm);
    if (space != Space::kLocal) add(StepCode::kTouch, "TOUCH", kTouch);
    add(StepCode::kTimed, "TIMED", kTimed, "{follow}");
    if (!is_global(space)) continue;
    add(StepCode::kStore, "STORE", kStore);
    add(StepCode::kPaired, "PAIRED", kPaired, "{load}.u64 %pointer, [%previous];");
    if (space != Space::kGlobalBypassL1) continue;
    // The atomic adds zero and so returns the link.
    add(StepCode::kAtomic, "ATOMIC", kTimed, "atom.global.add.u64 %pointer, [%pointer], %previous;");
  }
  return paths;
}

void add_code_path(PtxText& text, const CodePath& path) {
  const Space space = path.space;
  const std::string_view lost =
      has_pointer_links(space) ? "setp.eq.u64 %lost, %pointer, 0;\n" : "setp.eq.u32 %lost, %link, {no_link};\n";
  std::string follow_many;
  for (std::uint32_t i = 0; i < kUnroll; ++i) follow_many += "@%hot {follow}\n";
  text.add(path.lines, {{"name", path.label},
                        {"access", path.access},
                        {"begin_passes", kBeginPasses},
                        {"end_passes", kEndPasses},
                        {"read_clock", kReadClock},
                        {"timed_load", kTimedLoad},
                        {"count_latency", kCountLatency},
                        {"begin_counting", kBeginCounting},
                        {"end_counting", kEndCounting},
                        {"start_chain", start_of_chain(space)},
                        {"follow", follow(text.target(), space)},
                        {"follow_many", follow_many},
                        // Exits if the last link was invalid, and holds back what follows until the link has arrived.
                        {"wait_for_link", fmt::format("{}@%lost bra STEP_ERROR;", lost)},
                        {"touch", touch(space)},
                        {"load", space == Space::kTexture ? "" : load_opcode(space)},
                        {"store", space == Space::kGlobal ? "st.global.u64" : "st.global.cg.u64"},
                        {"no_link", kNoLink},
                        {"dry_loads", path.lines == kWarm ? kUnroll + 1 : 1},
                        {"unroll_mask", kUnroll - 1},
                        {"unroll_shift", std::countr_zero(kUnroll)},
                        {"bin_shift", std::countr_zero(kHistogramBinCycles)},
                        {"last_bin", kHistogramBins - 1},
                        {"paired_zero", kPairedZeroCycles}});
}

}  // namespace gputopo::cuda
