#include "device/cuda/code_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

// Independent results in flight: more than the cycles that an arithmetic instruction takes on recent GPUs.
constexpr std::uint32_t kChains = 8;
constexpr std::uint32_t kEntries = (kMaxCodeInstructions + kCodeEntryInstructions - 1) / kCodeEntryInstructions;
constexpr std::uint32_t kLeavingInstructions = 2;  // a test and a branch

void begin_code_kernel(PtxText& text, std::string_view name) {
  begin_kernel(text, name, "CodeParameters");
  text.add(R"(  .reg .b64 %bank;
  .reg .pred %first_thread, %other_sm, %taken, %done, %more, %mine, %is_constants, %spread, %late, %leave, %jumping;
  .reg .b32 %thread_id, %sm, %step_count, %step_index, %never, %wanted0, %wanted1, %patience, %longest, %slot, %old, %shared;
  .reg .b32 %kind, %step_slot, %thread, %begin, %lead, %end, %stride, %passes, %offset, %value, %before, %after, %turns, %sink, %count;
  .reg .b64 %steps, %records, %turn, %result, %now, %previous, %cycles, %stamp, %wide;)");
  for (std::uint32_t i = 0; i < kChains; ++i) text.line("  .reg .f32 %f{};", i);
  text.add("  .reg .f32 %factor, %addend;");
  load_parameters(text, "CodeParameters",
                  "steps records turn step_count never wanted0=wanted_sm[0] wanted1=wanted_sm[1] "
                  "patience=patience_cycles longest=longest_wait_cycles count");
  // Operands come from per-thread registers, not from registers of the warp, as in ordinary code.
  text.add(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %sm, %smid;
  mov.u32 %shared, dynamic_shared;
  setp.eq.u32 %first_thread, %thread_id, 0;
mov.b32 %factor, %thread_id;
mov.b32 %addend, %thread_id;)");
  for (std::uint32_t i = 0; i < kChains; ++i) text.line("mov.b32 %f{}, %thread_id;", i);
}

// Claims the slot of the block's SM, or ends the block. There may be a second block on the wanted SM.
void take_slot(PtxText& text) {
  text.add(R"(
  mov.u32 %slot, 0;
  setp.ne.u32 %spread, %wanted1, %wanted0;
setp.eq.u32 %more, %wanted0, {any_sm};

  @%more bra CLAIM;
  setp.eq.u32 %more, %wanted0, %sm;
  @%more bra CLAIM;
  mov.u32 %slot, 1;
  setp.ne.u32 %other_sm, %wanted1, %sm;
  @%other_sm bra WRONG_SM;
  CLAIM:)",
           {{"any_sm", kAnySm}});
  move_to_element(text, "%records", "%slot", "BlockRecord");
  claim_record(text, "%records");
  text.add("@%first_thread st.global.u32 [%records + {BlockRecord.sm}], %sm;");
}

// Writes the time since the pass began to the record of the pass that has ended.
constexpr std::string_view kEndOfPass = R"(mov.u64 %now, %clock64;
sub.u64 %cycles, %now, %previous;
mov.u64 %previous, %now;
st.global.u64 [%result], %cycles;
add.u64 %result, %result, 8;
sub.u32 %passes, %passes, 1;
setp.eq.u32 %done, %passes, 0;
@%done bra STEP_END;)";

void multiply_add(PtxText& text, std::uint32_t index) {
  text.line("fma.rn.f32 %f{}, %f{}, %factor, %addend;", index % kChains, index % kChains);
}

void blocks_of_code(PtxText& text, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t block = first; block < end; ++block) {
    for (std::uint32_t i = 0; i < kCodeBlockInstructions - kLeavingInstructions; ++i) multiply_add(text, i);
    text.add("setp.eq.u32 %leave, %end, {block};\n@%leave bra PASS;", {{"block", block}});
  }
}

// Jumps to the entry `number` of `entries`.
void enter(PtxText& text, std::string_view number, std::uint32_t entries) {
  std::string labels = "ENTRY0";
  for (std::uint32_t entry = 1; entry < entries; ++entry) labels += fmt::format(", ENTRY{}", entry);
  text.line("ENTRIES: .branchtargets {};\nbrx.idx {}, ENTRIES;", labels, number);
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
  text.add("ENTRY0:");
  blocks_of_code(text, 0, kMaxCodeBehindLead / kCodeBlockInstructions);
}

// Never runs, and compiles quickly.
void jumped_over(PtxText& text, std::uint32_t instructions) {
  for (std::uint32_t i = 0; i < instructions; ++i) text.line("pmevent 1;");
}

// The number of jumps is a kernel parameter, the same for all threads: branches that may differ among threads become
// something other than jumps. The compiler cannot know that the jump is always taken, or it would move the blocks.
void jump_blocks(PtxText& text, CodeStepKind kind, std::uint32_t blocks) {
  std::vector<std::uint32_t> jump_at(blocks);
  for (std::uint32_t jump = 0; jump < blocks; ++jump) jump_at[place_of_jump(kind, jump)] = jump;
  text.add("setp.ne.u32 %jumping, %thread_id, %never;");
  for (const std::uint32_t jump : jump_at) {
    text.add(R"(JUMP{jump}:
setp.eq.u32 %leave, %count, {next};
@%leave bra PASS;
@%jumping bra {target};)",
             {{"jump", jump}, {"next", jump + 1}, {"target", jump + 1 < blocks ? "JUMP{next}" : "PASS"}});
    jumped_over(text, jump_filler(kind));
  }
}

void near_jumps(PtxText& text) { jump_blocks(text, CodeStepKind::kNearJumps, kMaxNearJumps); }
void few_near_jumps(PtxText& text) { jump_blocks(text, CodeStepKind::kNearJumps, kFewNearJumps); }
void far_jumps(PtxText& text) { jump_blocks(text, CodeStepKind::kFarJumps, kMaxFarJumps); }

// All jumps lead forward, only parameters decide them, and the table of entries names only the beginnings of passes.
// Otherwise the compiler orders the blocks differently, or makes some longer.
void aligned_jumps(PtxText& text) {
  text.add("setp.ne.u32 %jumping, %count, %never;");
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
  text.add("LAST:\nbra PASS;");
}

// A function, because the compiler would move all loads of constants out of a loop. Here each load stands in front of
// its operation, or is part of it.
void operand_function(PtxText& text, CodeStepKind kind) {
  text.add(R"(.func (.reg .b32 %combined) operations_of_{kind}(.reg .b32 %given, .reg .b32 %wanted)
{
.reg .b32 %operand;
.reg .pred %last;
mov.u32 %combined, %given;)",
           {{"kind", to_string(kind)}});
  for (std::uint32_t operand = 0; operand < kMaxOperands; ++operand) {
    text.add(R"(ld.const.u32 %operand, [constant_bank + {offset}];
xor.b32 %combined, %combined, %operand;
setp.eq.u32 %last, %wanted, {count};
@%last bra LAST;)",
             {{"offset", operand * operand_stride_bytes(kind)}, {"count", operand + 1}});
  }
  text.add("LAST:\nret;\n}");
}

template <CodeStepKind kKind>
void operands(PtxText& text) {
  text.add(R"(mov.u32 %value, %thread_id;
call (%value), operations_of_{kind}, (%value, %count);
setp.eq.u32 %more, %value, %never;
@%more st.global.u32 [%records + {BlockRecord.sink}], %value;
bra PASS;)",
           {{"kind", to_string(kKind)}});
}

// The end of a pass and the way into the next are one piece of code. A step begins with it as well, as if a pass had
// ended. If it were separate from the stretch, the compiler would place it behind the whole stretch, where it would lie
// in the same cache sets as code that no pass of its length runs.
constexpr std::string_view kBeginStep = R"(sub.u64 %result, %result, 8;
add.u32 %passes, %passes, 1;
mov.u64 %previous, %clock64;
PASS:
{end_of_pass})";

// The bank holds zeros, so each address is the previous one plus the value there plus the step. The code names the
// bank, or the compiler would drop it. It is the module's only bank, so it begins at 0. The end of the walk must look
// used, or the compiler would drop the walk.
constexpr std::string_view kConstantsStep = R"(bra STEP_END;
CONSTANTS:
mov.u64 %previous, %clock64;
CONSTANTS_PASS:
mov.u64 %bank, constant_bank;
cvt.u32.u64 %offset, %bank;
add.u32 %offset, %offset, %begin;
NEXT_CONSTANT:
.pragma "nounroll";
ld.const.u32 %value, [%offset];
add.u32 %offset, %offset, %value;
add.u32 %offset, %offset, %stride;
setp.lt.u32 %more, %offset, %end;
@%more bra NEXT_CONSTANT;
setp.eq.u32 %more, %offset, %never;
@%more st.global.u32 [%records + {BlockRecord.sink}], %offset;
{end_of_pass}
bra CONSTANTS_PASS;)";

// Blocks on two SMs wait for the end of each other's steps; the actors of one block wait at a barrier. If the other
// block never comes, the remaining steps run in vain, and the host sees the error.
constexpr std::string_view kStepEnd = R"(STEP_END:
bar.sync 0;
add.u32 %step_index, %step_index, 1;
add.u64 %steps, %steps, {CodeStepTask};
@!%spread bra NEXT_STEP;
@!%first_thread bra TURN_COMES;
setp.ne.u32 %more, %step_slot, %slot;
@%more bra WAIT_FOR_TURN;
membar.gl;
st.volatile.global.u32 [%turn], %step_index;
WAIT_FOR_TURN:
mov.u32 %before, %clock;
POLL:
ld.volatile.global.u32 %turns, [%turn];
mov.u32 %after, %clock;
sub.u32 %after, %after, %before;
setp.ge.u32 %late, %after, %longest;
@%late bra GIVE_UP;
setp.lt.u32 %more, %turns, %step_index;
@%more bra POLL;
bra TURN_COMES;
GIVE_UP:
st.global.u32 [%records + {BlockRecord.error}], 1;
mov.u32 %longest, 0;
TURN_COMES:
bar.sync 0;
bra NEXT_STEP;
FINISH:)";

void end_code_kernel(PtxText& text) {
  stamp_clocks(text, "end");
  for (std::uint32_t i = 1; i < kChains; ++i) text.line("add.f32 %f0, %f0, %f{};", i);
  text.add(R"(mov.b32 %sink, %f0;
setp.eq.u32 %more, %sink, %never;
@%more st.global.u32 [%records + {BlockRecord.sink}], %sink;)");
  linger_and_exit(text, "LINGER");
}

void code_kernel(PtxText& text, std::string_view name, void (*code)(PtxText&)) {
  begin_code_kernel(text, name);
  take_slot(text);
  stamp_clocks(text, "start");
  text.add(R"(mov.u32 %step_index, 0;
NEXT_STEP:
setp.ge.u32 %done, %step_index, %step_count;
@%done bra FINISH;)");
  load_fields(text, "ld.global.cg", "%steps", "CodeStepTask",
              "result kind step_slot=slot thread begin end stride passes lead");
  text.line("div.u32 %lead, %lead, {};", kCodeLeadStep);
  // Blocks compare with a value that is the same for all threads, so the exit is a direct branch to the end of the
  // pass. For compute capability 8 alone, the compiler then adds a jump to every block that is not left. So there it is
  // told that threads may differ, and it gathers the exits behind all blocks.
  if (text.target().sm / 10 == 8) {
    text.add(R"(setp.eq.u32 %more, %thread_id, %never;
selp.u32 %value, 1, 0, %more;
add.u32 %end, %end, %value;)");
  }
  text.add(R"(setp.eq.u32 %mine, %thread_id, %thread;
setp.eq.and.u32 %mine, %step_slot, %slot, %mine;
@!%mine bra STEP_END;
setp.eq.u32 %is_constants, %kind, {constants};
@%is_constants bra CONSTANTS;)",
           {{"constants", static_cast<std::uint32_t>(CodeStepKind::kConstants)}});
  text.add(kBeginStep, {{"end_of_pass", kEndOfPass}});
  code(text);
  text.add(kConstantsStep, {{"end_of_pass", kEndOfPass}});
  text.add(kStepEnd);
  end_code_kernel(text);
}

template <CodeStepKind kKind>
void operand_kernel(PtxText& text) {
  operand_function(text, kKind);
  code_kernel(text, to_string(kKind), operands<kKind>);
}

}  // namespace

std::string generate_code_ptx(const PtxTarget& target) {
  PtxText text(target);
  code_kernel(text, "code", whole_stretch);
  code_kernel(text, "lead_code", stretch_with_lead);
  return text.take();
}

std::string generate_jump_ptx(const PtxTarget& target) {
  PtxText text(target);
  code_kernel(text, "near_jumps", near_jumps);
  code_kernel(text, "few_near_jumps", few_near_jumps);
  code_kernel(text, "far_jumps", far_jumps);
  code_kernel(text, "aligned_jumps", aligned_jumps);
  return text.take();
}

std::string generate_operand_ptx(const PtxTarget& target) {
  PtxText text(target);
  operand_kernel<CodeStepKind::kApartOperands>(text);
  operand_kernel<CodeStepKind::kNearOperands>(text);
  operand_kernel<CodeStepKind::kCloseOperands>(text);
  return text.take();
}

}  // namespace gputopo::cuda
