#include "report/drawing/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/drawing/svg_style.h"

namespace gputopo::report {

std::size_t characters_in(double width, double font_px) {
  constexpr double kCharacter = 0.56;
  return static_cast<std::size_t>(std::max(width / (kCharacter * font_px), 3.0));
}

std::string fitted(const std::string& text, double width, double font_px) {
  const std::size_t most = characters_in(width, font_px);
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts_character && ++count > most) return text.substr(0, i) + "\u2026";
  }
  return text;
}

Markup svg_text(double x, double y, const char* classes, const std::string& text, ProgramText more) {
  return markup("<text x=\"{}\" y=\"{}\" class=\"{}\"{}>{}</text>\n", px(x), px(y), classes, more, text);
}

Markup svg_box(double x, double y, double width, double height, const std::string& classes) {
  return markup("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" class=\"{}\"/>\n", px(x), px(y), px(width),
                px(height), classes);
}

std::string path_box(double x, double y, double width, double height) {
  return fmt::format("M{} {}h{}v{}h-{}z", px(x), px(y), px(width), px(height), px(width));
}

std::string counted(std::size_t count, const std::string& name) {
  return fmt::format("{} {}{}", count, name, count == 1 ? "" : "s");
}

Markup svg_dots(double opacity, const std::string& path) {
  return markup("<path class=\"dots\" fill-opacity=\"{}\" d=\"{}\"/>\n", px(opacity), path);
}

Markup svg_opening_in_page(const std::string& label, double width, double height, ProgramText role) {
  return markup(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" class=\"gt\" role=\"{}\" "
      "aria-label=\"{}\">\n",
      px(width), px(height), role, label);
}

Markup svg_opening(const std::string& title, double width, double height, ProgramText role, const std::string& label) {
  return markup(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" class=\"gt\" "
      "role=\"{2}\" aria-label=\"{3}\">\n<title>{4}</title>\n<style>{5}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" class=\"page\"/>\n",
      px(width), px(height), role, label.empty() ? title : label, title, svg_style());
}

}  // namespace gputopo::report
