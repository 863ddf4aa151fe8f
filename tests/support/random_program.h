// Random programs and results of every kind, to test text and recordings. They are seldom valid, except for the
// fields that the caller sets.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "program/kinds.h"
#include "support/draw.h"

namespace gputopo::test {

// A visitor of fields (program/fields.h) that sets random values.
class RandomFields {
 public:
  explicit RandomFields(truth::Draw& draw) : draw_(draw) {}

  void operator()(std::string_view, auto&& field) { fill(field); }
  void operator()(std::string_view, auto&& field, const auto&) {
    if (draw_.chance(0.5)) fill(field);
  }

 private:
  template <typename T>
  requires(std::integral<T> || std::floating_point<T> || std::is_enum_v<T>) void fill(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(draw_.below(static_cast<std::uint32_t>(kNames<T>.size())));
    } else if constexpr (std::same_as<T, bool>) {
      value = draw_.chance(0.5);
    } else {
      value = static_cast<T>(draw_.chance(0.5) ? draw_.uniform(0, 9) : draw_.log_uniform(1, 2e9));
    }
  }
  void fill(std::string& text) { text = draw_.chance(0.5) ? "" : "it has none"; }
  template <typename T>
  void fill(std::optional<T>& value) {
    if (draw_.chance(0.5)) fill(value.emplace());
  }
  template <typename... T>
  void fill(const std::tuple<T&...>& values) {
    std::apply([this](T&... value) { (fill(value), ...); }, values);
  }
  void fill(std::vector<std::uint32_t>& numbers) {
    numbers.resize(draw_.below(20));
    // Includes runs of consecutive numbers, which the text form writes as first-last.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      fill(numbers[i]);
      if (i > 0 && draw_.chance(0.6)) numbers[i] = numbers[i - 1] + 1;
    }
  }
  void fill(Sparse<std::vector<std::uint32_t>>& counts) {
    counts.list.resize(draw_.below(kHistogramBins + 1));
    for (std::uint32_t& count : counts.list) count = draw_.chance(0.05) ? draw_.below(1000) : 0;
  }
  template <typename Item>
  void fill(std::vector<Item>& items) {
    items.resize(draw_.below(5));
    for (Item& item : items) {
      if constexpr (requires { visit_fields(item, *this); }) {
        visit_fields(item, *this);
      } else {
        fill(item);
      }
    }
  }

  truth::Draw& draw_;
};

// One program of every kind.
inline std::vector<Program> random_programs(truth::Draw& draw) {
  std::vector<Program> programs;
  for (Program& program : ProgramKinds::empty_programs()) {
    std::visit([&](auto& of_kind) { visit_fields(of_kind, RandomFields(draw)); }, program);
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace gputopo::test
