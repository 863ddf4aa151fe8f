#include "gputopo/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "gputopo/error.h"
#include "program/kinds.h"
#include "support/random_program.h"

namespace gputopo {
namespace {

ChaseProgram small_chase() {
  ChaseProgram program;
  program.arrays = {{.bytes = 4096, .stride_bytes = 64}};
  program.actors = {{}};
  program.steps = {{.kind = StepKind::kTimed, .loads = 64}};
  return program;
}

TEST(ChainOrder, EveryOrderVisitsEachElementOnce) {
  ChaseArray array{
      .bytes = 6400, .stride_bytes = 64, .order = Order::kSequential, .second_order = Order::kShuffled, .seed = 7};
  for (const std::uint32_t chain : {0u, 1u}) {
    std::vector<std::uint32_t> order = chain_order(array, chain);
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  }
  array.second_order = Order::kReversed;
  EXPECT_EQ(chain_order(array, 1).front(), 99u);
}

TEST(ChainOrder, ListedElementsOnly) {
  const ChaseArray array{.bytes = 6400, .stride_bytes = 64, .second_order = Order::kReversed, .elements = {7, 3, 90}};
  EXPECT_EQ(array.chain_length(), 3u);
  EXPECT_THAT(chain_order(array, 0), testing::ElementsAre(7, 3, 90));
  EXPECT_THAT(chain_order(array, 1), testing::ElementsAre(90, 3, 7));
}

// The same on every platform and forever, because recordings depend on it.
TEST(ChainOrder, ShuffleIsPinned) {
  const ChaseArray array{.bytes = 8 * 16, .stride_bytes = 16, .order = Order::kShuffled, .seed = 1};
  EXPECT_THAT(chain_order(array, 0), testing::ElementsAreArray({2, 5, 6, 1, 7, 4, 0, 3}));
  EXPECT_NE(chain_order(array, 0),
            chain_order({.bytes = 8 * 16, .stride_bytes = 16, .order = Order::kShuffled, .seed = 2}, 0));
}

TEST(ChainOrder, ABeginningIsThatOfTheWhole) {
  ChaseArray array{.bytes = 6400, .stride_bytes = 64, .second_order = Order::kShuffled, .seed = 7};
  for (const bool listed : {false, true}) {
    if (listed) array.elements = {3, 9, 27, 81, 0, 1, 2, 4, 8, 16, 32, 64, 5, 25, 6, 36, 7, 49, 10, 99};
    for (const std::uint32_t chain : {0u, 1u}) {
      const std::vector<std::uint32_t> whole = chain_order(array, chain);
      for (const std::size_t count : {0u, 1u, 2u, 5u, 19u, 100u}) {
        const std::size_t most = std::min(count, whole.size());
        EXPECT_THAT(chain_order(array, chain, count),
                    testing::ElementsAreArray(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(most)));
      }
    }
  }
}

TEST(ChaseArrayLayout, SkewMovesTheUpperHalf) {
  const ChaseArray array{.bytes = 4 * 256, .stride_bytes = 256, .skew_bytes = 128};
  EXPECT_EQ(array.element_offset(1), 256u);
  EXPECT_EQ(array.element_offset(2), 512u + 128u);
}

TEST(ProgramText, RoundTrips) {
  ChaseProgram chase = small_chase();
  chase.arrays.push_back({.space = Space::kReadOnly, .bytes = 4096, .stride_bytes = 64, .alias_of = 0});
  chase.arrays.push_back(
      {.space = Space::kConstant, .bytes = 4096, .stride_bytes = 64, .elements = {0, 1, 2, 5, 9, 8, 10, 11, 63}});
  chase.actors.push_back({.warp = 3, .lane = 2});
  chase.steps.push_back({.kind = StepKind::kTouch, .actor = 1, .array = 1, .chain = 1, .first = 5});
  chase.steps.push_back({.kind = StepKind::kStore, .loads = 9});
  chase.arrays.push_back({.bytes = 4096, .stride_bytes = 64, .order = Order::kShuffled});
  chase.steps.push_back({.kind = StepKind::kTouchChain, .array = 3, .loads = 9, .first = 3});
  chase.exclusive = true;
  chase.sm = 17;
  chase.shared_carve_out_bytes = 8192;
  chase.timed_cap = 12;
  const StreamProgram stream{
      .op = StreamOp::kWrite, .space = Space::kShared, .bytes = 8192, .per_block = true, .repeats = 9};
  for (const Program& program : {Program(chase), Program(stream)}) EXPECT_EQ(parse_program(to_text(program)), program);
}

TEST(ProgramText, OfEveryKindComesBack) {
  truth::Draw draw(1);
  for (int i = 0; i < 200; ++i) {
    for (const Program& program : test::random_programs(draw)) {
      const std::string text = to_text(program);
      ASSERT_EQ(parse_program(text), program) << text;
      ASSERT_EQ(to_text(parse_program(text)), text);
    }
  }
}

// Recordings use this text as a key.
TEST(ProgramText, IsPinned) {
  for (const char* text :
       {"chase exclusive=0 carve_out=135168 timed_cap=1024 array=global:110208:32:sequential:reversed:1:0 actor=0:0 "
        "step=warm:0:0:3444:0:0 step=counted:0:0:6888:0:0",
        "chase exclusive=1 carve_out=0 timed_cap=1024 sm=7 array=global_bypass_l1:1048576:4096:shuffled:reversed:1:0 "
        "stagger=128:4096 array=read_only:4096:128:sequential:shuffled:9:64:0 elements=4,6,8-10,13,15-16 actor=0:0:3 "
        "actor=1:2:4 step=touch:1:0:0:0:0 step=timed:0:0:512:1:3 step=store:0:0:2:0:0 step=paired:0:0:512:0:0",
        "stream op=read space=constant bytes=16384 per_block=1 blocks_per_sm=1 threads=32 vector=16 in_flight=4 "
        "repeats=488 carve_out=0",
        "stream op=copy space=global_bypass_l1 bytes=2013265920 per_block=0 blocks_per_sm=1 threads=1024 vector=16 "
        "in_flight=4 repeats=3 carve_out=0 write_span=4194304",
        "code actor=0:0 actor=0:46 step=run:0:0:6880:2 step=run:1:8192:16000:2 step=run:0:0:6880:1:64",
        "code actor=0 step=constants:0:0:32768:2:256 step=constants:0:32768:32768:2",
        "access op=store_load space=shared bytes=8192 lane_stride=148 warp_stride=0 hop=0 warps=1 every_sm=0 warm=64 "
        "accesses=512 carve_out=0",
        "cluster op=chase size=2 every_sm=1 reader=0 hop=1 bytes=1024 warps=1 copy_bytes=0 in_flight=1 warm=0 "
        "accesses=16"}) {
    EXPECT_EQ(to_text(parse_program(text)), text);
  }
}

// A member that a struct's list of fields omits is in no text and no recording.
class FieldsOf {
 public:
  // Fails if `object`, filled in at random, has a member that is not in the list.
  template <typename Struct>
  static void expect_all(std::size_t beside_the_list = 0) {
    truth::Draw draw(1);
    FieldsOf seen;
    // Some fields belong to some kinds of steps only.
    for (int i = 0; i < 20; ++i) {
      Struct object;
      visit_fields(object, test::RandomFields(draw));
      seen.object_ = reinterpret_cast<const char*>(&object);
      visit_fields(object, seen);
    }
    EXPECT_EQ(seen.offsets_.size() + beside_the_list, members_of<Struct>()) << typeid(Struct).name();
  }

  template <typename T>
  void operator()(std::string_view, const T& field, const auto&...) {
    add(field);
  }

 private:
  struct Anything {
    template <typename T>
    operator T() const;  // NOLINT: into any member
  };
  // The number of members of a struct without constructors.
  template <typename Struct, typename... Members>
  static constexpr std::size_t members_of() {
    if constexpr (requires { Struct{Members{}..., Anything{}}; }) {
      return members_of<Struct, Members..., Anything>();
    } else {
      return sizeof...(Members);
    }
  }

  template <typename T>
  void add(const T& field) {
    offsets_.insert(reinterpret_cast<const char*>(&field) - object_);
  }
  template <typename... T>
  void add(const std::tuple<T&...>& fields) {
    std::apply([this](const auto&... field) { (add(field), ...); }, fields);
  }
  template <typename List>
  void add(const Sparse<List>& field) {
    add(field.list);
  }
  template <typename Item>
  requires requires(Item item, FieldsOf visit) { visit_fields(item, visit); }
  void add(const std::vector<Item>& items) {
    offsets_.insert(reinterpret_cast<const char*>(&items) - object_);
    expect_all<Item>();
  }

  const char* object_ = nullptr;
  std::set<std::ptrdiff_t> offsets_;
};

TEST(ProgramFields, AreAllListed) {
  for (const Program& program : ProgramKinds::empty_programs()) {
    std::visit(
        []<typename Kind>(const Kind&) {
          FieldsOf::expect_all<Kind>();
          FieldsOf::expect_all<ResultOf<Kind>>();
        },
        program);
  }
  FieldsOf::expect_all<ProgramResult>(1);  // the variant of its data
}

TEST(ProgramText, BrokenTextIsRefused) {
  for (const char* text :
       {"", "dance", "chase array", "chase array=global", "chase step=warm:a:0:0:0:0", "stream op=fly",
        "chase colour=1", "chase elements=1", "chase stagger=128:4096", "chase timed_cap=4294967296",
        "chase array=global:64:16:sequential:reversed:1:0 elements=3-1",
        "chase array=global:64:16:sequential:reversed:1:0:0:0", "chase step=warm:0:0:1:0:0:0",
        "code step=run:0:0:32:1:2:3"}) {
    EXPECT_THROW((void)parse_program(text), FormatError) << text;
  }
}

TEST(Validate, GoodProgramsPass) {
  EXPECT_NO_THROW(validate(small_chase()));
  EXPECT_NO_THROW(validate(StreamProgram{.bytes = 4096}));
}

struct BadProgram {
  const char* what;
  std::function<void(ChaseProgram&)> spoil;
};

class ValidateChase : public testing::TestWithParam<BadProgram> {};

TEST_P(ValidateChase, IsRefusedByName) {
  ChaseProgram program = small_chase();
  GetParam().spoil(program);
  try {
    validate(program);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().what));
  }
}

std::function<void(ChaseProgram&)> storing(const std::function<void(ChaseProgram&)>& spoil) {
  return [spoil](ChaseProgram& program) {
    program.steps[0].loads = 3;
    program.steps.push_back({.kind = StepKind::kStore, .loads = 64});
    spoil(program);
  };
}

INSTANTIATE_TEST_SUITE_P(
    All, ValidateChase,
    testing::Values(BadProgram{"arrays", [](ChaseProgram& p) { p.arrays.clear(); }},
                    BadProgram{"actors", [](ChaseProgram& p) { p.actors.clear(); }},
                    BadProgram{"steps", [](ChaseProgram& p) { p.steps.clear(); }},
                    BadProgram{"stride_bytes", [](ChaseProgram& p) { p.arrays[0].stride_bytes = 8; }},
                    BadProgram{"bytes", [](ChaseProgram& p) { p.arrays[0].bytes = 10; }},
                    BadProgram{"steps[0].array", [](ChaseProgram& p) { p.steps[0].array = 1; }},
                    BadProgram{"steps[0].actor", [](ChaseProgram& p) { p.steps[0].actor = 1; }},
                    BadProgram{"steps[0].first", [](ChaseProgram& p) { p.steps[0].first = 64; }},
                    BadProgram{"steps[0].chain", [](ChaseProgram& p) { p.steps[0].chain = 2; }},
                    BadProgram{"warp", [](ChaseProgram& p) { p.actors[0].warp = 32; }},
                    BadProgram{"sm", [](ChaseProgram& p) { p.sm = 1; }},
                    BadProgram{"64 KiB",
                               [](ChaseProgram& p) {
                                 p.arrays[0] = {.space = Space::kConstant, .bytes = 1 << 17, .stride_bytes = 64};
                               }},
                    BadProgram{"skew_bytes", [](ChaseProgram& p) { p.arrays[0].skew_bytes = 56; }},
                    BadProgram{"elements", [](ChaseProgram& p) { p.arrays[0].elements = {64}; }},
                    BadProgram{"elements",
                               [](ChaseProgram& p) {
                                 p.arrays[0].elements = {5, 5};
                               }},
                    BadProgram{"steps[0].first",
                               [](ChaseProgram& p) {
                                 p.arrays[0].elements = {5, 6};
                                 p.steps[0].first = 2;
                               }},
                    BadProgram{
                        "steps[0].loads must not extend past the end of the array",
                        [](ChaseProgram& p) { p.steps[0] = {.kind = StepKind::kTouch, .loads = 60, .first = 5}; }},
                    BadProgram{"steps[0].loads must include every element",
                               [](ChaseProgram& p) {
                                 p.arrays[0].skew_bytes = 32;
                                 p.steps[0] = {.kind = StepKind::kTouch, .loads = 60};
                               }},
                    BadProgram{"touch",
                               [](ChaseProgram& p) {
                                 p.arrays[0].elements = {5};
                                 p.steps[0].kind = StepKind::kTouch;
                               }},
                    BadProgram{"steps[0].loads must not extend past the end of the chain",
                               [](ChaseProgram& p) {
                                 p.arrays[0].elements = {5, 6};
                                 p.steps[0] = {.kind = StepKind::kTouchChain, .loads = 2, .first = 1};
                               }},
                    BadProgram{"steps[0].kind may be touch_chain only if the order is shuffled",
                               [](ChaseProgram& p) {
                                 p.arrays[0].order = Order::kShuffled;
                                 p.steps[0] = {.kind = StepKind::kTouchChain, .loads = 2, .chain = 1};
                               }},
                    BadProgram{"steps[0].kind must not be touch_chain if", [](ChaseProgram& p) {
                                 p.arrays[0].order = Order::kShuffled;
                                 p.arrays[0].skew_bytes = 32;
                                 p.steps[0] = {.kind = StepKind::kTouchChain, .loads = 1};
                               }}));

// A store step writes whole arrays of plain memory, in order.
INSTANTIATE_TEST_SUITE_P(
    Stores, ValidateChase,
    testing::Values(BadProgram{"steps[1].kind may be store only in the spaces global",
                               storing([](ChaseProgram& p) { p.arrays[0].space = Space::kReadOnly; })},
                    BadProgram{"steps[1].kind may be store only in the spaces global",
                               storing([](ChaseProgram& p) { p.arrays[0].space = Space::kShared; })},
                    BadProgram{"steps[1].kind may be store only if order is sequential",
                               storing([](ChaseProgram& p) { p.arrays[0].order = Order::kReversed; })},
                    BadProgram{"steps[1].kind may be store only if order is sequential",
                               storing([](ChaseProgram& p) { p.arrays[0].second_order = Order::kShuffled; })},
                    BadProgram{"steps[1].kind must not be store if elements are listed", storing([](ChaseProgram& p) {
                                 p.arrays[0].elements = {0, 1, 2};
                               })},
                    BadProgram{"steps[1].kind must not be store if elements are listed", storing([](ChaseProgram& p) {
                                 p.arrays[0].stagger_bytes = 16;
                                 p.arrays[0].stagger_window_bytes = 32;
                               })},
                    BadProgram{"steps[1].kind must not be store if elements are listed",
                               storing([](ChaseProgram& p) { p.arrays[0].skew_bytes = 16; })},
                    BadProgram{"steps[1].chain", storing([](ChaseProgram& p) { p.steps[1].chain = 1; })},
                    BadProgram{"steps[1].first", storing([](ChaseProgram& p) { p.steps[1].first = 1; })},
                    BadProgram{"steps[1].loads", storing([](ChaseProgram& p) { p.steps[1].loads = 65; })},
                    BadProgram{"steps[1].loads", storing([](ChaseProgram& p) { p.steps[1].loads = 0; })}));

TEST(Validate, StoresOfPlainMemoryPass) {
  for (const Space space : {Space::kGlobal, Space::kGlobalBypassL1}) {
    ChaseProgram program = small_chase();
    program.arrays[0].space = space;
    program.steps.push_back({.kind = StepKind::kStore, .loads = 64});
    EXPECT_NO_THROW(validate(program));
  }
}

TEST(Validate, ImpossibleStreamsAreRefused) {
  EXPECT_THROW(validate(StreamProgram{.bytes = 4096, .vector_bytes = 3}), UsageError);
  EXPECT_THROW(validate(StreamProgram{.op = StreamOp::kWrite, .space = Space::kTexture, .bytes = 4096}), UsageError);
  EXPECT_THROW(validate(StreamProgram{.space = Space::kShared, .bytes = 4096}), UsageError);
  EXPECT_THROW(validate(StreamProgram{.bytes = 4096, .threads_per_block = 33}), UsageError);
}

TEST(InstructionPrograms, TextComesBack) {
  const std::vector<InstructionProgram> programs = {
      {.actors = {{}}, .steps = {{.count = 4096, .passes = 3}}},
      {.actors = {{.sm = 3}, {.sm = 70, .warp = 5}},
       .steps = {{.first = 8192, .count = 64},
                 {.kind = CodeStepKind::kConstants, .actor = 1, .count = 65536, .passes = 2},
                 {.kind = CodeStepKind::kConstants, .first = 128, .count = 1024, .stride_bytes = 256}}}};
  for (const InstructionProgram& program : programs) {
    validate(program);
    EXPECT_EQ(parse_program(to_text(program)), Program(program));
  }
  EXPECT_EQ(to_text(programs[1]),
            "code actor=0:3 actor=5:70 step=run:0:8192:64:1 step=constants:1:0:65536:2 "
            "step=constants:0:128:1024:1:256");
  EXPECT_THROW(static_cast<void>(parse_program("code actor=0 step=walk:0:0:64:1")), FormatError);
  EXPECT_THROW(static_cast<void>(parse_program("code speed=1")), FormatError);
}

// Each kind of step has a field that the other lacks, and the text does not keep it.
TEST(InstructionPrograms, FieldsOfTheOtherKindOfStepAreRefused) {
  EXPECT_THROW(validate(InstructionProgram{.actors = {{}}, .steps = {{.count = 32, .stride_bytes = 128}}}), UsageError);
  EXPECT_THROW(validate(InstructionProgram{.actors = {{}},
                                           .steps = {{.kind = CodeStepKind::kConstants, .count = 64, .lead = 2}}}),
               UsageError);
}

TEST(InstructionPrograms, JumpsStandAloneAndAreAlike) {
  const auto jumps = [](std::uint32_t count, std::uint32_t again) {
    return InstructionProgram{.actors = {{}},
                              .steps = {{.kind = CodeStepKind::kFarJumps, .count = count},
                                        {.kind = CodeStepKind::kFarJumps, .count = again, .passes = 5}}};
  };
  const InstructionProgram program = jumps(17, 17);
  validate(program);
  EXPECT_EQ(to_text(program), "code actor=0 step=far_jumps:0:0:17:1 step=far_jumps:0:0:17:5");
  EXPECT_EQ(parse_program(to_text(program)), Program(program));
  EXPECT_THROW(validate(jumps(17, 18)), UsageError);
  EXPECT_THROW(validate(jumps(kMaxFarJumps + 1, kMaxFarJumps + 1)), UsageError);
  InstructionProgram mixed = program;
  mixed.steps[1].kind = CodeStepKind::kNearJumps;
  EXPECT_THROW(validate(mixed), UsageError);
  mixed.steps[1] = {.count = 32};
  EXPECT_THROW(validate(mixed), UsageError);
  std::swap(mixed.steps[0], mixed.steps[1]);
  EXPECT_THROW(validate(mixed), UsageError);
  InstructionProgram led = program;
  led.steps[0].lead = led.steps[1].lead = 2;
  EXPECT_THROW(validate(led), UsageError);
}

TEST(InstructionPrograms, LoadsOfConstantsMayStandBetweenOperands) {
  const CodeStep operands{.kind = CodeStepKind::kApartOperands, .count = 8};
  const CodeStep loads{.kind = CodeStepKind::kConstants, .first = 4096, .count = 128};
  InstructionProgram program{.actors = {{}}, .steps = {operands, loads, operands}};
  validate(program);
  EXPECT_EQ(to_text(program),
            "code actor=0 step=apart_operands:0:0:8:1 step=constants:0:4096:128:1 step=apart_operands:0:0:8:1");
  EXPECT_EQ(parse_program(to_text(program)), Program(program));
  program.steps[2].count = 9;
  EXPECT_THROW(validate(program), UsageError);
  program.steps = {loads, operands};
  EXPECT_THROW(validate(program), UsageError) << "the first step names the kernel";
  program.steps = {{.kind = CodeStepKind::kNearOperands, .count = kMaxOperands + 1}};
  EXPECT_THROW(validate(program), UsageError);
}

TEST(InstructionPrograms, AlignedJumpsBeginSomewhere) {
  InstructionProgram program{.actors = {{}},
                             .steps = {{.kind = CodeStepKind::kAlignedJumps, .first = 5, .count = kManyAlignedJumps}}};
  validate(program);
  EXPECT_EQ(to_text(program), "code actor=0 step=aligned_jumps:0:5:6:1");
  EXPECT_EQ(parse_program(to_text(program)), Program(program));
  program.steps[0].first = kAlignments;
  EXPECT_THROW(validate(program), UsageError);
  program.steps[0] = {.kind = CodeStepKind::kAlignedJumps, .count = kManyAlignedJumps - 1};
  EXPECT_THROW(validate(program), UsageError);
  program.steps[0] = {.kind = CodeStepKind::kFarJumps, .first = 1, .count = 4};
  EXPECT_THROW(validate(program), UsageError);
  std::set<std::uint32_t> places;
  for (std::uint32_t alignment = 0; alignment < kAlignments; ++alignment) {
    for (const std::uint32_t count : {kManyAlignedJumps, kFewAlignedJumps}) {
      for (std::uint32_t jump = 0; jump < count; ++jump) {
        const std::uint32_t place = place_of_aligned_jump(alignment, count, jump);
        EXPECT_EQ(place % kAlignments, alignment);
        places.insert(place);
      }
    }
  }
  EXPECT_EQ(places.size(), kAlignedBlocks);
  EXPECT_LT(*places.rbegin(), kAlignedBlocks);
}

// Each block is the target of one jump. Once a group is complete, the jumps so far fill a contiguous piece of code.
TEST(InstructionPrograms, JumpsGoToEachBlockOnce) {
  for (const CodeStepKind kind : {CodeStepKind::kNearJumps, CodeStepKind::kFarJumps}) {
    const std::uint32_t group = kind == CodeStepKind::kNearJumps ? kNearJumpGroup : kFarJumpGroup;
    ASSERT_EQ(max_count(kind) % group, 0u);
    std::set<std::uint32_t> places;
    for (std::uint32_t jump = 0; jump < max_count(kind); ++jump) {
      places.insert(place_of_jump(kind, jump));
      if ((jump + 1) % group != 0) continue;
      EXPECT_EQ(*places.rbegin(), jump);
    }
    EXPECT_EQ(places.size(), max_count(kind));
    EXPECT_EQ(place_of_jump(kind, 0), 0u);
  }
}

TEST(InstructionPrograms, TwoSmsAtMost) {
  InstructionProgram program{.actors = {{.sm = 0}, {.sm = 1}, {.sm = 1, .warp = 1}}, .steps = {{.count = 32}}};
  validate(program);
  program.actors[2].sm = 2;
  EXPECT_THROW(validate(program), UsageError);
}

TEST(AccessPrograms, TextComesBack) {
  const AccessProgram program{.op = AccessOp::kAtomicAdd,
                              .space = Space::kGlobalBypassL1,
                              .bytes = 8192,
                              .lane_stride_bytes = 4,
                              .warp_stride_bytes = 128,
                              .warps = 8,
                              .every_sm = true,
                              .warm_accesses = 16,
                              .accesses = 64,
                              .shared_carve_out_bytes = 8192};
  EXPECT_EQ(std::get<AccessProgram>(parse_program(to_text(program))), program);
  const AccessProgram load{.bytes = 512, .lane_stride_bytes = 4, .hop_bytes = 128, .accesses = 32};
  EXPECT_EQ(std::get<AccessProgram>(parse_program(to_text(load))), load);
  EXPECT_THROW(static_cast<void>(parse_program("access op=sing")), FormatError);
  EXPECT_THROW(static_cast<void>(parse_program("access tempo=3")), FormatError);
}

TEST(AccessPrograms, WordsOfDeviceMemoryHoldPointers) {
  EXPECT_EQ(access_word_bytes({.space = Space::kShared}), 4u);
  EXPECT_EQ(access_word_bytes({.space = Space::kGlobal}), 8u);
  EXPECT_EQ(access_word_bytes({.op = AccessOp::kStore, .space = Space::kGlobalBypassL1}), 4u);
}

TEST(ClusterPrograms, TextComesBack) {
  const std::vector<ClusterProgram> programs = {
      {.cluster_size = 16, .every_sm = true, .reader = 3, .hop = 5, .bytes = 4096, .warm_accesses = 16, .accesses = 64},
      {.op = ClusterOp::kRead, .cluster_size = 4, .hop = 1, .bytes = 32768, .warps = 32, .accesses = 512},
      {.op = ClusterOp::kBulkCopy,
       .every_sm = true,
       .bytes = 1 << 20,
       .copy_bytes = 4096,
       .in_flight = 8,
       .accesses = 64}};
  for (const ClusterProgram& program : programs) {
    validate(program);
    EXPECT_EQ(parse_program(to_text(program)), Program(program));
  }
  EXPECT_EQ(to_text(programs[1]),
            "cluster op=read size=4 every_sm=0 reader=0 hop=1 bytes=32768 warps=32 copy_bytes=0 in_flight=1 warm=0 "
            "accesses=512");
  EXPECT_THROW(static_cast<void>(parse_program("cluster op=sing")), FormatError);
  EXPECT_THROW(static_cast<void>(parse_program("cluster tempo=3")), FormatError);
}

TEST(ClusterPrograms, AnAccessIsALoadOrACopy) {
  EXPECT_EQ(cluster_access_bytes({.op = ClusterOp::kChase}), 8u);
  EXPECT_EQ(cluster_access_bytes({.op = ClusterOp::kRead, .warps = 2}), 1024u);
  EXPECT_EQ(cluster_access_bytes({.op = ClusterOp::kBulkCopy, .copy_bytes = 48}), 48u);
}

}  // namespace
}  // namespace gputopo
