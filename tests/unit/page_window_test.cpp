// The size of a window of page tables, from which neighboring pages wait for each other.
#include "probe/tlb/page_window.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

// Latencies of `pages` pages, where the first page of each window is slow.
std::vector<double> walk(std::size_t pages, std::size_t first, std::size_t apart) {
  std::vector<double> cycles(pages, 289);
  for (std::size_t i = first; i < cycles.size(); i += apart) cycles[i] = 289 + 266;
  return cycles;
}

TEST(PageWindow, BeginningsAreAsFarApartAsWindowsAreLong) {
  EXPECT_EQ(window_pages(walk(860, 150, 256), 400), 256u);
  EXPECT_EQ(window_pages(walk(860, 3, 256), 400), 256u);  // memory may begin anywhere in a window
  EXPECT_EQ(window_pages(walk(20, 8, 8), 400), 8u);
}

TEST(PageWindow, OneBeginningOrUnevenOnesDoNotTell) {
  EXPECT_EQ(window_pages(walk(20, 12, 16), 400), 0u);
  std::vector<double> uneven = walk(86, 15, 16);
  uneven[40] = 555;
  EXPECT_EQ(window_pages(uneven, 400), 0u);
  EXPECT_EQ(window_pages(walk(86, 15, 16), 600), 0u);
  // One beginning is missing.
  std::vector<double> gap = walk(86, 15, 16);
  gap[15] = 289;
  EXPECT_EQ(window_pages(gap, 400), 0u);
}

}  // namespace
}  // namespace gputopo::probe
