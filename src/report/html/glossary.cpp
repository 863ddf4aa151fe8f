#include "report/html/glossary.h"

#include <fmt/format.h>

#include <map>

#include "report/drawing/markup.h"
#include "report/words/method_glossary.h"

namespace gputopo::report {

Markup method_link(const Attribute& attribute) {
  const std::string words = method_text(attribute);
  if (words.empty() || !attribute.available() || find_method(attribute.method) == nullptr) {
    return markup("{}", words);
  }
  return markup("<a href=\"#method-{}\">{}</a>", attribute.method, words);
}

Section glossary_section(const std::vector<ValueGroup>& groups) {
  std::map<std::string, Markup> entries;  // by description
  for (const ValueGroup& group : groups) {
    for (const auto& [id, attribute] : *group.attributes) {
      const std::string words = method_text(attribute);
      const MethodWords* method = find_method(attribute.method);
      if (words.empty() || method == nullptr || !attribute.available() || entries.contains(words)) continue;
      entries[words] = markup(
          "<dt id=\"method-{}\" tabindex=\"-1\">{}</dt><dd>{} <span class=\"page\">docs/methods/{}.md</span></dd>\n",
          method->id, words, method->text, method->page);
    }
  }
  if (entries.empty()) return {};
  Markup items;
  for (const auto& [words, entry] : entries) items += entry;
  return section("folded", "h-methods", "Methods",
                 markup("\n<details id=\"methods\"><summary>Methods on this page: {}</summary><dl "
                        "class=\"methods\">{}</dl></details>",
                        entries.size(), items));
}

}  // namespace gputopo::report
