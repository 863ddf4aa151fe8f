#include "model/likeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gputopo {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The Levenshtein distances from `wanted` to the closest prefix of `name` and to the whole name, one row at a time.
std::pair<std::size_t, std::size_t> distance(std::string_view name, std::string_view wanted) {
  std::vector<std::size_t> row(wanted.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::size_t to_beginning = row.back();
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(name[i]) == lower(wanted[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
    to_beginning = std::min(to_beginning, row.back());
  }
  return {to_beginning, row.back()};
}

}  // namespace

std::vector<std::string> by_likeness(std::string_view wanted, std::vector<std::string> names) {
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(a, wanted) < distance(b, wanted);
  });
  return names;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names, std::string_view prefix) {
  constexpr std::size_t kOneSlipIn = 3;  // letters for each typo
  const std::vector<std::string> sorted = by_likeness(wanted, names);
  if (sorted.empty() || distance(sorted.front(), wanted).first > wanted.size() / kOneSlipIn) return "";
  return fmt::format("did you mean {}{}? ", prefix, sorted.front());
}

}  // namespace gputopo
