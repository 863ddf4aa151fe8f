// How the classes of our drawings look.
#pragma once

#include "report/drawing/markup.h"

namespace gputopo::report {

// In a page, whose style sets their colours as custom properties.
[[nodiscard]] ProgramText svg_rules();
// In an SVG document that stands alone: colours that every viewer knows, light, and dark where a viewer asks for it.
[[nodiscard]] ProgramText svg_style();

}  // namespace gputopo::report
