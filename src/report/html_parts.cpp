#include "report/html_parts.h"

#include <fmt/format.h>

#include "report/markup.h"
#include "report/value_text.h"

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

std::string source_badge(const Attribute& attribute) {
  const std::string name(to_string(attribute.source));
  return fmt::format("<span class=\"source {}\">{}</span>", name, name);
}

std::string value_link(const Attribute& attribute, const std::string& group, const std::string& id,
                       const std::string& text) {
  const std::string method = method_text(attribute);
  return fmt::format("<a href=\"#{}\"{} title=\"{}\">{}</a>", evidence_anchor(group, id),
                     attribute.available() ? "" : " aria-label=\"unavailable\"",
                     escaped(fmt::format("{} {}{}{}", to_string(attribute.source), interval_text(attribute),
                                         method.empty() ? "" : " by ", method)),
                     escaped(text));
}

}  // namespace gputopo::report
