// Reads values of a recording. Each must have its type, fit it and be finite; an error says where the value is.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "file/shown.h"
#include "gputopo/error.h"
#include "program/fields.h"

namespace gputopo::recorded {

using SortedJson = nlohmann::json;

// The position of a value, which becomes text only for an error.
struct Place {
  const Place* outer = nullptr;
  std::string_view name = {};  // name of a member of an object; empty: an item of a list
  std::size_t index = 0;       // index of the item

  [[nodiscard]] std::string text() const {
    const std::string before = outer == nullptr ? "" : outer->text();
    if (name.empty()) return fmt::format("{}[{}]", before, index);
    return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
  }
};

[[noreturn]] inline void refuse(const Place& place, std::string_view problem) {
  throw FormatError(fmt::format("{} {}", place.text(), problem));
}

[[nodiscard]] inline const SortedJson& member(const SortedJson& object, std::string_view name, const Place& place) {
  const auto found = object.find(name);  // also the end if it is no object
  if (found == object.end()) refuse({&place, name}, "is missing");
  return *found;
}
[[nodiscard]] inline const SortedJson& item(const SortedJson& list, std::size_t index, const Place& place) {
  if (!list.is_array()) refuse(place, "is not a list");
  if (index >= list.size()) refuse({&place, {}, index}, "is missing");
  return list[index];
}

inline void read(const SortedJson& value, const Place& place, bool& out) {
  if (!value.is_boolean()) refuse(place, "is not true or false");
  out = value.get<bool>();
}

inline void read(const SortedJson& value, const Place& place, std::string& out) {
  if (!value.is_string()) refuse(place, "is not a string");
  out = value.get<std::string>();
}

inline void read(const SortedJson& value, const Place& place, double& out) {
  if (!value.is_number()) refuse(place, "is not a number");
  out = value.get<double>();
  if (!std::isfinite(out)) refuse(place, "is not a finite number");
}

template <std::integral Integer>
void read(const SortedJson& value, const Place& place, Integer& out) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
    refuse(place, fmt::format("is not a whole number between 0 and {}", kMost));
  }
  out = value.get<Integer>();
}

// Enumerators are stored as numbers.
template <typename Enum>
requires std::is_enum_v<Enum>
void read(const SortedJson& value, const Place& place, Enum& out) {
  std::uint32_t number = 0;
  read(value, place, number);
  if (number >= kNames<Enum>.size()) {
    refuse(place, fmt::format("is {}, which this version of gputopo does not know", number));
  }
  out = static_cast<Enum>(number);
}

template <typename T>
void read(const SortedJson& value, const Place& place, std::vector<T>& out) {
  if (!value.is_array()) refuse(place, "is not a list");
  out.clear();
  out.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) read(value[i], {&place, {}, i}, out.emplace_back());
}

}  // namespace gputopo::recorded
