// One memory in the drawing of a chip.
#pragma once

#include <string>
#include <vector>

#include "report/drawing/chip.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

inline constexpr double kPixelsPerDoubling = 4;
inline constexpr double kLeastBytes = 64;  // capacity with zero height
inline constexpr double kLineHeight = 16;

[[nodiscard]] double memory_height(const PhysicalMemory& memory, double width);
[[nodiscard]] double total_height(const std::vector<PhysicalMemory>& memories, double width);

// One box per instance, side by side. The height follows the logarithm of the capacity, but fits the text. Hovering and
// focus show everything known. `colours` are the instances' colors; the last one also serves all further instances.
[[nodiscard]] Markup memory_box(const PhysicalMemory& memory, double x, double y, double width,
                                const std::vector<std::string>& colours);

}  // namespace gputopo::report
