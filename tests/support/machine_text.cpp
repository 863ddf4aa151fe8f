#include "support/machine_text.h"

#include <nlohmann/json.hpp>

#include "device/sim/machine/fields.h"

namespace gputopo::truth {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json json_of(const T& value);

template <typename T>
struct ToJson {
  static Json from(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(name_of(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      Json object = Json::object();
      sim::visit_fields(value, [&](std::string_view name, const auto& field, sim::Presence) {
        Json json = json_of(field);
        if (!json.is_null()) object[std::string(name)] = std::move(json);
      });
      return object;
    }
  }
};

template <>
struct ToJson<std::string> {
  static Json from(const std::string& text) { return text; }
};

template <typename T>
struct ToJson<std::optional<T>> {
  static Json from(const std::optional<T>& value) { return value ? json_of(*value) : Json(); }
};

template <typename T>
struct ToJson<std::vector<T>> {
  static Json from(const std::vector<T>& list) {
    Json json = Json::array();
    for (const T& item : list) json.push_back(json_of(item));
    return json;
  }
};

template <typename Spec>
struct ToJson<std::map<std::string, Spec>> {
  static Json from(const std::map<std::string, Spec>& levels) {
    Json json = Json::object();
    for (const auto& [level, spec] : levels) json[level] = json_of(spec);
    return json;
  }
};

template <typename Spec>
struct ToJson<std::map<Space, Spec>> {
  static Json from(const std::map<Space, Spec>& spaces) {
    Json json = Json::object();
    for (const auto& [space, spec] : spaces) json[std::string(to_string(space))] = json_of(spec);
    return json;
  }
};

template <typename T>
Json json_of(const T& value) {
  return ToJson<T>::from(value);
}

}  // namespace

std::string machine_text(const sim::MachineSpec& machine, const std::string& comment) {
  Json document = {{"machine_version", 1}, {"comment", comment}};
  document.update(json_of(machine));
  return document.dump(1) + "\n";
}

}  // namespace gputopo::truth
