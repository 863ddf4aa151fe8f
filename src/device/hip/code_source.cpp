#include "device/hip/code_source.h"

#include <fmt/format.h>

#include <cstddef>

#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"
#include "device/launch/kernel_layout.h"
#include "gputopo/program/code.h"

namespace gputopo::hip {
namespace {

using namespace launch;

// Independent results in flight: more than the issue slots that an arithmetic instruction takes.
constexpr std::uint32_t kChains = 8;
constexpr std::uint32_t kFirstResult = 45;         // a vector register
constexpr std::uint32_t kLeavingInstructions = 2;  // a countdown and a branch
constexpr std::uint32_t kArithmeticBytes = 8;      // of each instruction before them

// {0}, {5}: blocks of the front and the back half of the stretch; {1}: the arithmetic of a block; {2}: cache bits of a
// store; {3}: rounds of arithmetic in the lead; {4}: one such round, kChains instructions; {6}: first values of the
// results; {7}: their registers. s[40:41] where the next pass leaves its cycles; s[44:45] start of the pass; s50 passes
// left; s51 blocks left; s52 blocks of a pass, minus one; s[54:55] the entry; s[56:57] the end of a pass; s[60:61] the
// return address; v44 a factor; the results from kFirstResult on.
constexpr std::string_view kStretch = R"hip(
DEVICE u32 stretch_bytes() {{
  u32 bytes;
  asm volatile("s_mov_b32 %0, gputopo_stretch_end - gputopo_stretch" : "=s"(bytes));
  return bytes;
}}
// A pass runs this in addition to the stretch: the loop in front of it and the jump behind it.
DEVICE u32 loop_bytes() {{
  u32 front, back;
  asm volatile("s_mov_b32 %0, gputopo_stretch - gputopo_pass_end\n"
               "s_mov_b32 %1, gputopo_code_end - gputopo_stretch_end" : "=s"(front), "=s"(back));
  return front + back;
}}

// Distance of the stretch from the begin of the lead.
DEVICE u32 stretch_offset() {{
  u32 bytes;
  asm volatile("s_mov_b32 %0, gputopo_stretch - gputopo_lead" : "=s"(bytes));
  return bytes;
}}

// The entry counts from the begin of the lead.
DEVICE void run_stretch(u64 result, u32 passes, u32 blocks, u32 entry_bytes, float seed) {{
  asm volatile(
      "s_waitcnt lgkmcnt(0)\n"
      "v_mov_b32 v44, %[seed]\n"
{6}      "s_mov_b64 s[40:41], %[result]\n"
      "s_mov_b32 s50, %[passes]\n"
      "s_sub_u32 s52, %[blocks], 1\n"
      "s_mov_b32 s53, %[entry]\n"
      "s_getpc_b64 s[56:57]\n"
      "gputopo_call%=:\n"
      "s_add_u32 s56, s56, gputopo_pass_end - gputopo_call%=\n"
      "s_addc_u32 s57, s57, 0\n"
      "s_sub_u32 s58, s56, gputopo_pass_end - gputopo_lead\n"
      "s_subb_u32 s59, s57, 0\n"
      "s_add_u32 s54, s58, s53\n"
      "s_addc_u32 s55, s59, 0\n"
      "s_add_u32 s58, s56, gputopo_first_pass - gputopo_pass_end\n"
      "s_addc_u32 s59, s57, 0\n"
      "v_mov_b32 v40, 0\n"
      "s_swappc_b64 s[60:61], s[58:59]\n"
      ".ifndef gputopo_stretch\n"
      ".subsection 1\n"
      "gputopo_lead:\n"
      ".rept {3}\n"
      "{4}"
      ".endr\n"
      "s_branch gputopo_stretch\n"
      ".p2align 8\n"
      "gputopo_pass_end:\n"
      "s_memtime s[46:47]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_sub_u32 s48, s46, s44\n"
      "s_subb_u32 s49, s47, s45\n"
      "s_mov_b64 s[44:45], s[46:47]\n"
      "v_mov_b32 v42, s48\n"
      "v_mov_b32 v43, s49\n"
      "global_store_dwordx2 v40, v[42:43], s[40:41] {2}\n"
      "s_add_u32 s40, s40, 8\n"
      "s_addc_u32 s41, s41, 0\n"
      "s_sub_u32 s50, s50, 1\n"
      "s_cmp_eq_u32 s50, 0\n"
      "s_cbranch_scc1 gputopo_return\n"
      "gputopo_next_pass:\n"
      "s_mov_b32 s51, s52\n"
      "s_setpc_b64 s[54:55]\n"
      "gputopo_first_pass:\n"
      "s_memtime s[44:45]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_branch gputopo_next_pass\n"
      "gputopo_return:\n"
      "s_setpc_b64 s[60:61]\n"
      ".p2align 8\n"
      "gputopo_stretch:\n"
      ".rept {0}\n"
      "{1}"
      "s_sub_u32 s51, s51, 1\n"
      "s_cbranch_scc1 gputopo_pass_end\n"
      ".endr\n"
      ".rept {5}\n"
      "{1}"
      "s_sub_u32 s51, s51, 1\n"
      "s_cbranch_scc1 gputopo_stretch_end\n"
      ".endr\n"
      "gputopo_stretch_end:\n"
      "s_setpc_b64 s[56:57]\n"
      "gputopo_code_end:\n"
      // Instructions are fetched in advance, and there may be no memory past the end of the loaded code.
      ".rept 64\n"
      "s_nop 0\n"
      ".endr\n"
      ".previous\n"
      ".endif\n"
      : : [seed] "v"(seed), [result] "s"(result), [passes] "s"(passes), [blocks] "s"(blocks), [entry] "s"(entry_bytes)
      : "memory", "scc", "s40", "s41", "s44", "s45", "s46", "s47", "s48", "s49", "s50", "s51", "s52", "s53", "s54",
        "s55", "s56", "s57", "s58", "s59", "s60", "s61", "v40", "v42", "v43", "v44", {7});
}}
)hip";

constexpr std::string_view kCodeKernels = R"hip(
KERNEL void code_sizes(u64 result) {
  write32(result, stretch_bytes());
  write32(result + 4, loop_bytes());
}

KERNEL void code(Parameters p) {
  const u32 thread = __builtin_amdgcn_workitem_id_x();
  const bool first_thread = thread == 0;
  const u32 sm = hardware_id();
  u32 slot = 0;
  if (p.wanted_sm[0] != kAnySm && p.wanted_sm[0] != sm) {
    slot = 1;
    if (p.wanted_sm[1] != sm) {
      const u64 begin = clock();
      while (clock() - begin < p.patience_cycles) __builtin_amdgcn_s_sleep(1);
      return;
    }
  }
  // There may be a second block on the wanted CU.
  const u64 record = p.records + (u64)slot * kBlockRecord_bytes;
  if (first_thread) lds[0] = take(record + kBlockRecord_claimed);
  barrier();
  const u32 taken = uniform32(lds[0]);
  barrier();
  if (taken != 0) return;
  const bool spread = p.wanted_sm[0] != p.wanted_sm[1];
  if (first_thread) begin_block(record, sm);
  const u32 block_bytes = stretch_bytes() / kBlocks;
  u32 longest = p.longest_wait_cycles;
  #pragma clang loop unroll(disable)
  for (u32 index = 0; index < p.step_count; ++index) {
    const u64 step = p.steps + (u64)index * kCodeStepTask_bytes;
    const bool own = uniform32(read32(step + kCodeStepTask_slot)) == slot;
    const u32 first = uniform32(read32(step + kCodeStepTask_begin)) * kBlocksOfEntry;
    const u32 lead = uniform32(read32(step + kCodeStepTask_lead));
    const u32 last = uniform32(read32(step + kCodeStepTask_end));
    const u32 runner = uniform32(read32(step + kCodeStepTask_thread)) / kWavefront;
    const u32 passes = uniform32(read32(step + kCodeStepTask_passes));
    const u64 result = uniform64(read64(step + kCodeStepTask_result));
    if (own && uniform32(thread / kWavefront) == runner) {
      const u32 entry =
          lead > 0 ? (kLeadInstructions - lead) * kArithmeticBytes : stretch_offset() + first * block_bytes;
      run_stretch(result, passes, last + 1 - first, entry, (float)thread);
    }
    barrier();
    if (spread && first_thread) {
      if (own) {
        write32(p.turn, index + 1);
      } else {
        const u64 begin = clock();
        while (read32(p.turn) <= index) {
          // The other block never came. The remaining steps run without effect, and the host sees the error.
          if (clock() - begin > longest) {
            write32(record + kBlockRecord_error, 1);
            longest = 0;
            break;
          }
          __builtin_amdgcn_s_sleep(8);
        }
      }
    }
    barrier();
  }
  if (first_thread) end_block(record);
}
)hip";

}  // namespace

std::string generate_code_source(const GfxTarget& target) {
  SourceText text(target);
  constexpr std::string_view kFields =
      "steps records turn step_count never wanted_sm patience_cycles longest_wait_cycles";
  text.constant("kAnySm", kAnySm);
  text.constant("kBlocks", kMaxCodeBlocks);
  text.constant("kBlocksOfEntry", kCodeEntryInstructions / kCodeBlockInstructions);
  text.constant("kArithmeticBytes", kArithmeticBytes);
  text.constant("kLeadInstructions", kCodeLeadInstructions);
  text.offsets("CodeParameters", kFields);
  text.offsets("CodeStepTask", "result slot thread begin end passes lead");
  text.size_of("CodeStepTask");
  const auto arithmetic = [](std::uint32_t instructions) {
    std::string lines;
    for (std::uint32_t i = 0; i < instructions; ++i) {
      lines += fmt::format("v_fma_f32 v{0}, v{0}, v44, v44\\n", kFirstResult + i % kChains);
    }
    return lines;
  };
  std::string starts;
  std::string results;
  for (std::uint32_t result = kFirstResult; result < kFirstResult + kChains; ++result) {
    starts += fmt::format("      \"v_mov_b32 v{}, v44\\n\"\n", result);
    results += fmt::format("{}\"v{}\"", result == kFirstResult ? "" : ", ", result);
  }
  text.raw(fmt::format(fmt::runtime(kStretch), kMaxCodeBlocks / 2,
                       arithmetic(kCodeBlockInstructions - kLeavingInstructions), target.bypass,
                       kCodeLeadInstructions / kChains, arithmetic(kChains), kMaxCodeBlocks - kMaxCodeBlocks / 2,
                       starts, results));
  text.parameters("CodeParameters", R"hip(  u64 steps, records, turn;
  u32 step_count, never, wanted_sm[2], patience_cycles, longest_wait_cycles;)hip",
                  kFields);
  text.raw(kCodeKernels);
  return text.take();
}

}  // namespace gputopo::hip
