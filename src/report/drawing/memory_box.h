// One memory in the drawing of the chip.
#pragma once

#include <string>
#include <vector>

#include "report/drawing/chip.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

inline constexpr double kPixelsPerDoubling = 4;
inline constexpr double kLeastBytes = 64;  // what has the height of nothing
inline constexpr double kLineHeight = 16;

[[nodiscard]] double memory_height(const PhysicalMemory& memory, double width);
[[nodiscard]] double total_height(const std::vector<PhysicalMemory>& memories, double width);

// A box for each instance, side by side, as high as the logarithm of its capacity and the lines in it demand, with what
// is known of it to read, to hover over and to focus. `colours` are of the instances, the last one of those that
// follow.
[[nodiscard]] Markup memory_box(const PhysicalMemory& memory, double x, double y, double width,
                                const std::vector<std::string>& colours);

}  // namespace gputopo::report
