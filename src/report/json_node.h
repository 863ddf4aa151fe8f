// Reading a report's JSON document, with messages that say where in it something is wrong.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/limits.h"
#include "file/shown.h"
#include "gputopo/error.h"
#include "gputopo/model.h"

namespace gputopo::report {

// A part of the document that knows where it stands in it, for messages.
class Node {
 public:
  Node(const nlohmann::ordered_json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  [[nodiscard]] Node at(const std::string& key) const {
    if (!json_->is_object()) fail("an object");
    const auto found = json_->find(key);
    if (found == json_->end()) throw FormatError(fmt::format("the report has no '{}'", child_path(key)));
    return {*found, child_path(key)};
  }
  [[nodiscard]] bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }

  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const {
    if (!json_->is_object()) fail("an object");
    std::vector<std::pair<std::string, Node>> result;
    for (const auto& [key, value] : json_->items()) result.emplace_back(key, Node(value, child_path(key)));
    return result;
  }
  [[nodiscard]] std::vector<Node> elements() const {
    if (!json_->is_array()) fail("a list");
    std::vector<Node> result;
    for (std::size_t i = 0; i < json_->size(); ++i) result.emplace_back((*json_)[i], fmt::format("{}[{}]", path_, i));
    return result;
  }
  [[nodiscard]] bool is_object() const { return json_->is_object(); }

  [[nodiscard]] std::string text() const {
    if (!json_->is_string()) fail("a text");
    return json_->get<std::string>();
  }
  [[nodiscard]] bool boolean() const {
    if (!json_->is_boolean()) fail("true or false");
    return json_->get<bool>();
  }
  [[nodiscard]] double number() const {
    if (!json_->is_number()) fail("a number");
    return json_->get<double>();
  }
  [[nodiscard]] std::int64_t integer() const {
    if (!json_->is_number_integer()) fail("a whole number");
    return json_->get<std::int64_t>();
  }
  [[nodiscard]] std::optional<double> optional_number() const {
    return json_->is_null() ? std::nullopt : std::optional<double>(number());
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> result;
    for (const Node& element : elements()) result.push_back(element.text());
    return result;
  }

  [[nodiscard]] UnitGroups unit_groups() const {
    UnitGroups result;
    for (const Node& group : elements()) {
      std::vector<std::uint32_t>& members = result.groups.emplace_back();
      for (const Node& member : group.elements()) {
        const std::int64_t unit = member.integer();
        if (unit < 0 || unit >= limits::kMaxSms) member.fail("the number of an SM");
        members.push_back(static_cast<std::uint32_t>(unit));
      }
    }
    return result;
  }

  // An empty list is one of texts, as `shared_with` may be.
  [[nodiscard]] Value value() const {
    if (json_->is_null()) return std::monostate{};
    if (json_->is_boolean()) return boolean();
    if (json_->is_number_integer()) return integer();
    if (json_->is_number()) return number();
    if (json_->is_string()) return text();
    if (json_->is_array() && !json_->empty() && json_->front().is_number()) {
      std::vector<double> numbers;
      for (const Node& element : elements()) numbers.push_back(element.number());
      return numbers;
    }
    if (json_->is_array() && !json_->empty() && json_->front().is_array()) return unit_groups();
    return texts();
  }
  [[nodiscard]] NamedValues named_values() const {
    NamedValues result;
    for (const auto& [name, node] : members()) result.emplace_back(name, node.value());
    return result;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw FormatError(fmt::format("the report's '{}' is not {}", path_.empty() ? "document" : path_, expected));
  }

 private:
  [[nodiscard]] std::string child_path(const std::string& key) const {
    return path_.empty() ? shown(key) : path_ + "." + shown(key);
  }

  const nlohmann::ordered_json* json_;
  std::string path_;
};

}  // namespace gputopo::report
