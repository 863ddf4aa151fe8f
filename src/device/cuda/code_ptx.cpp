#include "device/cuda/code_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

// Independent results in flight: more than an arithmetic instruction takes cycles on recent GPUs.
constexpr std::uint32_t kChains = 8;
constexpr std::uint32_t kEntries = (kMaxCodeInstructions + kCodeEntryInstructions - 1) / kCodeEntryInstructions;
constexpr std::uint32_t kLeavingInstructions = 2;  // a test and a branch

void prologue(PtxText& text, std::string_view name) {
  kernel_line(text, name, sizeof(CodeParameters));
  text.raw(R"({
  .reg .b64 %bank;
  .reg .pred %first_thread, %other_sm, %taken, %done, %more, %mine, %is_constants, %spread, %late, %leave, %jumping;
  .reg .b32 %thread_id, %sm, %step_count, %step_index, %never, %wanted0, %wanted1, %patience, %longest, %slot, %old, %shared;
  .reg .b32 %kind, %step_slot, %thread, %begin, %lead, %end, %stride, %passes, %offset, %value, %before, %after, %turns, %sink, %count;
  .reg .b64 %steps, %records, %turn, %result, %now, %previous, %cycles, %stamp, %wide;
)");
  for (std::uint32_t i = 0; i < kChains; ++i) text.line("  .reg .f32 %f{};", i);
  text.line("  .reg .f32 %factor, %addend;");
  const auto parameter = [&](std::string_view type, std::string_view reg, std::size_t offset) {
    load_parameter(text, type, reg, offset);
  };
  parameter("u64", "%steps", offsetof(CodeParameters, steps));
  parameter("u64", "%records", offsetof(CodeParameters, records));
  parameter("u64", "%turn", offsetof(CodeParameters, turn));
  parameter("u32", "%step_count", offsetof(CodeParameters, step_count));
  parameter("u32", "%never", offsetof(CodeParameters, never));
  parameter("u32", "%wanted0", offsetof(CodeParameters, wanted_sm));
  parameter("u32", "%wanted1", offsetof(CodeParameters, wanted_sm) + sizeof(std::uint32_t));
  parameter("u32", "%patience", offsetof(CodeParameters, patience_cycles));
  parameter("u32", "%longest", offsetof(CodeParameters, longest_wait_cycles));
  parameter("u32", "%count", offsetof(CodeParameters, count));
  text.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %sm, %smid;
  mov.u32 %shared, dynamic_shared;
  setp.eq.u32 %first_thread, %thread_id, 0;
)");
  // Operands from registers of the thread, not of the warp, as ordinary code has them.
  text.line("mov.b32 %factor, %thread_id;");
  text.line("mov.b32 %addend, %thread_id;");
  for (std::uint32_t i = 0; i < kChains; ++i) text.line("mov.b32 %f{}, %thread_id;", i);
}

// Leaves the block in its slot, or lets it go.
void take_slot(PtxText& text) {
  text.raw(R"(
  mov.u32 %slot, 0;
  setp.ne.u32 %spread, %wanted1, %wanted0;
)");
  text.line("setp.eq.u32 %more, %wanted0, {};", kAnySm);
  text.raw(R"(
  @%more bra CLAIM;
  setp.eq.u32 %more, %wanted0, %sm;
  @%more bra CLAIM;
  mov.u32 %slot, 1;
  setp.ne.u32 %other_sm, %wanted1, %sm;
  @%other_sm bra WRONG_SM;
  CLAIM:
)");
  text.line("mul.wide.u32 %wide, %slot, {};", sizeof(BlockRecord));
  text.line("add.u64 %records, %records, %wide;");
  // On the wanted SM there may be a second block.
  text.line("mov.u32 %old, 0;");
  text.line("@%first_thread atom.global.exch.b32 %old, [%records + {}], 1;", offsetof(BlockRecord, claimed));
  text.line("@%first_thread st.shared.u32 [%shared], %old;");
  text.line("bar.sync 0;");
  text.line("ld.shared.u32 %old, [%shared];");
  text.line("bar.sync 0;");
  text.line("setp.ne.u32 %taken, %old, 0;");
  text.line("@%taken bra EXIT;");
  text.line("@%first_thread st.global.u32 [%records + {}], %sm;", offsetof(BlockRecord, sm));
}

// What blocks compare with is the same for all threads, so they leave straight to the end of the pass. Only for compute
// capability 8 does the compiler make a jump of every block that is not left then, so there it is told that threads may
// differ, and gathers them behind all blocks.
void let_threads_differ(PtxText& text) {
  text.line("setp.eq.u32 %more, %thread_id, %never;");
  text.line("selp.u32 %value, 1, 0, %more;");
  text.line("add.u32 %end, %end, %value;");
}

void load_code_step(PtxText& text) {
  const auto load = [&](std::string_view type, std::string_view reg, std::size_t offset) {
    text.line("ld.global.cg.{} {}, [%steps + {}];", type, reg, offset);
  };
  load("u64", "%result", offsetof(CodeStepTask, result));
  load("u32", "%kind", offsetof(CodeStepTask, kind));
  load("u32", "%step_slot", offsetof(CodeStepTask, slot));
  load("u32", "%thread", offsetof(CodeStepTask, thread));
  load("u32", "%begin", offsetof(CodeStepTask, begin));
  load("u32", "%end", offsetof(CodeStepTask, end));
  load("u32", "%stride", offsetof(CodeStepTask, stride));
  load("u32", "%passes", offsetof(CodeStepTask, passes));
  load("u32", "%lead", offsetof(CodeStepTask, lead));
  text.line("div.u32 %lead, %lead, {};", kCodeLeadStep);
}

// The time since the pass began goes to the record of the pass that has ended.
void end_of_pass(PtxText& text) {
  text.line("mov.u64 %now, %clock64;");
  text.line("sub.u64 %cycles, %now, %previous;");
  text.line("mov.u64 %previous, %now;");
  text.line("st.global.u64 [%result], %cycles;");
  text.line("add.u64 %result, %result, 8;");
  text.line("sub.u32 %passes, %passes, 1;");
  text.line("setp.eq.u32 %done, %passes, 0;");
  text.line("@%done bra STEP_END;");
}

void multiply_add(PtxText& text, std::uint32_t index) {
  text.line("fma.rn.f32 %f{}, %f{}, %factor, %addend;", index % kChains, index % kChains);
}

void blocks_of_code(PtxText& text, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t block = first; block < end; ++block) {
    for (std::uint32_t i = 0; i < kCodeBlockInstructions - kLeavingInstructions; ++i) multiply_add(text, i);
    text.line("setp.eq.u32 %leave, %end, {};", block);
    text.line("@%leave bra PASS;");
  }
}

// To the entry of this number, of so many.
void enter(PtxText& text, std::string_view number, std::uint32_t entries) {
  std::string labels = "ENTRY0";
  for (std::uint32_t entry = 1; entry < entries; ++entry) labels += fmt::format(", ENTRY{}", entry);
  text.line("ENTRIES: .branchtargets {};", labels);
  text.line("brx.idx {}, ENTRIES;", number);
}

void whole_stretch(PtxText& text) {
  constexpr std::uint32_t kBlocksOfEntry = kCodeEntryInstructions / kCodeBlockInstructions;
  enter(text, "%begin", kEntries);
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    text.line("ENTRY{}:", entry);
    blocks_of_code(text, entry * kBlocksOfEntry, std::min(kMaxCodeBlocks, (entry + 1) * kBlocksOfEntry));
  }
}

void stretch_with_lead(PtxText& text) {
  constexpr std::uint32_t kLeads = kCodeLeadInstructions / kCodeLeadStep;
  enter(text, "%lead", 1 + kLeads);
  for (std::uint32_t lead = kLeads; lead > 0; --lead) {
    text.line("ENTRY{}:", lead);
    for (std::uint32_t i = 0; i < kCodeLeadStep; ++i) multiply_add(text, lead * kCodeLeadStep + i);
  }
  text.line("ENTRY0:");
  blocks_of_code(text, 0, kMaxCodeBehindLead / kCodeBlockInstructions);
}

// Never executed, and quick to compile.
void jumped_over(PtxText& text, std::uint32_t instructions) {
  for (std::uint32_t i = 0; i < instructions; ++i) text.line("pmevent 1;");
}

// The number of jumps is a parameter of the kernel, and so the same for all threads: of what may differ among them the
// compiler makes something else than a jump. It cannot know that the jump is always taken, or it would move the blocks.
void jump_blocks(PtxText& text, CodeStepKind kind, std::uint32_t blocks) {
  std::vector<std::uint32_t> jump_at(blocks);
  for (std::uint32_t jump = 0; jump < blocks; ++jump) jump_at[place_of_jump(kind, jump)] = jump;
  text.line("setp.ne.u32 %jumping, %thread_id, %never;");
  for (const std::uint32_t jump : jump_at) {
    text.line("JUMP{}:", jump);
    text.line("setp.eq.u32 %leave, %count, {};", jump + 1);
    text.line("@%leave bra PASS;");
    text.line("@%jumping bra {};", jump + 1 < blocks ? fmt::format("JUMP{}", jump + 1) : "PASS");
    jumped_over(text, jump_filler(kind));
  }
}

void near_jumps(PtxText& text) { jump_blocks(text, CodeStepKind::kNearJumps, kMaxNearJumps); }
void few_near_jumps(PtxText& text) { jump_blocks(text, CodeStepKind::kNearJumps, kFewNearJumps); }
void far_jumps(PtxText& text) { jump_blocks(text, CodeStepKind::kFarJumps, kMaxFarJumps); }

// All jumps go on and none back, parameters alone decide them, and what begins a pass is all that the table of entries
// names: else the compiler lays the blocks out in another order, or makes some longer.
void aligned_jumps(PtxText& text) {
  text.line("setp.ne.u32 %jumping, %count, %never;");
  enter(text, "%begin", 2 * kAlignments);
  for (std::uint32_t block = 0; block < kAlignedBlocks; ++block) {
    const std::uint32_t row = block / kAlignments;
    if (row % kManyAlignedJumps == 0)
      text.line("ENTRY{}:", row / kManyAlignedJumps * kAlignments + block % kAlignments);
    text.line("JUMP{}:", block);
    for (std::uint32_t i = 0; i + 1 < kAlignedJumpInstructions; ++i) multiply_add(text, i);
    const bool is_last = row == kManyAlignedJumps - 1 || row == kManyAlignedJumps + kFewAlignedJumps - 1;
    text.line("@%jumping bra {};", is_last ? "LAST" : fmt::format("JUMP{}", block + kAlignments));
    jumped_over(text, kAlignedJumpFiller);
  }
  text.line("LAST:");
  text.line("bra PASS;");
}

constexpr std::string_view kOperandFunction = "operations_of_";

// A function: out of a loop the compiler would move all loads of constants. So each stands in front of its operation,
// or is a part of it.
void operand_function(PtxText& text, CodeStepKind kind) {
  text.line(".func (.reg .b32 %combined) {}{}(.reg .b32 %given, .reg .b32 %wanted)", kOperandFunction, to_string(kind));
  text.line("{{");
  text.line(".reg .b32 %operand;");
  text.line(".reg .pred %last;");
  text.line("mov.u32 %combined, %given;");
  for (std::uint32_t operand = 0; operand < kMaxOperands; ++operand) {
    text.line("ld.const.u32 %operand, [constant_bank + {}];", operand * operand_stride_bytes(kind));
    text.line("xor.b32 %combined, %combined, %operand;");
    text.line("setp.eq.u32 %last, %wanted, {};", operand + 1);
    text.line("@%last bra LAST;");
  }
  text.line("LAST:");
  text.line("ret;");
  text.line("}}");
}

template <CodeStepKind kKind>
void operands(PtxText& text) {
  text.line("mov.u32 %value, %thread_id;");
  text.line("call (%value), {}{}, (%value, %count);", kOperandFunction, to_string(kKind));
  text.line("setp.eq.u32 %more, %value, %never;");
  text.line("@%more st.global.u32 [%records + {}], %value;", offsetof(BlockRecord, sink));
  text.line("bra PASS;");
}

void run_step(PtxText& text, void (*code)(PtxText&)) {
  // The end of a pass and the way into the next are one piece that a step begins with as well, as if a pass had ended:
  // apart from what is behind it, the compiler would place it behind the whole stretch, and there it would lie in the
  // same sets of a cache as code that no pass of its length runs.
  text.line("sub.u64 %result, %result, 8;");
  text.line("add.u32 %passes, %passes, 1;");
  text.line("mov.u64 %previous, %clock64;");
  text.line("PASS:");
  end_of_pass(text);
  code(text);
  text.line("bra STEP_END;");
}

// The bank holds zeros: each address is the one before, the value there and the step.
void constants_step(PtxText& text) {
  text.line("CONSTANTS:");
  text.line("mov.u64 %previous, %clock64;");
  text.line("CONSTANTS_PASS:");
  // By its name, or the compiler would leave the bank out. It is the module's only one, so it begins at 0.
  text.line("mov.u64 %bank, constant_bank;");
  text.line("cvt.u32.u64 %offset, %bank;");
  text.line("add.u32 %offset, %offset, %begin;");
  text.line("NEXT_CONSTANT:");
  text.line(".pragma \"nounroll\";");
  text.line("ld.const.u32 %value, [%offset];");
  text.line("add.u32 %offset, %offset, %value;");
  text.line("add.u32 %offset, %offset, %stride;");
  text.line("setp.lt.u32 %more, %offset, %end;");
  text.line("@%more bra NEXT_CONSTANT;");
  // Where the walk ended must look used, or the compiler would leave out the walk.
  text.line("setp.eq.u32 %more, %offset, %never;");
  text.line("@%more st.global.u32 [%records + {}], %offset;", offsetof(BlockRecord, sink));
  end_of_pass(text);
  text.line("bra CONSTANTS_PASS;");
}

// Blocks on two SMs wait for the end of one another's steps; those of one block at a barrier.
void step_end(PtxText& text) {
  text.line("STEP_END:");
  text.line("bar.sync 0;");
  text.line("add.u32 %step_index, %step_index, 1;");
  text.line("add.u64 %steps, %steps, {};", sizeof(CodeStepTask));
  text.line("@!%spread bra NEXT_STEP;");
  text.line("@!%first_thread bra TURN_COMES;");
  text.line("setp.ne.u32 %more, %step_slot, %slot;");
  text.line("@%more bra WAIT_FOR_TURN;");
  text.line("membar.gl;");
  text.line("st.volatile.global.u32 [%turn], %step_index;");
  text.line("WAIT_FOR_TURN:");
  text.line("mov.u32 %before, %clock;");
  text.line("POLL:");
  text.line("ld.volatile.global.u32 %turns, [%turn];");
  text.line("mov.u32 %after, %clock;");
  text.line("sub.u32 %after, %after, %before;");
  text.line("setp.ge.u32 %late, %after, %longest;");
  text.line("@%late bra GIVE_UP;");
  text.line("setp.lt.u32 %more, %turns, %step_index;");
  text.line("@%more bra POLL;");
  text.line("bra TURN_COMES;");
  // The other block never came. The steps that are left run in vain, and the host sees the error.
  text.line("GIVE_UP:");
  text.line("st.global.u32 [%records + {}], 1;", offsetof(BlockRecord, error));
  text.line("mov.u32 %longest, 0;");
  text.line("TURN_COMES:");
  text.line("bar.sync 0;");
  text.line("bra NEXT_STEP;");
}

void code_epilogue(PtxText& text) {
  text.line("FINISH:");
  stamp_clocks(text, "%records", offsetof(BlockRecord, end_cycles), offsetof(BlockRecord, end_ns));
  for (std::uint32_t i = 1; i < kChains; ++i) text.line("add.f32 %f0, %f0, %f{};", i);
  text.line("mov.b32 %sink, %f0;");
  text.line("setp.eq.u32 %more, %sink, %never;");
  text.line("@%more st.global.u32 [%records + {}], %sink;", offsetof(BlockRecord, sink));
  text.line("bra EXIT;");
  text.line("WRONG_SM:");
  text.line("mov.u32 %before, %clock;");
  text.line("LINGER:");
  text.line("mov.u32 %after, %clock;");
  text.line("sub.u32 %after, %after, %before;");
  text.line("setp.lt.u32 %more, %after, %patience;");
  text.line("@%more bra LINGER;");
  text.line("EXIT:");
  text.line("ret;");
  text.line("}}");
}

void code_kernel(PtxText& text, const PtxTarget& target, std::string_view name, void (*code)(PtxText&)) {
  prologue(text, name);
  take_slot(text);
  stamp_clocks(text, "%records", offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  text.line("mov.u32 %step_index, 0;");
  text.line("NEXT_STEP:");
  text.line("setp.ge.u32 %done, %step_index, %step_count;");
  text.line("@%done bra FINISH;");
  load_code_step(text);
  if (target.sm / 10 == 8) let_threads_differ(text);
  text.line("setp.eq.u32 %mine, %thread_id, %thread;");
  text.line("setp.eq.and.u32 %mine, %step_slot, %slot, %mine;");
  text.line("@!%mine bra STEP_END;");
  text.line("setp.eq.u32 %is_constants, %kind, {};", static_cast<std::uint32_t>(CodeStepKind::kConstants));
  text.line("@%is_constants bra CONSTANTS;");
  run_step(text, code);
  constants_step(text);
  step_end(text);
  code_epilogue(text);
}

template <CodeStepKind kKind>
void operand_kernel(PtxText& text, const PtxTarget& target) {
  operand_function(text, kKind);
  code_kernel(text, target, to_string(kKind), operands<kKind>);
}

}  // namespace

std::string generate_code_ptx(const PtxTarget& target) {
  PtxText text;
  text.raw(module_header(target));
  code_kernel(text, target, "code", whole_stretch);
  code_kernel(text, target, "lead_code", stretch_with_lead);
  return text.take();
}

std::string generate_jump_ptx(const PtxTarget& target) {
  PtxText text;
  text.raw(module_header(target));
  code_kernel(text, target, "near_jumps", near_jumps);
  code_kernel(text, target, "few_near_jumps", few_near_jumps);
  code_kernel(text, target, "far_jumps", far_jumps);
  code_kernel(text, target, "aligned_jumps", aligned_jumps);
  return text.take();
}

std::string generate_operand_ptx(const PtxTarget& target) {
  PtxText text;
  text.raw(module_header(target));
  operand_kernel<CodeStepKind::kApartOperands>(text, target);
  operand_kernel<CodeStepKind::kNearOperands>(text, target);
  operand_kernel<CodeStepKind::kCloseOperands>(text, target);
  return text.take();
}

}  // namespace gputopo::cuda
