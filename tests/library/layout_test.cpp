// The layout of structs that callers allocate, as in 0.1.0, on 64-bit machines. New members go to the end only.
#include <gtest/gtest.h>

#include <cstddef>

#include "gputopo/gputopo.h"

namespace library_test {
namespace {

TEST(LibraryLayout, OfOptions) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "the offsets are those of 64-bit machines";
  EXPECT_EQ(offsetof(gputopo_options, size), 0u);
  EXPECT_EQ(offsetof(gputopo_options, full), 4u);
  EXPECT_EQ(offsetof(gputopo_options, elements), 8u);
  EXPECT_EQ(offsetof(gputopo_options, element_count), 16u);
  EXPECT_EQ(offsetof(gputopo_options, attributes), 24u);
  EXPECT_EQ(offsetof(gputopo_options, attribute_count), 32u);
  EXPECT_EQ(offsetof(gputopo_options, budget_seconds), 40u);
  EXPECT_EQ(offsetof(gputopo_options, seed), 48u);
  EXPECT_EQ(offsetof(gputopo_options, keep_samples), 56u);
  EXPECT_EQ(offsetof(gputopo_options, wait), 60u);
  EXPECT_EQ(offsetof(gputopo_options, use_cache), 64u);
  EXPECT_EQ(offsetof(gputopo_options, max_age_seconds), 72u);
  EXPECT_EQ(offsetof(gputopo_options, progress), 80u);
  EXPECT_EQ(offsetof(gputopo_options, log), 88u);
  EXPECT_EQ(offsetof(gputopo_options, cancelled), 96u);
  EXPECT_EQ(offsetof(gputopo_options, user), 104u);
  EXPECT_EQ(offsetof(gputopo_options, max_wait_seconds), 112u);
}

TEST(LibraryLayout, OfValues) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "the offsets are those of 64-bit machines";
  EXPECT_EQ(offsetof(gputopo_value, size), 0u);
  EXPECT_EQ(offsetof(gputopo_value, type), 4u);
  EXPECT_EQ(offsetof(gputopo_value, source), 8u);
  EXPECT_EQ(offsetof(gputopo_value, reason), 12u);
  EXPECT_EQ(offsetof(gputopo_value, number), 16u);
  EXPECT_EQ(offsetof(gputopo_value, low), 24u);
  EXPECT_EQ(offsetof(gputopo_value, high), 32u);
  EXPECT_EQ(offsetof(gputopo_value, text), 40u);
  EXPECT_EQ(offsetof(gputopo_value, unit), 48u);
  EXPECT_EQ(offsetof(gputopo_value, detail), 56u);
  EXPECT_EQ(offsetof(gputopo_value, method), 64u);
  EXPECT_EQ(offsetof(gputopo_value, numbers), 72u);
  EXPECT_EQ(offsetof(gputopo_value, texts), 80u);
  EXPECT_EQ(offsetof(gputopo_value, count), 88u);
  EXPECT_EQ(offsetof(gputopo_value, group_ends), 96u);
  EXPECT_EQ(offsetof(gputopo_value, group_count), 104u);
}

}  // namespace
}  // namespace library_test
