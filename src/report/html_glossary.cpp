#include "report/html_glossary.h"

#include <fmt/format.h>

#include <map>

#include "report/markup.h"
#include "report/method_glossary.h"

namespace gputopo::report {

std::string method_link(const Attribute& attribute) {
  std::string words = escaped(method_text(attribute));
  if (words.empty() || !attribute.available() || find_method(attribute.method) == nullptr) return words;
  return fmt::format("<a href=\"#method-{}\">{}</a>", attribute.method, words);
}

std::string glossary_section(const std::vector<ValueGroup>& groups) {
  std::map<std::string, std::string> entries;  // by the words
  for (const ValueGroup& group : groups) {
    for (const auto& [id, attribute] : *group.attributes) {
      const std::string words = method_text(attribute);
      const MethodWords* method = find_method(attribute.method);
      if (words.empty() || method == nullptr || !attribute.available() || entries.contains(words)) continue;
      entries[words] = fmt::format(
          "<dt id=\"method-{}\" tabindex=\"-1\">{}</dt><dd>{} <span class=\"page\">docs/methods/{}.md</span></dd>\n",
          method->id, escaped(words), escaped(std::string(method->text)), method->page);
    }
  }
  if (entries.empty()) return "";
  std::string items;
  for (const auto& [words, entry] : entries) items += entry;
  return fmt::format(
      "<section class=\"folded\" aria-labelledby=\"h-methods\"><h2 id=\"h-methods\">Methods</h2>\n<details "
      "id=\"methods\"><summary>{} that this page names</summary><dl class=\"methods\">{}</dl></details></section>\n",
      entries.size(), items);
}

}  // namespace gputopo::report
