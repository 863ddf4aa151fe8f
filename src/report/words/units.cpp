#include "report/words/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace gputopo::report {
namespace {

struct Scaled {
  double value;
  std::string_view unit;
};

template <std::size_t N>
Scaled scale(double value, double step, const std::array<std::string_view, N>& units) {
  std::size_t i = 0;
  // A value that four digits round up to the next unit uses the next unit.
  constexpr double kRoundsUp = 1 - 0.5e-4;
  while (i + 1 < N && std::abs(value) >= step * kRoundsUp) {
    value /= step;
    ++i;
  }
  return {value, units.at(i)};
}

// Words of names that need another spelling.
struct Abbreviation {
  std::string_view id;
  std::string_view text;
};
constexpr Abbreviation kAbbreviations[] = {{"sm", "SM"},     {"sms", "SMs"}, {"simds", "SIMDs"}, {"l1", "L1"},
                                           {"l2", "L2"},     {"tlb", "TLB"}, {"gpc", "GPC"},     {"xcd", "XCD"},
                                           {"cpu", "CPU"},   {"os", "OS"},   {"ecc", "ECC"},     {"mig", "MIG"},
                                           {"pcie", "PCIe"}, {"api", "API"}};

std::string human_number(double number, std::string_view unit) {
  constexpr int kDigits = 4;
  if (unit == "B") return human_bytes(number);
  if (unit == "B/s") return human_bandwidth(number);
  if (unit == "FLOP/s" || unit == "OP/s") {
    const Scaled scaled = scale(number, 1000, std::array<std::string_view, 6>{"", "k", "M", "G", "T", "P"});
    return fmt::format("{} {}{}", significant(scaled.value, kDigits), scaled.unit, unit);
  }
  const bool whole = number == std::round(number) && std::abs(number) < 1e15;
  const std::string text = whole ? fmt::format("{:.0f}", number) : significant(number, kDigits);
  return unit.empty() ? text : fmt::format("{} {}", text, unit);
}

}  // namespace

std::string readable(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string_view word = name.substr(0, end);
    const auto* known = std::ranges::find(kAbbreviations, word, &Abbreviation::id);
    text += known != std::end(kAbbreviations) ? known->text : word;
    if (end < name.size()) text += ' ';
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return text;
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  // Rounds halves up as on paper: 284.45 becomes 284.5, although its binary value lies slightly below the half.
  constexpr double kBinaryError = 1e-14;
  value += value * kBinaryError;
  const int magnitude = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - 1 - magnitude));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string human_bytes(double bytes) {
  constexpr double kExactBelow = 4096;
  if (std::abs(bytes) < kExactBelow && std::fmod(bytes, 1024) != 0) return significant(bytes, 4) + " B";
  const Scaled scaled = scale(bytes, 1024, std::array<std::string_view, 5>{"B", "KiB", "MiB", "GiB", "TiB"});
  return fmt::format("{} {}", significant(scaled.value, 4), scaled.unit);
}

std::string human_bandwidth(double bytes_per_second) {
  const Scaled scaled =
      scale(bytes_per_second, 1000, std::array<std::string_view, 5>{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
  return fmt::format("{} {}", significant(scaled.value, 3), scaled.unit);
}

std::string human_value(const Value& value, std::string_view unit) {
  struct Visitor {
    std::string_view unit;
    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
    std::string operator()(std::int64_t number) const { return human_number(static_cast<double>(number), unit); }
    std::string operator()(double number) const { return human_number(number, unit); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<double>& numbers) const {
      if (numbers.empty()) return "none";
      std::vector<std::string> texts;
      for (const double number : numbers) texts.push_back(human_number(number, unit));
      return fmt::format("{}", fmt::join(texts, ", "));
    }
    std::string operator()(const std::vector<std::string>& texts) const {
      return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
    }
    std::string operator()(const UnitGroups& groups) const { return (*this)(group_texts(groups)); }
  };
  return std::visit(Visitor{unit}, value);
}

std::vector<std::string> group_texts(const UnitGroups& groups) {
  std::vector<std::string> texts;
  for (const std::vector<std::uint32_t>& group : groups.groups)
    texts.push_back(fmt::format("{}", fmt::join(group, "+")));
  return texts;
}

DetailName detail_name(std::string_view name) {
  struct Suffix {
    std::string_view text;
    std::string_view unit;
  };
  constexpr Suffix kSuffixes[] = {{"_bytes_per_second", "B/s"},
                                  {"_bytes_per_cycle", "B/cycle"},
                                  {"_bytes", "B"},
                                  {"_cycles", "cycles"},
                                  {"_seconds", "s"},
                                  {"_ns", "ns"},
                                  {"_warps", "warps"},
                                  {"_mhz", "MHz"},
                                  {"_celsius", "\u00b0C"},
                                  {"_watts", "W"}};
  // Here the suffix names the variable, not the unit.
  if (name.ends_with("_by_warps")) return {readable(name), ""};
  for (const Suffix& suffix : kSuffixes) {
    if (name.size() > suffix.text.size() && name.ends_with(suffix.text)) {
      return {readable(name.substr(0, name.size() - suffix.text.size())), std::string(suffix.unit)};
    }
  }
  return {readable(name), ""};
}

}  // namespace gputopo::report
