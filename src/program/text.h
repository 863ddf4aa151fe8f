// The text form of programs, derived from the lists of their fields (fields.h).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "file/limits.h"
#include "file/shown.h"
#include "gputopo/error.h"
#include "program/fields.h"

namespace gputopo::text {

template <typename T>
concept Scalar = std::integral<T> || std::is_enum_v<T>;

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[noreturn]] void throw_unknown_word(std::string_view word);

// ---- Values ----

template <Scalar T>
void append(std::string& text, T value) {
  if constexpr (std::is_enum_v<T>) {
    text += name_of(value);
  } else {
    fmt::format_to(std::back_inserter(text), "{}", static_cast<std::uint64_t>(value));
  }
}

// Writes runs of consecutive numbers as first-last: 0-15,18,20-21.
void append(std::string& text, const std::vector<std::uint32_t>& numbers);

template <Scalar T>
void read(std::string_view text, T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto& names = kNames<T>;
    const auto* found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      throw FormatError(fmt::format("program text: '{}' is not one of {}", shown(text), fmt::join(names, ", ")));
    }
    value = static_cast<T>(found - names.begin());
  } else if constexpr (std::same_as<T, bool>) {
    std::uint64_t number = 0;
    read(text, number);
    value = number != 0;
  } else {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size()) {
      throw FormatError(fmt::format("program text: '{}' is not a number, or is out of range", shown(text)));
    }
  }
}

// Takes the count of elements read from `left`, and throws if they exceed it.
void read(std::string_view text, std::vector<std::uint32_t>& numbers, std::size_t& left);

// ---- Writing ----

// Writes each field of a program as a word, and an item's lists and tuples likewise.
class WordWriter {
 public:
  explicit WordWriter(std::string& text) : text_(text) {}

  template <Scalar T>
  void operator()(std::string_view name, T value) {
    begin(name);
    append(text_, value);
  }
  template <Scalar T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  void operator()(std::string_view name, const std::vector<std::uint32_t>& numbers) {
    if (numbers.empty()) return;
    begin(name);
    append(text_, numbers);
  }
  template <typename... T>
  void operator()(std::string_view name, const std::tuple<T...>& parts);
  template <typename Item>
  void operator()(std::string_view name, const std::vector<Item>& items);
  template <typename T>
  void operator()(std::string_view name, const T& field, const auto& omitted) {
    if (field != omitted) (*this)(name, field);
  }

 private:
  void begin(std::string_view name) {
    text_ += ' ';
    text_ += name;
    text_ += '=';
  }

  std::string& text_;
};

// Writes the fields of an item or a tuple as parts of a word that has begun, then the item's other words.
class PartWriter {
 public:
  explicit PartWriter(std::string& text) : text_(text) {}

  template <Scalar T>
  void operator()(std::string_view, T value) {
    if (!first_) text_ += ':';
    first_ = false;
    append(text_, value);
  }
  template <Scalar T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  template <typename T>
  requires(!Scalar<T>) void operator()(std::string_view name, const T& word) { WordWriter{text_}(name, word); }
  template <typename T>
  void operator()(std::string_view name, const T& field, const auto& omitted) {
    if (field != omitted) (*this)(name, field);
  }

 private:
  std::string& text_;
  bool first_ = true;
};

template <typename... T>
void WordWriter::operator()(std::string_view name, const std::tuple<T...>& parts) {
  begin(name);
  std::apply([writer = PartWriter(text_)](const auto&... part) mutable { (writer({}, part), ...); }, parts);
}

template <typename Item>
void WordWriter::operator()(std::string_view name, const std::vector<Item>& items) {
  for (const Item& item : items) {
    begin(name);
    visit_fields(item, PartWriter(text_));
  }
}

// ---- Reading ----

// Fills in the fields of an item or a tuple from the parts of its word.
class PartReader {
 public:
  explicit PartReader(std::string_view word) : word_(word), parts_(split(word, ':')) {}

  template <Scalar T>
  void operator()(std::string_view, T& value) {
    if (next_ == parts_.size())
      throw FormatError(fmt::format("program text: '{}' has too few fields (separated by colons)", shown(word_)));
    read(parts_[next_++], value);
  }
  template <Scalar T>
  void operator()(std::string_view name, std::optional<T>& value) {
    if (next_ < parts_.size()) (*this)(name, value.emplace());
  }
  template <Scalar T>
  void operator()(std::string_view name, T& value, const auto&) {
    if (next_ < parts_.size()) (*this)(name, value);
  }
  // Lists and tuples are words of their own, which WordReader reads.
  template <typename T>
  requires(!Scalar<T>) void operator()(std::string_view, const T&, const auto&...) {}

  void expect_end() const {
    if (next_ < parts_.size())
      throw FormatError(fmt::format("program text: '{}' has too many fields (separated by colons)", shown(word_)));
  }

 private:
  std::string_view word_;
  std::vector<std::string_view> parts_;
  std::size_t next_ = 0;
};

// Fills in the field that one word, key=value, names: a field of the program or of the last item of a list.
class WordReader {
 public:
  // `elements_left`: elements that the program's lists may still hold.
  WordReader(std::string_view key, std::string_view value, std::size_t& elements_left)
      : key_(key), value_(value), elements_left_(elements_left) {}

  // Whether the word named a field.
  [[nodiscard]] bool taken() const { return taken_; }

  template <Scalar T>
  void operator()(std::string_view name, T& value) {
    if (take(name)) read(value_, value);
  }
  template <Scalar T>
  void operator()(std::string_view name, std::optional<T>& value) {
    if (take(name)) read(value_, value.emplace());
  }
  void operator()(std::string_view name, std::vector<std::uint32_t>& numbers) {
    if (take(name)) read(value_, numbers, elements_left_);
  }
  template <typename... T>
  void operator()(std::string_view name, const std::tuple<T&...>& parts) {
    if (!take(name)) return;
    PartReader reader(value_);
    std::apply([&](T&... part) { (reader({}, part), ...); }, parts);
    reader.expect_end();
  }
  template <typename Item>
  void operator()(std::string_view name, std::vector<Item>& items) {
    if (take(name)) {
      if (items.size() >= limits::kMaxProgramItems) {
        throw FormatError(
            fmt::format("program text: more than {} words with the key {}", limits::kMaxProgramItems, key_));
      }
      PartReader reader(value_);
      visit_fields(items.emplace_back(), reader);
      reader.expect_end();
    } else {
      read_behind(items);
    }
  }
  template <typename T>
  void operator()(std::string_view name, T&& field, const auto&) {
    (*this)(name, field);
  }

 private:
  bool take(std::string_view name) {
    const bool is_ours = name == key_;
    taken_ = taken_ || is_ours;
    return is_ours;
  }

  template <typename Item>
  void read_behind(std::vector<Item>& items) {
    Item none;
    WordReader behind(key_, value_, elements_left_);
    visit_fields(items.empty() ? none : items.back(), [&](std::string_view name, auto&& field, const auto&...) {
      using Field = std::remove_cvref_t<decltype(field)>;
      constexpr bool is_part = Scalar<Field> || requires { field.has_value(); };
      if constexpr (!is_part) behind(name, field);
    });
    if (behind.taken() && items.empty()) {
      throw FormatError(fmt::format("program text: {} must follow the item that it describes", key_));
    }
    taken_ = taken_ || behind.taken();
  }

  std::string_view key_;
  std::string_view value_;
  std::size_t& elements_left_;
  bool taken_ = false;
};

// ---- Programs ----

template <typename Kind>
[[nodiscard]] std::string write_program(const Kind& program) {
  std::string text(Kind::kKind);
  visit_fields(program, WordWriter(text));
  return text;
}

template <typename Kind>
void read_program(std::span<const std::string_view> words, Kind& program) {
  std::size_t elements_left = limits::kMaxProgramElements;
  for (const std::string_view word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) throw_unknown_word(word);
    WordReader reader(word.substr(0, equals), word.substr(equals + 1), elements_left);
    visit_fields(program, reader);
    if (!reader.taken()) throw_unknown_word(word.substr(0, equals));
  }
}

}  // namespace gputopo::text
