#include "model/likeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo {
namespace {

using ::testing::ElementsAre;

TEST(Likeness, WhatBeginsLikeItComesFirst) {
  EXPECT_THAT(by_likeness("h100", {"a100", "h200", "h100-sxm"}), ElementsAre("h100-sxm", "a100", "h200"));
  EXPECT_THAT(by_likeness("L1", {"l2", "tlb_l1", "l1"}), ElementsAre("l1", "l2", "tlb_l1"));
}

TEST(Likeness, NothingIsMeantByWhatIsLikeNothing) {
  EXPECT_EQ(did_you_mean("shaerd", {"l1", "shared"}), "did you mean shared? ");
  EXPECT_EQ(did_you_mean("h20", {"h200"}, "sim:"), "did you mean sim:h200? ");
  EXPECT_EQ(did_you_mean("nosuch", {"l1", "shared"}), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace gputopo
