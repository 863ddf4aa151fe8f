// Texts and boxes of SVG drawings.
#pragma once

#include <cstddef>
#include <string>

#include "report/drawing/markup.h"

namespace gputopo::report {

// Returns how many characters fit, by the fonts' mean character width.
[[nodiscard]] std::size_t characters_in(double width, double font_px);
[[nodiscard]] std::string fitted(const std::string& text, double width, double font_px);
// `more` holds further attributes, each after a space.
[[nodiscard]] Markup svg_text(double x, double y, const char* classes, const std::string& text, ProgramText more = "");
[[nodiscard]] Markup svg_box(double x, double y, double width, double height, const std::string& classes);
// A box inside a path. One path with many boxes is much shorter than hundreds of elements with equal attributes.
[[nodiscard]] std::string path_box(double x, double y, double width, double height);
// A path that is darker the more it represents.
[[nodiscard]] Markup svg_dots(double opacity, const std::string& path);
// "1 SM", "2 SMs".
[[nodiscard]] std::string counted(std::size_t count, const std::string& name);

// Opens a drawing inside a page. The caller appends the content and "</svg>".
[[nodiscard]] Markup svg_opening_in_page(const std::string& label, double width, double height,
                                         ProgramText role = "img");
// Opens a standalone drawing with title, style and background. Without a label, the title labels it.
[[nodiscard]] Markup svg_opening(const std::string& title, double width, double height, ProgramText role = "img",
                                 const std::string& label = "");

inline constexpr double kGap = 10;

}  // namespace gputopo::report
