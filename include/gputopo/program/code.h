// Programs for instruction caches: stretches of straight-line code, jumps, and constants beside code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gputopo {

struct InstructionResult;

// Straight-line code: arithmetic instructions that are independent of the few before them, so that instruction supply
// limits the speed. A device has one stretch of kMaxCodeInstructions, and steps run parts of it. Parts that do not
// overlap are different code for every cache. Lengths are in blocks of kCodeBlockInstructions (with the test and
// branch that can end a part). A part can start at every kCodeEntryInstructions. In front of the stretch are
// kCodeLeadInstructions more (the lead); a part that starts with the stretch can include a multiple of kCodeLeadStep
// of them. They may run slower, and such a part ends within the first kMaxCodeBehindLead.
inline constexpr std::uint32_t kCodeBlockInstructions = 32;
inline constexpr std::uint32_t kCodeEntryInstructions = 4096;
inline constexpr std::uint32_t kMaxCodeInstructions = 24192;
inline constexpr std::uint32_t kMaxCodeBlocks = kMaxCodeInstructions / kCodeBlockInstructions;
inline constexpr std::uint32_t kCodeLeadInstructions = 128;
inline constexpr std::uint32_t kCodeLeadStep = 2;
inline constexpr std::uint32_t kCodeLeads = kCodeLeadInstructions / kCodeLeadStep;
inline constexpr std::uint32_t kMaxCodeBehindLead = 7680;

// Two stretches of blocks with jumps. A block executes a test whether the pass ends and a jump to another block, at
// least kJumpInstructions at its beginning, and skips the rest. The order of blocks looks random to a prefetcher. Near
// blocks follow one another closely, and the first of them are contiguous code but for kNearJumpGroup blocks. Far
// blocks are farther apart than most lines are long.
inline constexpr std::uint32_t kMaxNearJumps = 512;
inline constexpr std::uint32_t kMaxFarJumps = 384;
inline constexpr std::uint32_t kJumpInstructions = 3;
inline constexpr std::uint32_t kNearJumpFiller = 3;  // instructions that are skipped
inline constexpr std::uint32_t kFarJumpFiller = 21;
inline constexpr std::uint32_t kNearJumpGroup = 8;
inline constexpr std::uint32_t kFarJumpGroup = 64;

// A third stretch shows the instruction fetch size. Each block is one instruction longer than kAlignments, so it
// starts one instruction later in its fetch than the block before. A pass jumps between blocks that start at the same
// place of a fetch: kManyAlignedJumps of them, or kFewAlignedJumps others. All execute the same arithmetic and jump.
inline constexpr std::uint32_t kAlignments = 32;
inline constexpr std::uint32_t kManyAlignedJumps = 6;
inline constexpr std::uint32_t kFewAlignedJumps = 3;
inline constexpr std::uint32_t kAlignedBlocks = kAlignments * (kManyAlignedJumps + kFewAlignedJumps);
inline constexpr std::uint32_t kAlignedJumpInstructions = 4;
inline constexpr std::uint32_t kAlignedJumpFiller = kAlignments + 1 - kAlignedJumpInstructions;

// A chain of operations, each on the previous result and on a word of constant memory whose address is part of the
// instruction. The words start at byte 0 of the bank, at the distances below for apart, near and close operands. The
// three kinds differ only in the time to fetch the constants.
inline constexpr std::uint32_t kMaxOperands = 512;
inline constexpr std::uint32_t kApartOperandBytes = 64;
inline constexpr std::uint32_t kNearOperandBytes = 32;
inline constexpr std::uint32_t kCloseOperandBytes = 4;

// One warp.
struct CodeActor {
  std::optional<std::uint32_t> sm;  // the SM that must run it; all actors of a program name one, or none does
  std::uint32_t warp = 0;
  friend bool operator==(const CodeActor&, const CodeActor&) = default;
};

enum class CodeStepKind : std::uint8_t {
  kRun,        // instructions [first, first + count) of the stretch
  kConstants,  // loads `count` bytes of the constant bank from byte `first` on, one load per `stride_bytes`, each after
               // the previous one has arrived
  kNearJumps,  // `count` jumps, from the first near block on
  kFarJumps,   // the same with far blocks
  kAlignedJumps,   // `count` jumps between blocks that start `first` instructions later than the first of all
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
// Whether a pass is a number of jumps or operations, from the first on.
[[nodiscard]] constexpr bool is_counted(CodeStepKind kind) { return is_jumps(kind) || is_operands(kind); }
[[nodiscard]] constexpr std::uint32_t max_count(CodeStepKind kind) {
  if (is_operands(kind)) return kMaxOperands;
  if (kind == CodeStepKind::kAlignedJumps) return kManyAlignedJumps;
  return kind == CodeStepKind::kNearJumps ? kMaxNearJumps : kMaxFarJumps;
}
// The minimum number of instructions that a block executes.
[[nodiscard]] constexpr std::uint32_t jump_instructions(CodeStepKind kind) {
  return kind == CodeStepKind::kAlignedJumps ? kAlignedJumpInstructions : kJumpInstructions;
}
// The number of instructions in a block that are skipped.
[[nodiscard]] constexpr std::uint32_t jump_filler(CodeStepKind kind) {
  if (kind == CodeStepKind::kAlignedJumps) return kAlignedJumpFiller;
  return kind == CodeStepKind::kNearJumps ? kNearJumpFiller : kFarJumpFiller;
}
// The position in its stretch, in blocks, of the block that `jump` jumps lead to.
[[nodiscard]] constexpr std::uint32_t place_of_jump(CodeStepKind kind, std::uint32_t jump) {
  const bool near = kind == CodeStepKind::kNearJumps;
  const std::uint32_t group = near ? kNearJumpGroup : kFarJumpGroup;
  const std::uint32_t turn = near ? 3 : 29;  // coprime to the group
  return jump / group * group + jump % group * turn % group;
}
// The same for aligned blocks and passes of `count` jumps.
[[nodiscard]] constexpr std::uint32_t place_of_aligned_jump(std::uint32_t alignment, std::uint32_t count,
                                                            std::uint32_t jump) {
  return alignment + kAlignments * (jump + (count == kManyAlignedJumps ? 0 : kManyAlignedJumps));
}
[[nodiscard]] std::string_view to_string(CodeStepKind kind);

// `first`, `count` and `stride_bytes` of constants are multiples of this.
inline constexpr std::uint32_t kConstantStepBytes = 64;

// An actor runs code or constants `passes` times. The next step starts when it has finished, on any SM.
struct CodeStep {
  CodeStepKind kind = CodeStepKind::kRun;
  std::uint32_t actor = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t passes = 1;
  std::uint32_t stride_bytes = kConstantStepBytes;  // constants
  std::uint32_t lead = 0;                           // instructions in front of the stretch that a run starts with
  friend bool operator==(const CodeStep&, const CodeStep&) = default;
};

// Measures where instructions come from. Always runs alone. Without named SMs, all actors are warps of one SM; actors
// may name at most two SMs. If a step has jumps or operands, all but constant steps have its kind and count.
struct InstructionProgram {
  static constexpr std::string_view kKind = "code";
  using Result = InstructionResult;

  std::vector<CodeActor> actors;
  std::vector<CodeStep> steps;
  friend bool operator==(const InstructionProgram&, const InstructionProgram&) = default;
};

struct InstructionResult {
  std::vector<std::vector<std::uint64_t>> pass_cycles;  // per step: cycles of each pass
  std::vector<std::uint32_t> sms;                       // the SM of each actor
  double block_bytes = 0;  // bytes of kCodeBlockInstructions in compiled code, control words included; jumps: from
                           // block to block; operands: for each
  std::uint32_t loop_bytes = 0;  // upper bound of further code that a pass runs
  friend bool operator==(const InstructionResult&, const InstructionResult&) = default;
};

}  // namespace gputopo
