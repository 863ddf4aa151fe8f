// The style of the drawings' classes.
#pragma once

#include "report/drawing/markup.h"

namespace gputopo::report {

// For a page, whose style sets the colors as custom properties.
[[nodiscard]] ProgramText svg_rules();
// For a standalone SVG document: colors that every viewer understands, light, or dark if the viewer asks for it.
[[nodiscard]] ProgramText svg_style();

}  // namespace gputopo::report
