// Names of attributes, details, flags and methods that version 4 of the report's schema changed. The command line and
// the readers of reports accept the old names until the schema changes again.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace gputopo {

// The name that an old name has now; any other text as it is.
[[nodiscard]] std::string_view current_name(std::string_view name);

// The same for each name in a path ("memory.l2.size") or list ("size,latency").
[[nodiscard]] std::string with_current_names(std::string_view path);
// The same for the name that a flag ("name: explanation") begins with.
[[nodiscard]] std::string current_flag(std::string_view flag);

template <typename Json>
void rename_flags(Json& flags) {
  if (!flags.is_array()) return;
  for (Json& flag : flags) {
    if (flag.is_string()) flag = current_flag(flag.template get_ref<const std::string&>());
  }
}

// Replaces the old names in a report or node report of the previous schema: member names, methods and flags.
template <typename Json>
void use_current_names(Json& json) {
  if (json.is_array()) {
    for (Json& element : json) use_current_names(element);
  }
  if (!json.is_object()) return;
  Json renamed = Json::object();
  for (auto& [name, value] : json.items()) {
    use_current_names(value);
    if (name == "method" && value.is_string()) value = current_name(value.template get_ref<const std::string&>());
    if (name == "flags") rename_flags(value);
    renamed[std::string(current_name(name))] = std::move(value);
  }
  json = std::move(renamed);
}

}  // namespace gputopo
