// Stretches of straight-line code, and constants beside them: the caches of instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gputopo {

struct InstructionResult;

// Straight-line code: arithmetic instructions that depend on none of the few before them, so that supplying them is
// what takes the time. A device holds one stretch of kMaxCodeInstructions of it; steps run parts of that, and two
// parts that do not overlap are different code to every cache. Lengths count in blocks of kCodeBlockInstructions (the
// test that ends a part and its branch included), and a part can begin at every kCodeEntryInstructions. In front of the
// stretch lie kCodeLeadInstructions more, which a part that begins with the stretch can begin by: any kCodeLeadStep of
// them. They may run slower, and such a part ends within the first kMaxCodeBehindLead.
inline constexpr std::uint32_t kCodeBlockInstructions = 32;
inline constexpr std::uint32_t kCodeEntryInstructions = 4096;
inline constexpr std::uint32_t kMaxCodeInstructions = 24192;
inline constexpr std::uint32_t kMaxCodeBlocks = kMaxCodeInstructions / kCodeBlockInstructions;
inline constexpr std::uint32_t kCodeLeadInstructions = 128;
inline constexpr std::uint32_t kCodeLeadStep = 2;
inline constexpr std::uint32_t kCodeLeads = kCodeLeadInstructions / kCodeLeadStep;
inline constexpr std::uint32_t kMaxCodeBehindLead = 7680;

// And two stretches of blocks that are jumped over: what runs of a block is a test whether the pass ends there and a
// jump to another block, at least kJumpInstructions of machine code at its beginning. Which block comes next looks
// random to whatever fetches code ahead. Near blocks follow one another closely, and the first of them are one piece of
// code, but for kNearJumpGroup blocks; far ones are farther apart than most lines are long.
inline constexpr std::uint32_t kMaxNearJumps = 512;
inline constexpr std::uint32_t kMaxFarJumps = 384;
inline constexpr std::uint32_t kJumpInstructions = 3;
inline constexpr std::uint32_t kNearJumpFiller = 3;  // instructions that are jumped over
inline constexpr std::uint32_t kFarJumpFiller = 21;
inline constexpr std::uint32_t kNearJumpGroup = 8;
inline constexpr std::uint32_t kFarJumpGroup = 64;

// A third stretch tells what is fetched at once: blocks of which each is one instruction longer than kAlignments of
// them, so that it begins one instruction later in its fetch than the one before. A pass jumps on, over some that all
// begin at the same place: kManyAlignedJumps of them, or kFewAlignedJumps others. What runs of a block is the same
// everywhere: arithmetic and the jump.
inline constexpr std::uint32_t kAlignments = 32;
inline constexpr std::uint32_t kManyAlignedJumps = 6;
inline constexpr std::uint32_t kFewAlignedJumps = 3;
inline constexpr std::uint32_t kAlignedBlocks = kAlignments * (kManyAlignedJumps + kFewAlignedJumps);
inline constexpr std::uint32_t kAlignedJumpInstructions = 4;
inline constexpr std::uint32_t kAlignedJumpFiller = kAlignments + 1 - kAlignedJumpInstructions;

// And operations one after another, each on the result of the one before and a word of constant memory whose address
// stands in the instruction. The words begin at byte 0 of the bank, those of apart, near and close operands so far from
// one another. Only what fetching the constants takes differs.
inline constexpr std::uint32_t kMaxOperands = 512;
inline constexpr std::uint32_t kApartOperandBytes = 64;
inline constexpr std::uint32_t kNearOperandBytes = 32;
inline constexpr std::uint32_t kCloseOperandBytes = 4;

// One warp.
struct CodeActor {
  std::optional<std::uint32_t> sm;  // that must run it; either all actors of a program name one or none does
  std::uint32_t warp = 0;
  friend bool operator==(const CodeActor&, const CodeActor&) = default;
};

enum class CodeStepKind : std::uint8_t {
  kRun,        // instructions [first, first + count) of the stretch
  kConstants,  // `count` bytes of constants are loaded from byte `first` of the bank on, one load every `stride_bytes`,
               // each after the one before has arrived
  kNearJumps,  // `count` jumps, from the first of the near blocks on
  kFarJumps,   // the same of the far ones
  kAlignedJumps,   // `count` jumps over blocks that begin `first` instructions later than the first of all
  kApartOperands,  // `count` operations on constants
  kNearOperands,
  kCloseOperands,
};
[[nodiscard]] constexpr bool is_jumps(CodeStepKind kind) {
  return kind == CodeStepKind::kNearJumps || kind == CodeStepKind::kFarJumps || kind == CodeStepKind::kAlignedJumps;
}
[[nodiscard]] constexpr bool is_operands(CodeStepKind kind) {
  return kind == CodeStepKind::kApartOperands || kind == CodeStepKind::kNearOperands ||
         kind == CodeStepKind::kCloseOperands;
}
[[nodiscard]] constexpr std::uint32_t operand_stride_bytes(CodeStepKind kind) {
  if (kind == CodeStepKind::kApartOperands) return kApartOperandBytes;
  return kind == CodeStepKind::kNearOperands ? kNearOperandBytes : kCloseOperandBytes;
}
// Of what a pass counts: jumps or operations, from the first on.
[[nodiscard]] constexpr bool is_counted(CodeStepKind kind) { return is_jumps(kind) || is_operands(kind); }
[[nodiscard]] constexpr std::uint32_t max_count(CodeStepKind kind) {
  if (is_operands(kind)) return kMaxOperands;
  if (kind == CodeStepKind::kAlignedJumps) return kManyAlignedJumps;
  return kind == CodeStepKind::kNearJumps ? kMaxNearJumps : kMaxFarJumps;
}
// Instructions of a block that run, at least.
[[nodiscard]] constexpr std::uint32_t jump_instructions(CodeStepKind kind) {
  return kind == CodeStepKind::kAlignedJumps ? kAlignedJumpInstructions : kJumpInstructions;
}
// Instructions of a block that are jumped over.
[[nodiscard]] constexpr std::uint32_t jump_filler(CodeStepKind kind) {
  if (kind == CodeStepKind::kAlignedJumps) return kAlignedJumpFiller;
  return kind == CodeStepKind::kNearJumps ? kNearJumpFiller : kFarJumpFiller;
}
// Where in its stretch the block lies that so many jumps are before, in blocks.
[[nodiscard]] constexpr std::uint32_t place_of_jump(CodeStepKind kind, std::uint32_t jump) {
  const bool near = kind == CodeStepKind::kNearJumps;
  const std::uint32_t group = near ? kNearJumpGroup : kFarJumpGroup;
  const std::uint32_t turn = near ? 3 : 29;  // coprime to the group
  return jump / group * group + jump % group * turn % group;
}
// The same of aligned blocks, for passes of `count` jumps.
[[nodiscard]] constexpr std::uint32_t place_of_aligned_jump(std::uint32_t alignment, std::uint32_t count,
                                                            std::uint32_t jump) {
  return alignment + kAlignments * (jump + (count == kManyAlignedJumps ? 0 : kManyAlignedJumps));
}
[[nodiscard]] std::string_view to_string(CodeStepKind kind);

// What `first`, `count` and `stride_bytes` of constants are multiples of.
inline constexpr std::uint32_t kConstantStepBytes = 64;

// An actor goes over code or constants `passes` times. The next step begins when it has ended, on whatever SM.
struct CodeStep {
  CodeStepKind kind = CodeStepKind::kRun;
  std::uint32_t actor = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t passes = 1;
  std::uint32_t stride_bytes = kConstantStepBytes;  // constants
  std::uint32_t lead = 0;                           // instructions in front of the stretch that a run begins with
  friend bool operator==(const CodeStep&, const CodeStep&) = default;
};

// Where instructions come from. Always runs alone. Without named SMs all actors are warps of one SM; actors may name
// two SMs at most. Where one step is of jumps or of operands, all but those of constants are, of one kind and of as
// many, the first one too.
struct InstructionProgram {
  static constexpr std::string_view kKind = "code";
  using Result = InstructionResult;

  std::vector<CodeActor> actors;
  std::vector<CodeStep> steps;
  friend bool operator==(const InstructionProgram&, const InstructionProgram&) = default;
};

struct InstructionResult {
  std::vector<std::vector<std::uint64_t>> pass_cycles;  // by step: of each pass
  std::vector<std::uint32_t> sms;                       // where each actor ran
  double block_bytes = 0;        // of kCodeBlockInstructions as the device compiled them, control words included; of
                                 // jumps: from one block to the next; of operands: for each
  std::uint32_t loop_bytes = 0;  // of code that a pass runs beside them: at most this
  friend bool operator==(const InstructionResult&, const InstructionResult&) = default;
};

}  // namespace gputopo
