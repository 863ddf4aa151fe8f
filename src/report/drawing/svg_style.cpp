#include "report/drawing/svg_style.h"

#include <algorithm>
#include <string>

namespace gputopo::report {
namespace {

struct Colour {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};

// web/src/report.css has the same colors for pages, where readers can choose.
constexpr Colour kPalette[] = {
    {"page", "#fff", "#12161c"},           {"ink", "#1c2430", "#e4e9f0"},        {"faint", "#5b6675", "#9aa6b5"},
    {"line", "#c3cad4", "#3c4653"},        {"box", "#f3f5f8", "#1b212a"},        {"near", "#d8e8fb", "#16324f"},
    {"near-line", "#3b76b8", "#6ba7e6"},   {"far", "#fbe9cf", "#443114"},        {"far-line", "#a86a12", "#e0a34a"},
    {"other", "#ece3f6", "#33264a"},       {"other-line", "#7a4f9e", "#b794dd"}, {"memory", "#dff0df", "#1b3a22"},
    {"memory-line", "#3a7d44", "#74c083"}, {"alert", "#b3261e", "#ff8a80"},      {"series-1", "#1f6fb8", "#6ba7e6"},
    {"series-2", "#c2570c", "#f2955a"},    {"series-3", "#2e7d4f", "#74c083"},   {"series-4", "#8a3fa0", "#cf93e0"},
    {"series-5", "#a3333d", "#f08a93"},    {"series-6", "#4f6472", "#a3b4c0"},   {"series-7", "#7a6a10", "#d6c35c"},
    {"series-8", "#0f7f86", "#5cc8cf"}};

// Shapes of the classes. The pointer area has no fill, because not every viewer knows "transparent".
constexpr std::string_view kShapes =
    ".gt text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    ".gt .name{font-size:22px;font-weight:700}.gt .title{font-size:13px;font-weight:600}.gt .small{font-size:12px}"
    ".gt .strong{font-weight:600}.gt .number{font-size:9px;text-anchor:middle}.gt .foot{font-size:10.5px}"
    ".gt .thin{stroke-width:.7}.gt .heat{display:none}.gt.hot .heat{display:inline}.gt.hot .cool{display:none}.gt "
    ".alert{font-weight:800}"
    ".gt .unknown{stroke-dasharray:5 4}.gt .cell{stroke-width:.7}.gt .lead{stroke-dasharray:2 3;fill:none}"
    ".gt .part:focus,.gt .part:hover{outline:none}.gt .part:focus rect,.gt .part:hover rect{stroke-width:2.5}"
    ".gt .axis{fill:none}.gt .grid{stroke-width:.6;fill:none}.gt .band{opacity:.14}"
    ".gt .hit{fill:none;pointer-events:all}"
    ".gt .names{pointer-events:none}.gt .mark{stroke-width:1.4;fill:none}.gt .edge{stroke-dasharray:4 3;fill:none}"
    ".gt .series{fill:none}";

// Colors as custom properties: a page sets them; a standalone document gets them filled in.
constexpr std::string_view kColours =
    ".gt text{fill:var(--ink)}.gt .page{fill:var(--page)}.gt .number{fill:var(--ink)}"
    ".gt .inner{fill:var(--page);stroke:var(--line)}.gt .faint{fill:var(--faint)}.gt .alert{fill:var(--alert)}"
    ".gt .warning{fill:var(--alert)}.gt .frame{fill:var(--box);stroke:var(--line)}"
    ".gt .near{fill:var(--near);stroke:var(--near-line)}.gt .far{fill:var(--far);stroke:var(--far-line)}"
    ".gt .other{fill:var(--other);stroke:var(--other-line)}.gt .cell.of-part-1{fill:var(--far)}"
    ".gt .cell.of-part-2{fill:var(--other)}.gt .foot{fill:var(--ink)}"
    ".gt .memory{fill:var(--memory);stroke:var(--memory-line)}.gt .cell{fill:var(--box);stroke:var(--faint)}"
    ".gt .lead{stroke:var(--faint)}.gt .axis{stroke:var(--faint)}.gt .grid{stroke:var(--line)}"
    ".gt .band{fill:var(--alert)}"
    ".gt .mark{stroke:var(--alert)}.gt .edge{stroke:var(--faint)}"
    ".gt .dots{fill:var(--series-1)}.gt .series-1{stroke:var(--series-1)}.gt .series-2{stroke:var(--series-2)}"
    ".gt .series-3{stroke:var(--series-3)}.gt .series-4{stroke:var(--series-4)}.gt .series-5{stroke:var(--series-5)}"
    ".gt .series-6{stroke:var(--series-6)}.gt .series-7{stroke:var(--series-7)}.gt .series-8{stroke:var(--series-8)}";

// Returns kColours with one variant's colors. Viewers that are not browsers draw custom properties in black.
std::string painted(std::string_view Colour::*variant) {
  std::string text;
  constexpr std::string_view kOpen = "var(--";
  for (std::string_view rest = kColours; !rest.empty();) {
    const std::size_t at = rest.find(kOpen);
    text += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    const std::size_t end = rest.find(')', at);
    const std::string_view name = rest.substr(at + kOpen.size(), end - at - kOpen.size());
    text += std::ranges::find(kPalette, name, &Colour::name)->*variant;
    rest.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

ProgramText svg_rules() {
  static const std::string kRules = std::string(kShapes) + std::string(kColours);
  return ProgramText::trusted(kRules);
}

ProgramText svg_style() {
  // The dark variant comes last: viewers that cannot read it already have the light one.
  static const std::string kStyle = std::string(kShapes) + painted(&Colour::light) +
                                    "@media (prefers-color-scheme:dark){" + painted(&Colour::dark) + "}";
  return ProgramText::trusted(kStyle);
}

}  // namespace gputopo::report
