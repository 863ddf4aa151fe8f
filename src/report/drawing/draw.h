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
// `more` is further attributes, each after a blank.
[[nodiscard]] Markup svg_text(double x, double y, const char* classes, const std::string& text, ProgramText more = "");
[[nodiscard]] Markup svg_box(double x, double y, double width, double height, const std::string& classes);
// A box in a path. A path of many boxes is much shorter than hundreds of elements with the same attributes.
[[nodiscard]] std::string path_box(double x, double y, double width, double height);
// A path that is the darker the more it stands for.
[[nodiscard]] Markup svg_dots(double opacity, const std::string& path);
// "1 SM", "2 SMs".
[[nodiscard]] std::string counted(std::size_t count, const std::string& name);

// The beginning of a drawing in a page. The caller appends what is drawn, and "</svg>".
[[nodiscard]] Markup svg_opening_in_page(const std::string& label, double width, double height,
                                         ProgramText role = "img");
// The beginning of a drawing that stands alone, with its title, style and page. Without a label it is called by its
// title.
[[nodiscard]] Markup svg_opening(const std::string& title, double width, double height, ProgramText role = "img",
                                 const std::string& label = "");

inline constexpr double kGap = 10;

}  // namespace gputopo::report
