#include "support/accuracy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "gputopo/file.h"
#include "support/seeds.h"

namespace gputopo::truth {
namespace {

constexpr const char* kKnownValuesPath = GPUTOPO_SOURCE_DIR "/tests/truth/known_values.txt";

constexpr std::string_view kKnownValuesHead =
    "# Values of random machines that are known not to be as they should be. Every other one fails, and so does a "
    "listed one\n"
    "# that has become right: remove its line. tests/support/accuracy.h says what the kinds mean.\n"
    "# GPUTOPO_UPDATE_KNOWN=1 truth_tests rewrites the file. A new line gets the report's own words as its reason; "
    "replace\n"
    "# them by the cause if the value is wrong.\n"
    "#\n"
    "# test | seed | value | kind | reason\n";

std::string running_test() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{}.{}", test.test_suite_name(), test.name());
}

auto key_of(const KnownValue& value) { return std::tie(value.test, value.seed, value.path, value.kind); }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

KnownValue parse_line(std::string_view line) {
  constexpr std::size_t kFields = 5;
  std::vector<std::string> fields;
  std::string_view rest = line;
  while (fields.size() + 1 < kFields && rest.find('|') != std::string_view::npos) {
    fields.emplace_back(trimmed(rest.substr(0, rest.find('|'))));
    rest.remove_prefix(rest.find('|') + 1);
  }
  fields.emplace_back(trimmed(rest));
  KnownValue value;
  const bool complete = fields.size() == kFields && std::ranges::none_of(fields, &std::string::empty);
  if (complete) {
    const std::string& seed = fields[1];
    const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), value.seed);
    if (error == std::errc() && end == seed.data() + seed.size()) {
      value.test = fields[0];
      value.path = fields[2];
      value.kind = fields[3];
      value.reason = fields[4];
      return value;
    }
  }
  throw std::runtime_error(fmt::format("'{}' is not 'test | seed | value | kind | reason'", line));
}

// The list has one line for each value, with '|' between its parts.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '|', '/');
  return text;
}

void update(const std::string& test, std::uint64_t first, std::uint64_t last, const std::vector<Finding>& found) {
  std::vector<KnownValue> known = parse_known_values(read_file(kKnownValuesPath));
  std::map<std::tuple<std::string, std::uint64_t, std::string, std::string>, std::string> reasons;
  for (const KnownValue& value : known) reasons.emplace(key_of(value), value.reason);
  std::erase_if(
      known, [&](const KnownValue& value) { return value.test == test && first <= value.seed && value.seed <= last; });
  for (const Finding& finding : found) {
    std::string reason = one_line(finding.text);
    if (const std::string path = finding.path + ": "; reason.starts_with(path)) reason.erase(0, path.size());
    KnownValue value{test, finding.seed, finding.path, finding.kind, std::move(reason)};
    if (const auto kept = reasons.find(key_of(value)); kept != reasons.end()) value.reason = kept->second;
    known.push_back(std::move(value));
  }
  write_file(kKnownValuesPath, known_values_text(known));
}

Share sum_of(const std::vector<Share>& machines) {
  Share sum;
  for (const Share& machine : machines) {
    sum.part += machine.part;
    sum.whole += machine.whole;
  }
  return sum;
}

}  // namespace

std::string finding_kind(const Judged& judged) {
  switch (judged.verdict) {
    case Verdict::kConfidentlyWrong:
      return "wrong";
    case Verdict::kFlagged:
      return "flagged";
    case Verdict::kSilent:
      return "silent";
    case Verdict::kClose:
      return judged.is_flagged ? "alarm" : "outside";
    case Verdict::kRight:
      return judged.is_flagged ? "alarm" : "";
    case Verdict::kRightlySilent:
      return "";
  }
  return "";
}

std::vector<KnownValue> parse_known_values(std::string_view text) {
  std::vector<KnownValue> values;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty() && !line.starts_with('#')) values.push_back(parse_line(line));
  }
  return values;
}

std::string known_values_text(const std::vector<KnownValue>& values) {
  std::vector<KnownValue> sorted = values;
  std::ranges::sort(sorted, {}, key_of);
  std::string text(kKnownValuesHead);
  for (const KnownValue& value : sorted) {
    text += fmt::format("{} | {} | {} | {} | {}\n", value.test, value.seed, value.path, value.kind, value.reason);
  }
  return text;
}

std::vector<std::string> differences(const std::vector<KnownValue>& known, std::string_view test, std::uint64_t first,
                                     std::uint64_t last, const std::vector<Finding>& found) {
  using Key = std::tuple<std::uint64_t, std::string, std::string>;
  std::set<Key> listed;
  for (const KnownValue& value : known) {
    if (value.test == test && first <= value.seed && value.seed <= last) {
      listed.emplace(value.seed, value.path, value.kind);
    }
  }
  std::vector<std::string> lines;
  std::set<Key> seen;
  for (const Finding& finding : found) {
    if (finding.seed < first || finding.seed > last) continue;
    const Key key(finding.seed, finding.path, finding.kind);
    seen.insert(key);
    if (!listed.contains(key))
      lines.push_back(fmt::format("seed {}: {}: {}", finding.seed, finding.kind, finding.text));
  }
  for (const auto& [seed, path, kind] : listed) {
    if (seen.contains({seed, path, kind})) continue;
    lines.push_back(fmt::format("seed {}: {} is not {} any more: remove its line", seed, path, kind));
  }
  return lines;
}

void expect_known(std::uint64_t first_seed, std::uint64_t machines, std::vector<Finding> found) {
  const std::uint64_t last = std::min(first_seed + machines - 1, kMachines);
  std::erase_if(found, [&](const Finding& finding) { return finding.seed > last; });
  if (first_seed > last) return;  // fresh seeds only: expect_share judges them
  if (std::getenv("GPUTOPO_UPDATE_KNOWN") != nullptr) return update(running_test(), first_seed, last, found);
  const std::vector<KnownValue> known = parse_known_values(read_file(kKnownValuesPath));
  for (const std::string& line : differences(known, running_test(), first_seed, last, found)) ADD_FAILURE() << line;
}

double binomial_limit(const std::vector<Share>& machines, double goal) {
  constexpr double kFalseAlarms = 0.001;
  const auto [part, whole] = sum_of(machines);
  if (whole == 0) return 0;
  const double share = part / whole;
  double between = 0;
  for (const Share& machine : machines) between += std::pow(machine.part - share * machine.whole, 2);
  const auto count = static_cast<double>(machines.size());
  if (count > 1) between *= count / (count - 1);
  const double independent = whole * share * (1 - share);
  const double design_effect = independent > 0 ? std::max(1.0, between / independent) : 1;
  const double trials = whole / design_effect;
  return boost::math::quantile(boost::math::complement(boost::math::binomial(trials, goal), kFalseAlarms)) / trials;
}

std::string share_text(const std::vector<Share>& machines) {
  const auto [part, whole] = sum_of(machines);
  return fmt::format("{} of {}", part, whole);
}

void expect_share(std::string_view what, const std::vector<Share>& machines, double goal) {
  const auto [part, whole] = sum_of(machines);
  ASSERT_GT(whole, 0) << what << ": no value was judged";
  EXPECT_LE(part / whole, binomial_limit(machines, goal))
      << fmt::format("{}: {} over {} machines, goal {:.2f}%", what, share_text(machines), machines.size(), 100 * goal);
}

}  // namespace gputopo::truth
