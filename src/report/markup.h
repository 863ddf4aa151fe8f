// What SVG and HTML have in common.
#pragma once

#include <string>
#include <string_view>

#include "gputopo/model.h"
#include "report/value_text.h"

namespace gputopo::report {

// Text for XML and HTML, between tags and in attributes: markup is escaped; what is no valid UTF-8, no character of
// XML or a command to who shows it (file/visible.h) becomes U+FFFD. Every name in a report comes from a device, a
// driver or a file.
[[nodiscard]] std::string escaped(std::string_view text);

// A coordinate: two digits after the point, no trailing zeros.
[[nodiscard]] std::string px(double value);

// How the classes of our drawings look, in a page whose style sets their colours as custom properties.
[[nodiscard]] std::string_view svg_rules();
// The same for an SVG document that stands alone: colours that every viewer knows, light, and dark where a viewer asks
// for it.
[[nodiscard]] std::string_view svg_style();

// Every value of an element with its interval, method and source, a line each: what hovering shows.
[[nodiscard]] std::string describe(const MemoryElement& element);

// The chip as an SVG element. `standalone`: a document of its own with colours; else for a page that has them.
[[nodiscard]] std::string chip_svg(const Topology& topology, bool standalone);

}  // namespace gputopo::report
