#include "device/hip/chase_steps_source.h"

#include <fmt/format.h>

#include "device/hip/gfx_target.h"
#include "gputopo/program/chase.h"

namespace gputopo::hip {
namespace {

std::string repeat(std::string_view text, std::uint32_t times) {
  std::string result;
  for (std::uint32_t i = 0; i < times; ++i) result += text;
  return result;
}

// The load of one link from where the last one points: its assembly, and the wait for it.
struct Follow {
  std::string load;
  std::string wait;
};

Follow follow_of(const GfxTarget& target, Space space) {
  switch (space) {
    case Space::kGlobalBypassL1:
      return {"global_load_dwordx2 %[link], %[link], off " + target.bypass, "s_waitcnt vmcnt(0)"};
    case Space::kShared:
      return {"ds_read_b32 %[link], %[link]", "s_waitcnt lgkmcnt(0)"};
    case Space::kScalar:
      // The target is another register, because a replayed load must find its address (XNACK).
      return {"s_load_dwordx2 %[next], %[link], 0x0", "s_waitcnt lgkmcnt(0)"};
    default:
      return {"global_load_dwordx2 %[link], %[link], off", "s_waitcnt vmcnt(0)"};
  }
}

// Vector loads and LDS. No lane is active in the dry pass.
std::string vector_functions(const GfxTarget& target, Space space) {
  const Follow follow = follow_of(target, space);
  const std::string name(to_string(space));
  const char* type = space == Space::kShared ? "u32" : "u64";
  std::string text = fmt::format(
      R"hip(
DEVICE void follow_{0}({1}& link, u64 live) {{
  u64 lanes;
  asm volatile(
      "s_mov_b64 %[lanes], exec\n"
      "s_and_b64 exec, exec, %[live]\n"
      "{2}\n{3}\n"
      "s_mov_b64 exec, %[lanes]\n"
      : [link] "+v"(link), [lanes] "=&s"(lanes) : [live] "s"(live) : "memory", "scc");
}}
DEVICE void follow_many_{0}({1}& link, u64 live) {{
  u64 lanes;
  asm volatile(
      "s_mov_b64 %[lanes], exec\n"
      "s_and_b64 exec, exec, %[live]\n"
      "{4}"
      "s_mov_b64 exec, %[lanes]\n"
      : [link] "+v"(link), [lanes] "=&s"(lanes) : [live] "s"(live) : "memory", "scc");
}}
DEVICE u64 timed_{0}({1}& link, u64 live) {{
  u64 lanes, before, after;
  asm volatile(
      "s_mov_b64 %[lanes], exec\n"
      "s_and_b64 exec, exec, %[live]\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "s_memtime %[before]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "{2}\n"
      "{3}\n"
      "s_memtime %[after]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_mov_b64 exec, %[lanes]\n"
      : [link] "+v"(link), [before] "=&s"(before), [after] "=&s"(after), [lanes] "=&s"(lanes)
      : [live] "s"(live) : "memory", "scc");
  return after - before;
}}
)hip",
      name, type, follow.load, follow.wait, repeat(follow.load + "\\n" + follow.wait + "\\n", kUnroll));
  return text;
}

// Scalar loads. The dry pass jumps over them.
std::string scalar_functions(const GfxTarget& target) {
  const Follow follow = follow_of(target, Space::kScalar);
  const std::string back = "s_load_dwordx2 %[link], %[next], 0x0\\n" + follow.wait + "\\n";
  return fmt::format(
      R"hip(
DEVICE void follow_scalar(u64& link, u64 live) {{
  u64 next;
  asm volatile(
      "s_cmp_eq_u64 %[live], 0\n"
      "s_mov_b64 %[next], %[link]\n"
      "s_cbranch_scc1 1f\n"
      "{0}\n"
      "1:\n"
      "{1}\n"
      "s_mov_b64 %[link], %[next]\n"
      : [link] "+s"(link), [next] "=&s"(next) : [live] "s"(live) : "memory", "scc");
}}
DEVICE void follow_many_scalar(u64& link, u64 live) {{
  u64 next;
  asm volatile(
      "s_cmp_eq_u64 %[live], 0\n"
      "s_cbranch_scc1 1f\n"
      "{2}"
      "1:\n"
      : [link] "+&s"(link), [next] "=&s"(next) : [live] "s"(live) : "memory", "scc");
}}
DEVICE u64 timed_scalar(u64& link, u64 live) {{
  u64 next, before, after;
  asm volatile(
      "s_mov_b64 %[next], %[link]\n"
      "s_cmp_eq_u64 %[live], 0\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "s_memtime %[before]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_cbranch_scc1 1f\n"
      "{0}\n"
      "1:\n"
      "{1}\n"
      "s_memtime %[after]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_mov_b64 %[link], %[next]\n"
      : [link] "+&s"(link), [next] "=&s"(next), [before] "=&s"(before), [after] "=&s"(after)
      : [live] "s"(live) : "memory", "scc");
  return after - before;
}}
)hip",
      follow.load, follow.wait, repeat(follow.load + "\\n" + follow.wait + "\\n" + back, kUnroll / 2));
}

// A chain in the source: the type of its links, its first link, and the condition that it has left its array.
struct Chain {
  const char* type;
  const char* start;
  const char* lost;
};

Chain chain_of(Space space) {
  if (space == Space::kShared) return {"u32", "(u32)step.start + task.copy_to", "link == kNoLink"};
  return {"u64", space == Space::kScalar ? "uniform64(step.start)" : "step.start", "link == 0"};
}

// A counted step. `load`: statements that follow `link`, declare `wide`, the counted value, and set `lost`. In the dry
// pass `live` is 0: nothing is loaded, counted or kept.
std::string counting_function(std::string_view kind, Space space, std::string_view load) {
  const Chain chain = chain_of(space);
  return fmt::format(
      R"hip(
DEVICE bool {0}_step_{1}(const Task& task, const Step& step, u64& cycles) {{
  {2} link = {3};
  u64 begin = 0;
  bool lost = false;
  #pragma clang loop unroll(disable)
  for (u32 pass = task.dry_passes;; --pass) {{
    const u64 live = uniform64(pass == 0 ? ~0ull : 0);
    const u32 todo = uniform32(pass == 0 ? step.loads : 1);
    const u32 kept = uniform32(pass == 0 ? step.cap : 0);
    const u32 increment = pass == 0 ? 1 : 0;
    link = {3};
    begin = clock();
    #pragma clang loop unroll(disable)
    for (u32 i = 0; i < todo; ++i) {{
{4}      if (lost) break;
      const u32 latency = wide > 0xffffffffull ? 0xffffffffu : (u32)wide;
      const u32 bin = latency / kHistogramBinCycles < kHistogramBins ? latency / kHistogramBinCycles
                                                                      : kHistogramBins - 1;
      if ({5}) {{
        lds[bin] += increment;
        if (i < kept) lds[task.latencies / 4 + i] = latency;
      }}
    }}
    if (pass == 0 || lost) break;
  }}
  cycles = clock() - begin;
  return !lost;
}}
)hip",
      kind, to_string(space), chain.type, chain.start, load,
      space == Space::kScalar ? "task.lane == step.thread % kWavefront" : "true");
}

std::string timed_function(Space space) {
  return counting_function("timed", space,
                           fmt::format("      const u64 wide = timed_{}(link, live);\n      lost = {};\n",
                                       to_string(space), chain_of(space).lost));
}

// Follows each link twice and counts how much longer the first load took.
std::string paired_function(Space space) {
  return counting_function("paired", space,
                           fmt::format(R"hip(      u64 again = link;
      const u64 first = kPairedZeroCycles + timed_{0}(link, live);
      const u64 second = timed_{0}(again, live);
      const u64 wide = first > second ? first - second : 0;
      lost = {1} || again != link;
)hip",
                                       to_string(space), chain_of(space).lost));
}

// The untimed steps in one space: a chain and a touch.
std::string untimed_functions(Space space) {
  const Chain chain = chain_of(space);
  const bool scalar = space == Space::kScalar;
  const bool shared = space == Space::kShared;
  const std::string name(to_string(space));
  std::string touch;
  if (scalar) {
    touch = R"hip(
  const u32 waves = task.threads / kWavefront;
  for (u32 place = uniform32(task.thread / kWavefront); place < step.loads; place += waves) {
    const u32 i = uniform32(touched_element(step, place));
    const u64 at = uniform64(step.base + i * step.stride + (i >= half ? step.skew : 0) + (i * step.stagger & step.stagger_mask));
    u32 value;
    asm volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=&s"(value) : "s"(at) : "memory");
    sum ^= value;
  })hip";
  } else {
    touch = fmt::format(R"hip(
  for (u32 place = task.thread; place < step.loads; place += task.threads) {{
    const u32 i = touched_element(step, place);
    const u64 at = step.base + i * step.stride + (i >= half ? step.skew : 0) + (i * step.stagger & step.stagger_mask);
    sum ^= read_{}(at{});
  }})hip",
                        name, shared ? " + task.copy_to" : "");
  }
  return fmt::format(
      R"hip(
DEVICE bool warm_step_{0}(const Task& task, const Step& step, u64& cycles) {{
  {1} link = {2};
  u64 begin = 0, end = 0;
  #pragma clang loop unroll(disable)
  for (u32 pass = task.dry_passes;; --pass) {{
    const u64 live = uniform64(pass == 0 ? ~0ull : 0);
    u32 todo = uniform32(pass == 0 ? step.loads : kUnroll + 1);
    link = {2};
    begin = clock();
    #pragma clang loop unroll(disable)
    for (u32 rest = todo % kUnroll; rest != 0; --rest) follow_{0}(link, live);
    #pragma clang loop unroll(disable)
    for (u32 many = todo / kUnroll; many != 0; --many) follow_many_{0}(link, live);
    end = clock();
    if (pass == 0) break;
  }}
  cycles = end - begin;
  return !({3});
}}
DEVICE void touch_step_{0}(const Task& task, const Step& step) {{
  const u32 half = (step.loads + 1) / 2;
  u32 sum = 0;{4}
  if (sum == task.never) write32(task.result + kBlockRecord_sink, sum);
}}
)hip",
      name, chain.type, chain.start, chain.lost, touch);
}

// Writes both links of each element: to the next one and, in the other chain, to the one before.
std::string store_function(const GfxTarget& target) {
  return fmt::format(
      R"hip(
DEVICE void store_step(const Step& step, u64& cycles) {{
  u64 previous = step.base + (u64)(step.elements - 1) * step.stride;
  u64 at = step.base;
  const u64 begin = clock();
  #pragma clang loop unroll(disable)
  for (u32 i = 1; i <= step.loads; ++i) {{
    const u64 next = i == step.elements ? step.base : at + step.stride;
    previous += 8;
    if (step.space == kGlobalSpace) {{
      asm volatile("global_store_dwordx2 %0, %1, off\n global_store_dwordx2 %0, %2, off offset:8"
                   : : "v"(at), "v"(next), "v"(previous) : "memory");
    }} else {{
      asm volatile("global_store_dwordx2 %0, %1, off {0}\n global_store_dwordx2 %0, %2, off offset:8 {0}"
                   : : "v"(at), "v"(next), "v"(previous) : "memory");
    }}
    previous = at;
    at = next;
  }}
  cycles = clock() - begin;
}}
)hip",
      target.bypass);
}

}  // namespace

std::string step_functions(const GfxTarget& target) {
  std::string text = R"hip(
DEVICE u32 touched_element(const Step& step, u32 place) {
  return step.table == 0 ? place : read32(step.table + 4 * (u64)place);
}
)hip";
  for (const Space space : kHipSpaces) {
    text += space == Space::kScalar ? scalar_functions(target) : vector_functions(target, space);
    text += untimed_functions(space);
    text += timed_function(space);
    if (is_global(space)) text += paired_function(space);
  }
  return text + store_function(target);
}

}  // namespace gputopo::hip
