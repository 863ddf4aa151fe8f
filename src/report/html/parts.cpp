#include "report/html/parts.h"

#include <fmt/format.h>

#include "report/drawing/markup.h"
#include "report/words/value_text.h"

namespace gputopo::report {

std::string evidence_anchor(const std::string& group, const std::string& attribute) {
  std::string text = "evidence-" + group + "-" + attribute;
  for (char& c : text) {
    const bool safe =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!safe) c = '_';
  }
  return text;
}

Markup source_badge(const Attribute& attribute) {
  const std::string name(to_string(attribute.source));
  return markup("<span class=\"source {}\">{}</span>", name, name);
}

Markup value_link(const Attribute& attribute, const std::string& group, const std::string& id,
                  const std::string& text) {
  const std::string method = method_text(attribute);
  return markup("<a href=\"#{}\"{} title=\"{}\">{}</a>", evidence_anchor(group, id),
                attribute.available() ? ProgramText("") : ProgramText(" aria-label=\"unavailable\""),
                fmt::format("{} {}{}{}", to_string(attribute.source), interval_text(attribute),
                            method.empty() ? "" : " by ", method),
                text);
}

Section section(const char* classes, const std::string& id, const std::string& heading, const Markup& content) {
  const std::string_view names = classes;
  Markup opening = names.empty() ? markup("<section aria-labelledby=\"{}\">", id)
                                 : markup("<section class=\"{}\" aria-labelledby=\"{}\">", names, id);
  return {id, heading, opening + markup("<h2 id=\"{}\">{}</h2>{}</section>\n", id, heading, content)};
}

}  // namespace gputopo::report
