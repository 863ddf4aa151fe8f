// Words and boxes of our drawings, as SVG.
#pragma once

#include <cstddef>
#include <string>

#include "report/drawing/markup.h"

namespace gputopo::report {

// How many characters fit, by their mean width in our fonts.
[[nodiscard]] std::size_t characters_in(double width, double font_px);
// Text cut to a width.
[[nodiscard]] std::string fitted(const std::string& text, double width, double font_px);
[[nodiscard]] Markup svg_text(double x, double y, const char* classes, const std::string& text);
[[nodiscard]] Markup svg_box(double x, double y, double width, double height, const std::string& classes);
// What a path of many boxes is made of: hundreds of elements with the same attributes would be most of a file.
[[nodiscard]] std::string path_box(double x, double y, double width, double height);
// "1 SM", "2 SMs".
[[nodiscard]] std::string counted(std::size_t count, const std::string& name);

// The beginning of a drawing that stands alone: its title, style and page. What is drawn and "</svg>" come behind it.
[[nodiscard]] Markup svg_opening(const std::string& title, double width, double height);

inline constexpr double kGap = 10;

}  // namespace gputopo::report
