// Replaces all free texts of a document by hostile ones.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace gputopo::test {

using OrderedJson = nlohmann::ordered_json;

// Calls visit(field, text) for each text. A field is identified by its name; "[]" marks list items. "name" occurs in
// many objects, so its field includes the object's name.
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

// Replaces each text of these fields by `text` with a number appended, because some texts must differ.
[[nodiscard]] inline OrderedJson with_texts(OrderedJson document, const std::set<std::string>& fields,
                                            const std::string& text) {
  std::size_t number = 0;
  for_each_text(document, "", "", [&](const std::string& field, std::string& value) {
    if (!fields.contains(field)) return;
    const char* known = field == "generator" ? "gputopo " : "";  // readers identify files by this prefix
    value = known + text + std::to_string(number++);
  });
  return document;
}

// The fields that may hold `text`, tested together so that `reads` still accepts the document. Other fields hold
// dates, names of sources and the like.
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
