// Launches of instruction programs without a GPU: layout, tasks, results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "device/launch/code_decode.h"
#include "device/launch/code_layout.h"
#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kCodeSms = 132;
constexpr Address kCodeBase = 0x10'000;

const InstructionProgram kCodePair{.actors = {{.sm = 7}, {.sm = 2, .warp = 3}, {.sm = 7, .warp = 1}},
                                   .steps = {{.first = 4096, .count = 512, .passes = 3},
                                             {.actor = 1, .count = 64, .lead = 10},
                                             {.actor = 2, .count = 96, .passes = 2}}};

TEST(CodeLayout, SmsHaveSlotsAndPassesTheirCycles) {
  const CodeLayout layout = lay_out(kCodePair, kCodeSms);
  EXPECT_THAT(layout.sms, ElementsAre(7, 2));
  EXPECT_THAT(layout.slots, ElementsAre(0, 1, 0));
  EXPECT_EQ(layout.warps, 4u);
  EXPECT_TRUE(layout.has_lead);
  EXPECT_EQ(layout.records, 3 * sizeof(CodeStepTask));
  EXPECT_EQ(layout.turn, layout.records + 2 * 48);
  // Each is preceded by room that the kernel may overwrite.
  EXPECT_EQ(layout.passes[0], layout.turn + 8 + 8);
  EXPECT_EQ(layout.passes[1], layout.passes[0] + 3 * 8 + 8);
  EXPECT_EQ(layout.passes[2], layout.passes[1] + 8 + 8);
  EXPECT_EQ(layout.bytes, layout.passes[2] + 2 * 8);
}

TEST(CodeLayout, WithoutNamesThereIsOneSlot) {
  const CodeLayout layout =
      lay_out(InstructionProgram{.actors = {{}, {.warp = 1}}, .steps = {{.count = 32}}}, kCodeSms);
  EXPECT_THAT(layout.sms, ElementsAre(kAnySm));
  EXPECT_THAT(layout.slots, ElementsAre(0, 0));
  EXPECT_FALSE(layout.has_lead);
}

TEST(CodeLayout, AnSmThatIsNotThereIsRefused) {
  EXPECT_THROW(static_cast<void>(lay_out(kCodePair, 7)), NotSupportedError);
  EXPECT_NO_THROW(static_cast<void>(lay_out(kCodePair, 8)));
}

TEST(CodeEncoding, TasksNameTheirPartOfTheStretch) {
  const CodeLayout layout = lay_out(kCodePair, kCodeSms);
  const std::vector<CodeStepTask> tasks = encode_steps(kCodePair, layout, 32, kCodeBase);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].result, kCodeBase + layout.passes[0]);
  EXPECT_EQ(tasks[0].kind, static_cast<std::uint32_t>(CodeStepKind::kRun));
  EXPECT_EQ(tasks[0].slot, 0u);
  EXPECT_EQ(tasks[0].thread, 0u);
  EXPECT_EQ(tasks[0].begin, 1u);
  EXPECT_EQ(tasks[0].end, (4096u + 512) / 32 - 1);
  EXPECT_EQ(tasks[0].passes, 3u);
  EXPECT_EQ(tasks[0].lead, 0u);
  EXPECT_EQ(tasks[1].slot, 1u);
  EXPECT_EQ(tasks[1].thread, 3 * 32u);
  EXPECT_EQ(tasks[1].begin, 0u);
  EXPECT_EQ(tasks[1].end, 1u);
  EXPECT_EQ(tasks[1].lead, 10u);
  EXPECT_EQ(tasks[2].slot, 0u);
  EXPECT_EQ(tasks[2].thread, 32u);
}

TEST(CodeEncoding, ConstantsCountInBytes) {
  const InstructionProgram program{
      .actors = {{}}, .steps = {{.kind = CodeStepKind::kConstants, .first = 128, .count = 1024, .stride_bytes = 256}}};
  const CodeStepTask task = encode_steps(program, lay_out(program, kCodeSms), 32, kCodeBase)[0];
  EXPECT_EQ(task.kind, static_cast<std::uint32_t>(CodeStepKind::kConstants));
  EXPECT_EQ(task.begin, 128u);
  EXPECT_EQ(task.end, 1152u);
  EXPECT_EQ(task.stride, 256u);
}

TEST(CodeEncoding, ParametersNameTheSms) {
  const CodeLayout layout = lay_out(kCodePair, kCodeSms);
  const CodeParameters parameters = encode(layout, {107, 102}, 555, kCodeBase);
  EXPECT_EQ(parameters.steps, kCodeBase);
  EXPECT_EQ(parameters.records, kCodeBase + layout.records);
  EXPECT_EQ(parameters.turn, kCodeBase + layout.turn);
  EXPECT_EQ(parameters.step_count, 3u);
  EXPECT_THAT(parameters.wanted_sm, ElementsAre(107, 102));
  EXPECT_EQ(parameters.patience_cycles, 555u);
  EXPECT_THAT(encode(layout, {kAnySm}, 555, kCodeBase).wanted_sm, ElementsAre(kAnySm, kAnySm));
}

TEST(CodeDuration, IsBounded) {
  InstructionProgram program{.actors = {{}}, .steps = {{.count = 24'000, .passes = 1024}}};
  EXPECT_NO_THROW(check_duration(program));
  program.steps.assign(3, program.steps[0]);
  EXPECT_THROW(check_duration(program), UsageError);
}

// ---- decoding ----

class LeftByCode {
 public:
  void ran(std::size_t slot, std::uint32_t sm, std::uint32_t error = 0) {
    put(slot * 48, BlockRecord{.sm = sm, .claimed = 1, .error = error});
  }
  template <typename T>
  void put(std::uint64_t offset, const T& value) {
    std::memcpy(memory_.data() + offset, &value, sizeof(value));
  }
  [[nodiscard]] CodeAnswer decoded() const { return decode(kCodePair, layout_, memory_, kCodeSms); }
  [[nodiscard]] std::string problem() const {
    return test::message_of<NotSupportedError>("decoding", [this] { static_cast<void>(decoded()); });
  }
  const CodeLayout layout_ = lay_out(kCodePair, kCodeSms);

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(layout_.bytes - layout_.records);
};

TEST(CodeDecoding, EveryPassHasItsCycles) {
  LeftByCode left;
  left.ran(0, 107);
  left.ran(1, 102);
  left.put(left.layout_.passes[0] - left.layout_.records, std::array<std::uint64_t, 3>{900, 500, 501});
  left.put(left.layout_.passes[1] - left.layout_.records, std::uint64_t{70});
  left.put(left.layout_.passes[2] - left.layout_.records, std::array<std::uint64_t, 2>{80, 81});
  const CodeAnswer answer = left.decoded();
  EXPECT_EQ(answer.blocks[0].sm, 107u);
  EXPECT_EQ(answer.blocks[1].sm, 102u);
  EXPECT_THAT(answer.pass_cycles, ElementsAre(ElementsAre(900, 500, 501), ElementsAre(70), ElementsAre(80, 81)));
}

TEST(CodeDecoding, AnSmWithoutABlockIsNamed) {
  LeftByCode neither;
  EXPECT_THAT(neither.problem(), HasSubstr("ran on SM 7: the numbering of this GPU's 132 SMs may have gaps"));
  LeftByCode one;
  one.ran(0, 107);
  EXPECT_THAT(one.problem(), HasSubstr("ran on SM 2:"));
  // The block that ran waited in vain for the other one.
  LeftByCode waited;
  waited.ran(0, 107, 1);
  waited.ran(1, 102);
  EXPECT_THAT(waited.problem(), HasSubstr("ran on SM 2:"));
}

}  // namespace
}  // namespace gputopo::launch
