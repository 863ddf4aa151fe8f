// Which operations share a pipe, from literal times.
#include "probe/compute/pipes_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

PairTimes pair_times(std::vector<double> alone) {
  PairTimes times{.alone = std::move(alone)};
  times.mixed.assign(times.alone.size(), std::vector<double>(times.alone.size(), 0));
  return times;
}

TEST(Pipes, AreWhatTakesAsLongAsBoth) {
  PairTimes pairs = pair_times({1, 2, 2, 8, 8});
  pairs.mixed[0][1] = pairs.mixed[0][2] = 2;
  pairs.mixed[0][3] = pairs.mixed[0][4] = 8;
  pairs.mixed[1][2] = 4;
  pairs.mixed[1][3] = pairs.mixed[1][4] = pairs.mixed[2][3] = pairs.mixed[2][4] = 8.1;
  pairs.mixed[3][4] = 15.9;
  const Pipes pipes = decide_pipes(pairs);
  EXPECT_THAT(pipes.groups, ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3, 4)));
  EXPECT_THAT(pipes.partly, IsEmpty());
  EXPECT_THAT(pipes.undecided, IsEmpty());
}

TEST(Pipes, OfWhatIsIssuedAsQuicklyAreNotTold) {
  PairTimes pairs = pair_times({1, 1, 2, 2});
  pairs.mixed[0][1] = 2;
  pairs.mixed[0][2] = pairs.mixed[0][3] = pairs.mixed[1][2] = pairs.mixed[1][3] = 2;
  pairs.mixed[2][3] = 4;
  const Pipes pipes = decide_pipes(pairs);
  EXPECT_THAT(pipes.groups, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2, 3)));
  EXPECT_THAT(pipes.undecided, ElementsAre(Pair(0, 1)));
}

// On an H200, shifts slow down fused multiply-adds but logic does not.
TEST(Pipes, AreNotChainedByWhatSharesSomethingElse) {
  PairTimes pairs = pair_times({1, 2, 2, 2, 2});
  pairs.mixed[0][1] = pairs.mixed[0][2] = 2;
  pairs.mixed[0][3] = 2.9;
  pairs.mixed[0][4] = 3;
  pairs.mixed[1][2] = pairs.mixed[1][3] = pairs.mixed[2][3] = 4;
  pairs.mixed[3][4] = 3.9;
  pairs.mixed[1][4] = pairs.mixed[2][4] = 2;
  const Pipes pipes = decide_pipes(pairs);
  EXPECT_THAT(pipes.groups, ElementsAre(ElementsAre(0, 4), ElementsAre(1, 2, 3)));
  EXPECT_THAT(pipes.across, ElementsAre(Pair(0, 3), Pair(3, 4)));
}

TEST(Pipes, MayBeSharedInPart) {
  PairTimes pairs = pair_times({1, 4, 4});
  pairs.mixed[0][1] = 4.5;
  pairs.mixed[0][2] = 4;
  pairs.mixed[1][2] = 6;
  const Pipes pipes = decide_pipes(pairs);
  EXPECT_THAT(pipes.groups, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(pipes.partly, ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST(Pipes, OfUnlikeOperationsAreNotTold) {
  PairTimes pairs = pair_times({1, 30});
  pairs.mixed[0][1] = 31;
  EXPECT_THAT(decide_pipes(pairs).undecided, ElementsAre(Pair(0, 1)));
}

TEST(Pipes, AreNoneOfNothing) { EXPECT_THAT(decide_pipes({}).groups, IsEmpty()); }

}  // namespace
}  // namespace gputopo::probe
