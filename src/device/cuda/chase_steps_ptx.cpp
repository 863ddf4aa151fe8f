#include "device/cuda/chase_steps_ptx.h"

#include <bit>
#include <cstddef>

#include "device/cuda/kernel_layout.h"
#include "gputopo/program/unrolled_loads.h"

namespace gputopo::cuda {
namespace {

constexpr auto kUnroll = static_cast<std::uint32_t>(kUnrolledLoads);

static_assert(std::has_single_bit(kHistogramBinCycles) && std::has_single_bit(kStepCodes));

bool has_pointer_links(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1 || space == Space::kReadOnly;
}

// One dependent load of the chain, predicated: follows the link in %link (32 bits) or %pointer.
std::string follow(const PtxText& text, Space space, std::string_view predicate) {
  if (space == Space::kTexture) {
    return fmt::format("@{} tex.1d.v4.s32.s32 {{%link, %unused1, %unused2, %unused3}}, [%texture, {{%link}}];",
                       predicate);
  }
  if (has_pointer_links(space))
    return fmt::format("@{} {}.u64 %pointer, [%pointer];", predicate, chain_load_opcode(text.target(), space));
  return fmt::format("@{} {}.u32 %link, [%link];", predicate, chain_load_opcode(text.target(), space));
}

void start_chain(PtxText& text, Space space) {
  if (has_pointer_links(space)) {
    text.line("mov.u64 %pointer, %start;");
  } else {
    text.line("cvt.u32.u64 %link, %start;");
    if (space == Space::kShared) text.line("add.u32 %link, %link, %copy_to;");
    if (space == Space::kLocal) text.line("add.u32 %link, %link, %local;");
  }
}

// Leaves through STEP_ERROR when the last link was none, and holds what follows back until that link has arrived.
void wait_for_link(PtxText& text, Space space) {
  if (has_pointer_links(space)) {
    text.line("setp.eq.u64 %lost, %pointer, 0;");
  } else {
    text.line("setp.eq.u32 %lost, %link, {};", kNoLink);
  }
  text.line("@%lost bra STEP_ERROR;");
}

// The dry pass, then the one that counts: sets %hot, which switches the loads on.
void begin_passes(PtxText& text, const std::string& name, std::uint32_t dry_loads) {
  text.line("mov.u32 %passes, %dry_passes;");
  text.line("{}_PASS:", name);
  text.line("setp.eq.u32 %hot, %passes, 0;");
  text.line("selp.u32 %todo, %loads, {}, %hot;", dry_loads);
}

void end_passes(PtxText& text, const std::string& name) {
  text.line("mov.u64 %time1, %clock64;");
  text.line("@%hot bra STEP_DONE;");
  text.line("sub.u32 %passes, %passes, 1;");
  text.line("bra {}_PASS;", name);
}

void warm_code(PtxText& text, const std::string& name, Space space) {
  text.line("{}:", name);
  begin_passes(text, name, kUnroll + 1);
  start_chain(text, space);
  text.line("and.b32 %rest, %todo, {};", kUnroll - 1);
  text.line("shr.u32 %todo, %todo, {};", std::countr_zero(kUnroll));
  text.line("mov.u64 %time0, %clock64;");
  text.line("setp.eq.u32 %done, %rest, 0;");
  text.line("@%done bra {}_REST_DONE;", name);
  text.line("{}_REST:", name);
  text.line(".pragma \"nounroll\";");
  text.line("{}", follow(text, space, "%hot"));
  text.line("sub.u32 %rest, %rest, 1;");
  text.line("setp.ne.u32 %more, %rest, 0;");
  text.line("@%more bra {}_REST;", name);
  text.line("{}_REST_DONE:", name);
  text.line("setp.eq.u32 %done, %todo, 0;");
  text.line("@%done bra {}_DONE;", name);
  text.line("{}_LOOP:", name);
  text.line(".pragma \"nounroll\";");
  for (std::uint32_t i = 0; i < kUnroll; ++i) text.line("{}", follow(text, space, "%hot"));
  text.line("sub.u32 %todo, %todo, 1;");
  text.line("setp.ne.u32 %more, %todo, 0;");
  text.line("@%more bra {}_LOOP;", name);
  text.line("{}_DONE:", name);
  wait_for_link(text, space);
  end_passes(text, name);
}

// A load of a link, predicated by %live, between two readings of the clock: %latency. `condition`: a predicate that it
// waits for.
void timed_load(PtxText& text, Space space, const std::string& load, std::string_view condition) {
  text.line("mov.u64 %stamp, %clock64;");
  text.line("cvt.u32.u64 %before, %stamp;");
  text.line("setp.ne.and.u32 %live, %before, %never, {};", condition);
  text.line("{}", load);
  wait_for_link(text, space);
  text.line("mov.u64 %wide, %clock64;");
  text.line("sub.u64 %wide, %wide, %stamp;");
  text.line("min.u64 %wide, %wide, {};", 0xffffffffu);
  text.line("cvt.u32.u64 %latency, %wide;");
}

// Counts %latency in the histogram, unless the loads are off.
void count_latency(PtxText& text) {
  text.line("shr.u32 %bin, %latency, {};", std::countr_zero(kHistogramBinCycles));
  text.line("min.u32 %bin, %bin, {};", kHistogramBins - 1);
  text.line("shl.b32 %bin, %bin, 2;");
  text.line("add.u32 %bin, %bin, %histogram;");
  text.line("ld.shared.u32 %count, [%bin];");
  text.line("add.u32 %count, %count, %increment;");
  text.line("st.shared.u32 [%bin], %count;");
}

// The loop of a step that counts: `begin` before the first element, `body` for each. %increment and %index are theirs.
template <typename Begin, typename Body>
void counting_loop(PtxText& text, const std::string& name, Space space, Begin begin, Body body) {
  text.line("{}:", name);
  begin_passes(text, name, 1);
  start_chain(text, space);
  text.line("selp.u32 %increment, 1, 0, %hot;");
  text.line("mov.u32 %index, 0;");
  begin();
  text.line("mov.u64 %time0, %clock64;");
  text.line("{}_LOOP:", name);
  text.line(".pragma \"nounroll\";");
  body();
  text.line("add.u32 %index, %index, 1;");
  text.line("setp.lt.u32 %more, %index, %todo;");
  text.line("@%more bra {}_LOOP;", name);
  end_passes(text, name);
}

// Every access of `follow` is timed, and the first are kept. %previous is 0, which ptxas does not know.
void kept_code(PtxText& text, const std::string& name, Space space, const std::string& follow) {
  const auto begin = [&] {
    text.line("cvt.u64.u32 %previous, %zero32;");
    text.line("selp.u32 %keep_below, %cap, 0, %hot;");
    text.line("mov.u32 %slot, %latencies;");
  };
  counting_loop(text, name, space, begin, [&] {
    timed_load(text, space, follow, "%hot");
    count_latency(text);
    text.line("setp.lt.u32 %keep, %index, %keep_below;");
    text.line("@%keep st.shared.u32 [%slot], %latency;");
    text.line("add.u32 %slot, %slot, 4;");
  });
}

void timed_code(PtxText& text, const std::string& name, Space space) {
  kept_code(text, name, space, follow(text, space, "%live"));
}

// The link comes from an addition of zero.
void atomic_code(PtxText& text, const std::string& name, Space space) {
  kept_code(text, name, space, "@%live atom.global.add.u64 %pointer, [%pointer], %previous;");
}

// The same link is followed twice, and what counts is how much longer the first time took.
void paired_code(PtxText& text, const std::string& name, Space space) {
  const std::string load = fmt::format("@%live {}.u64 %pointer, [%previous];", load_opcode(space));
  counting_loop(
      text, name, space, [] {},
      [&] {
        text.line("mov.u64 %previous, %pointer;");
        timed_load(text, space, load, "%hot");
        text.line("add.u32 %half, %latency, {};", kPairedZeroCycles);
        // Or ptxas would compute that behind the second load, before its clock is read.
        text.line("setp.ne.and.u32 %more, %half, %never, %hot;");
        timed_load(text, space, load, "%more");
        text.line("min.u32 %latency, %latency, %half;");
        text.line("sub.u32 %latency, %half, %latency;");
        count_latency(text);
      });
}

// Every thread takes every ntid-th element.
void touch_code(PtxText& text, const std::string& name, Space space) {
  text.line("{}:", name);
  text.line("mov.u64 %time0, %clock64;");
  text.line("add.u32 %half, %loads, 1;");
  text.line("shr.u32 %half, %half, 1;");
  text.line("mov.u32 %index, %thread_id;");
  text.line("mov.u32 %sum, 0;");
  text.line("setp.ne.u64 %more, %table, 0;");
  text.line("{}_LOOP:", name);
  text.line("setp.ge.u32 %done, %index, %loads;");
  text.line("@%done bra {}_DONE;", name);
  text.line("mov.u32 %element, %index;");
  text.line("mul.wide.u32 %wide, %index, 4;");
  text.line("add.u64 %wide, %wide, %table;");
  text.line("@%more ld.global.cg.u32 %element, [%wide];");
  text.line("cvt.u64.u32 %wide, %element;");
  text.line("mad.lo.u64 %pointer, %wide, %stride, %base;");
  text.line("mul.lo.u64 %wide, %wide, %stagger;");
  text.line("and.b64 %wide, %wide, %stagger_mask;");
  text.line("add.u64 %pointer, %pointer, %wide;");
  text.line("setp.ge.u32 %upper, %element, %half;");
  text.line("@%upper add.u64 %pointer, %pointer, %skew;");
  if (space == Space::kShared) {
    text.line("cvt.u64.u32 %wide, %copy_to;");
    text.line("add.u64 %pointer, %pointer, %wide;");
  }
  if (space == Space::kTexture) {
    text.line("shr.u64 %pointer, %pointer, 2;");
    text.line("cvt.u32.u64 %link, %pointer;");
    text.line("tex.1d.v4.s32.s32 {{%link, %unused1, %unused2, %unused3}}, [%texture, {{%link}}];");
  } else {
    text.line("{}.u32 %link, [%pointer];", load_opcode(space));
  }
  text.line("xor.b32 %sum, %sum, %link;");
  text.line("add.u32 %index, %index, %thread_count;");
  text.line("bra {}_LOOP;", name);
  text.line("{}_DONE:", name);
  text.line("setp.eq.u32 %more, %sum, %never;");
  text.line("@%more st.global.u32 [%result + {}], %sum;", offsetof(BlockRecord, sink));
  text.line("bra STEP_END;");
}

// Writes both links of each element: to the next one (%wide) and, of the other chain, to the one before (%previous).
void store_code(PtxText& text, const std::string& name, Space space) {
  const std::string_view opcode = space == Space::kGlobal ? "st.global.u64" : "st.global.cg.u64";
  text.line("{}:", name);
  begin_passes(text, name, 1);
  text.line("mov.u64 %pointer, %base;");
  text.line("sub.u32 %rest, %elements, 1;");
  text.line("cvt.u64.u32 %wide, %rest;");
  text.line("mad.lo.u64 %previous, %wide, %stride, %base;");
  text.line("mov.u32 %index, 0;");
  text.line("mov.u64 %time0, %clock64;");
  text.line("{}_LOOP:", name);
  text.line(".pragma \"nounroll\";");
  text.line("add.u32 %index, %index, 1;");
  text.line("setp.eq.u32 %done, %index, %elements;");
  text.line("add.u64 %wide, %pointer, %stride;");
  text.line("selp.u64 %wide, %base, %wide, %done;");
  text.line("add.u64 %previous, %previous, 8;");
  text.line("@%hot {} [%pointer], %wide;", opcode);
  text.line("@%hot {} [%pointer + 8], %previous;", opcode);
  text.line("mov.u64 %previous, %pointer;");
  text.line("mov.u64 %pointer, %wide;");
  text.line("setp.lt.u32 %more, %index, %todo;");
  text.line("@%more bra {}_LOOP;", name);
  end_passes(text, name);
}

}  // namespace

std::vector<CodePath> code_paths(bool has_local) {
  std::vector<CodePath> paths;
  for (const Space space : kCudaSpaces) {
    if (space == Space::kLocal && !has_local) continue;
    const auto code = [&](StepCode step) {
      return static_cast<std::uint32_t>(step) + kStepCodes * static_cast<std::uint32_t>(space);
    };
    const std::string suffix(to_string(space));
    paths.push_back({code(StepCode::kWarm), "WARM_" + suffix, warm_code, space});
    if (space != Space::kLocal) paths.push_back({code(StepCode::kTouch), "TOUCH_" + suffix, touch_code, space});
    paths.push_back({code(StepCode::kTimed), "TIMED_" + suffix, timed_code, space});
    if (!is_global(space)) continue;
    paths.push_back({code(StepCode::kStore), "STORE_" + suffix, store_code, space});
    paths.push_back({code(StepCode::kPaired), "PAIRED_" + suffix, paired_code, space});
    if (space != Space::kGlobalBypassL1) continue;
    paths.push_back({code(StepCode::kAtomic), "ATOMIC_" + suffix, atomic_code, space});
  }
  return paths;
}

}  // namespace gputopo::cuda
