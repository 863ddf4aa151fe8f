#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>

#include "file/visible.h"
#include "report/hierarchy.h"
#include "report/units.h"

namespace gputopo::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0 || (!(c >= ' ' && c < '\x7f') && c != '\n' && c != '\t' && is_command(text.substr(0, length)))) {
      result += kReplacement;
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string_view svg_palette() {
  return ":root{--page:#fff;--ink:#1c2430;--faint:#5b6675;--line:#c3cad4;--box:#f3f5f8;--near:#d8e8fb;--near-line:#"
         "3b76b8;"
         "--far:#fbe9cf;--far-line:#a86a12;--memory:#dff0df;--memory-line:#3a7d44;--alert:#b3261e;--series-1:#1f6fb8;"
         "--series-2:#c2570c;--series-3:#2e7d4f;--series-4:#8a3fa0;--series-5:#a3333d;--series-6:#4f6472;"
         "--series-7:#7a6a10;--series-8:#0f7f86}"
         "@media (prefers-color-scheme:dark){:root{--page:#12161c;--ink:#e4e9f0;--faint:#9aa6b5;--line:#3c4653;"
         "--box:#1b212a;--near:#16324f;--near-line:#6ba7e6;--far:#443114;--far-line:#e0a34a;--memory:#1b3a22;"
         "--memory-line:#74c083;--alert:#ff8a80;--series-1:#6ba7e6;--series-2:#f2955a;--series-3:#74c083;"
         "--series-4:#cf93e0;--series-5:#f08a93;--series-6:#a3b4c0;--series-7:#d6c35c;--series-8:#5cc8cf}}";
}

std::string_view svg_rules() {
  return ".gt text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}"
         ".gt .page{fill:var(--page)}.gt .name{font-size:22px;font-weight:700}.gt "
         ".title{font-size:13px;font-weight:600}"
         ".gt .small{font-size:12px}.gt .strong{font-weight:600}.gt "
         ".number{font-size:8px;text-anchor:middle;fill:var(--faint)}"
         ".gt .inner{fill:var(--page);stroke:var(--line)}.gt .faint{fill:var(--faint)}.gt "
         ".alert{fill:var(--alert);font-weight:800}.gt .warning{fill:var(--alert)}"
         ".gt .frame{fill:var(--box);stroke:var(--line)}.gt .near{fill:var(--near);stroke:var(--near-line)}"
         ".gt .far{fill:var(--far);stroke:var(--far-line)}.gt .memory{fill:var(--memory);stroke:var(--memory-line)}"
         ".gt .unknown{stroke-dasharray:5 4}.gt .cell{fill:var(--box);stroke:var(--faint);stroke-width:.7}"
         ".gt .lead{stroke:var(--faint);stroke-dasharray:2 3;fill:none}.gt .part:focus,.gt .part:hover{outline:none}"
         ".gt .part:focus rect,.gt .part:hover rect{stroke-width:2.5}.gt .axis{stroke:var(--faint);fill:none}"
         ".gt .grid{stroke:var(--line);stroke-width:.6;fill:none}.gt .band{fill:var(--alert);opacity:.14}"
         ".gt .over-near,.gt .over-far,.gt .over-memory{stroke-width:5}.gt "
         ".over-near{stroke:var(--near)}"
         ".gt .over-far{stroke:var(--far)}.gt .over-memory{stroke:var(--memory)}"
         ".gt .hit{fill:transparent}.gt .names{pointer-events:none}.gt "
         ".mark{stroke:var(--alert);stroke-width:1.4;fill:none}.gt "
         ".edge{stroke:var(--faint);stroke-dasharray:4 3;fill:none}";
}

std::string interval_text(const Attribute& attribute) {
  if (!attribute.low || !attribute.high) return "";
  if (*attribute.low == *attribute.high) return "(exact)";
  std::string low = human_value(*attribute.low, attribute.unit);
  const std::string high = human_value(*attribute.high, attribute.unit);
  // One unit is enough where both have the same.
  const std::size_t low_unit = low.find(' ');
  const std::size_t high_unit = high.find(' ');
  if (low_unit != std::string::npos && high_unit != std::string::npos &&
      low.substr(low_unit) == high.substr(high_unit)) {
    low.resize(low_unit);
  }
  return fmt::format("({} to {})", low, high);
}

std::string describe(const MemoryElement& element) {
  std::string text = element.title;
  for (const auto& [id, attribute] : element.attributes) {
    if (is_silent(attribute)) continue;
    text += fmt::format("\n{}: ", readable(id));
    if (!attribute.available()) {
      text += fmt::format("unavailable, {}", why_absent(attribute));
      continue;
    }
    text += brief_value_text(attribute);
    const std::string interval = interval_text(attribute);
    if (!interval.empty()) text += fmt::format(" {}", interval);
    text += fmt::format(", {}", to_string(attribute.source));
    if (const std::string method = method_text(attribute); !method.empty()) text += " by " + method;
    for (const std::string& flag : attribute.flags) text += fmt::format("; flagged: {}", readable(flag));
  }
  return text;
}

}  // namespace gputopo::report
