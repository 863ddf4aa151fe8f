// Documents whose texts are hostile, all of them that a reader takes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace gputopo::test {

using OrderedJson = nlohmann::ordered_json;

// Calls visit(field, text) for each text. A field is known by its name, "[]" stands for the items of a list; so many
// things have a name that its field says of what.
template <typename Visit>
void for_each_text(OrderedJson& json, const std::string& field, const std::string& holder, const Visit& visit) {
  if (json.is_string()) {
    visit(field == "name" ? holder + ".name" : field, json.get_ref<std::string&>());
  } else if (json.is_object()) {
    for (auto& [name, value] : json.items()) for_each_text(value, name, field, visit);
  } else if (json.is_array()) {
    for (auto& value : json) for_each_text(value, field + "[]", holder, visit);
  }
}

// Each text of these fields becomes `text` with a number, because some must differ.
[[nodiscard]] inline OrderedJson with_texts(OrderedJson document, const std::set<std::string>& fields,
                                            const std::string& text) {
  std::size_t number = 0;
  for_each_text(document, "", "", [&](const std::string& field, std::string& value) {
    if (!fields.contains(field)) return;
    const char* known = field == "generator" ? "gputopo " : "";  // by which files are known
    value = known + text + std::to_string(number++);
  });
  return document;
}

// The fields that may hold such texts, all at once, so that `reads` takes the document. Others hold dates, the names of
// sources and the like.
[[nodiscard]] inline std::set<std::string> free_fields(const OrderedJson& document, const std::string& text,
                                                       const std::function<bool(const std::string&)>& reads) {
  std::set<std::string> fields;
  OrderedJson visited = document;
  for_each_text(visited, "", "", [&](const std::string& field, std::string&) { fields.insert(field); });
  std::set<std::string> free;
  for (const std::string& field : fields) {
    free.insert(field);
    if (!reads(with_texts(document, free, text).dump())) free.erase(field);
  }
  return free;
}

}  // namespace gputopo::test
