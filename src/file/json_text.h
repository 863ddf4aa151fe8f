// Reads untrusted JSON and CBOR into nlohmann's document, with bounds on depth and number of values (file/limits.h),
// and with gputopo's own error messages, which give the place.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/limits.h"
#include "file/shown.h"
#include "gputopo/error.h"

namespace gputopo {

// "line 3, column 7" for a byte of the text.
[[nodiscard]] inline std::string place_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, column + 1);
}

// The callbacks of nlohmann's parsers. If one returns false, the parser stops and `problem` says why. nlohmann's own
// builders accept what this one refuses, and from_cbor() copies its document.
template <typename Json>
class BoundedBuilder {
 public:
  using number_integer_t = typename Json::number_integer_t;
  using number_unsigned_t = typename Json::number_unsigned_t;
  using number_float_t = typename Json::number_float_t;
  using string_t = typename Json::string_t;
  using binary_t = typename Json::binary_t;

  explicit BoundedBuilder(std::size_t max_items) : max_items_(max_items) {}

  [[nodiscard]] Json&& document() { return std::move(document_); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // "memory.l1.size[3]": the last value that was read.
  [[nodiscard]] std::string path() const {
    std::string path;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const std::string dot = path.empty() ? "" : ".";
      const std::size_t next = open_[i]->size() - (i + 1 < open_.size() ? 1 : 0);
      path += open_[i]->is_array() ? fmt::format("[{}]", next) : dot + keys_[i];
    }
    return path.empty() ? "document" : shown(path);
  }
  // The byte of the token that nlohmann refused; unset if this builder refused.
  [[nodiscard]] const std::optional<std::size_t>& refused_byte() const { return refused_byte_; }

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) { return add(value) != nullptr; }
  bool string(string_t& value) { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) { return refuse("binary data, which no gputopo file contains"); }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    Json& object = *open_.back();
    if (object.size() >= limits::kMaxMembers) {
      return refuse(fmt::format("more than {} members in one object", limits::kMaxMembers));
    }
    keys_.back() = name;
    const auto [member, is_new] = object.emplace(std::move(name), nullptr);
    if (!is_new) return refuse(fmt::format("the key '{}' twice", shown(keys_.back())));
    member_ = &*member;
    return count();
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;
    refused_byte_ = position == 0 ? 0 : position - 1;
    return refuse(error.id == kNumberOverflow ? "a number that is too large" : "");
  }

 private:
  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool count() {
    if (++items_ <= max_items_) return true;
    return refuse(fmt::format("more than {} values", max_items_));
  }
  template <typename Value>
  Json* add(Value&& value) {
    if (!count()) return nullptr;
    if (open_.empty()) return &(document_ = std::forward<Value>(value));
    if (!open_.back()->is_array()) return &(*member_ = std::forward<Value>(value));
    open_.back()->push_back(std::forward<Value>(value));
    return &open_.back()->back();
  }
  bool open(Json empty) {
    if (open_.size() >= limits::kMaxDepth) {
      return refuse(fmt::format("more than {} nested lists and objects", limits::kMaxDepth));
    }
    Json* const place = add(std::move(empty));
    if (place == nullptr) return false;
    open_.push_back(place);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::size_t max_items_;
  Json document_;
  std::vector<Json*> open_;        // lists and objects being read, outermost first
  std::vector<std::string> keys_;  // the last key of each; empty for lists
  Json* member_ = nullptr;         // the member whose key was read last
  std::size_t items_ = 0;
  std::optional<std::size_t> refused_byte_;
  std::string problem_;
};

// The document. Throws FormatError without the file's name: "invalid JSON at line 3, column 7", or another problem and
// its place ("a number that is too large at ...", "'memory.l1' holds more than ...").
template <typename Json>
[[nodiscard]] Json parse_json(std::string_view text) {
  BoundedBuilder<Json> builder(limits::kMaxItems);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return builder.document();
  if (!builder.refused_byte()) throw FormatError(fmt::format("'{}' holds {}", builder.path(), builder.problem()));
  throw FormatError(fmt::format("{} at {}", builder.problem().empty() ? "invalid JSON" : builder.problem(),
                                place_in(text, *builder.refused_byte())));
}

}  // namespace gputopo
