// Reads a report's JSON document. Error messages name the position of the problem.
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

// A part of the document, which must outlive it unchanged. Only messages compute the path: reading makes many nodes.
class Node {
 public:
  explicit Node(const nlohmann::ordered_json& document) : Node(document, document) {}

  [[nodiscard]] Node at(const std::string& key) const {
    if (!json_->is_object()) fail("an object");
    const auto found = json_->find(key);
    if (found == json_->end()) fail_without(key);
    return {*found, *document_};
  }
  [[nodiscard]] bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }

  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const {
    if (!json_->is_object()) fail("an object");
    std::vector<std::pair<std::string, Node>> result;
    result.reserve(json_->size());
    for (const auto& [key, value] : json_->items()) result.emplace_back(key, Node(value, *document_));
    return result;
  }
  [[nodiscard]] std::vector<Node> elements() const {
    if (!json_->is_array()) fail("a list");
    std::vector<Node> result;
    result.reserve(json_->size());
    for (const nlohmann::ordered_json& element : *json_) result.push_back(Node(element, *document_));
    return result;
  }
  [[nodiscard]] bool is_object() const { return json_->is_object(); }

  [[nodiscard]] std::string text() const {
    if (!json_->is_string()) fail("a string");
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
        if (unit < 0 || unit >= limits::kMaxSms) member.fail("an SM number");
        members.push_back(static_cast<std::uint32_t>(unit));
      }
    }
    return result;
  }

  // An empty list counts as a list of texts, as in `shared_with`.
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
    const std::string where = path();
    throw FormatError(fmt::format("the report's '{}' is not {}", where.empty() ? "document" : where, expected));
  }

 private:
  [[noreturn]] void fail_without(const std::string& key) const {
    const std::string where = path();
    throw FormatError(fmt::format("the report has no '{}{}{}'", where, where.empty() ? "" : ".", shown(key)));
  }

  Node(const nlohmann::ordered_json& json, const nlohmann::ordered_json& document)
      : json_(&json), document_(&document) {}

  // "memory.l1.size[3]"; empty for the document itself.
  [[nodiscard]] std::string path() const {
    const std::string steps = steps_from(*document_).value_or("");
    return steps.starts_with('.') ? steps.substr(1) : steps;
  }
  // Returns ".memory.l1.size[3]", the path from a part of the document to this node; none if the node is not below it.
  // The recursion is as deep as the document, whose depth is limited.
  [[nodiscard]] std::optional<std::string> steps_from(const nlohmann::ordered_json& part) const {
    if (&part == json_) return "";
    if (!part.is_structured()) return std::nullopt;
    std::size_t i = 0;
    for (auto child = part.begin(); child != part.end(); ++child, ++i) {
      const auto further = steps_from(*child);
      if (further) return (part.is_array() ? fmt::format("[{}]", i) : "." + shown(child.key())) + *further;
    }
    return std::nullopt;
  }

  const nlohmann::ordered_json* json_;
  const nlohmann::ordered_json* document_;
};

}  // namespace gputopo::report
