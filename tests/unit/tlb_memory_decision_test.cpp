#include <gtest/gtest.h>

#include "probe/tlb/memory_decision.h"

namespace gputopo::probe {
namespace {

constexpr PagesPastTlbQuestion kSixteen{
    .reach_bytes = 16 << 20, .page_bytes = 1 << 20, .largest_bytes = 1ull << 30, .max_pages = 16384};

PagesPastTlbQuestion with_next(double reach_bytes, std::uint64_t beside_bytes = 0) {
  PagesPastTlbQuestion question = kSixteen;
  question.next_reach_bytes = reach_bytes;
  question.beside_bytes = beside_bytes;
  return question;
}

TEST(PagesPastTlb, AreTwiceItsEntries) { EXPECT_EQ(pages_past_tlb(kSixteen), 32u); }

TEST(PagesPastTlb, StayInTheNextLevel) {
  EXPECT_EQ(pages_past_tlb(with_next(1 << 30)), 32u);
  EXPECT_EQ(pages_past_tlb(with_next(30 << 20)), 27u);
  EXPECT_EQ(pages_past_tlb(with_next(40 << 20, 10 << 20)), 26u) << "with what evicts the data from the caches";
  EXPECT_FALSE(pages_past_tlb(with_next(20 << 20))) << "which is hardly larger";
  EXPECT_FALSE(pages_past_tlb(with_next(40 << 20, 60 << 20)));
}

TEST(PagesPastTlb, AreNoMoreThanThereIsRoomFor) {
  PagesPastTlbQuestion question = kSixteen;
  question.largest_bytes = 24 << 20;
  EXPECT_EQ(pages_past_tlb(question), 24u);
  question.largest_bytes = 17 << 20;
  EXPECT_FALSE(pages_past_tlb(question));
  question = kSixteen;
  question.max_pages = 31;
  EXPECT_FALSE(pages_past_tlb(question));
  question = kSixteen;
  question.page_bytes = 0;
  EXPECT_FALSE(pages_past_tlb(question)) << "what an entry covers is not known";
}

}  // namespace
}  // namespace gputopo::probe
