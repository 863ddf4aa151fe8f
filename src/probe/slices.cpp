// How many slices of L2 can be told apart: lines of one slice are at the same distance from every SM, so those that all
// SMs reach in the same time are of one slice. What counts as the same time comes from loading each line again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "probe/sharing_groups.h"
#include "probe/sm_by_line.h"

namespace gputopo::probe {
namespace {

constexpr std::size_t kLines = 2048;   // several of each slice of the largest L2
constexpr std::uint64_t kPasses = 16;  // two halves, to compare

// Cycles by SM.
using Profile = std::vector<float>;

double distance(const Profile& a, const Profile& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(static_cast<double>(sum) / static_cast<double>(a.size()));
}

// Of the passes [begin, end) of each line: the mean of their middle half, finer than a median of whole cycles.
std::vector<Profile> profiles(const SmByLine& map, std::size_t begin, std::size_t end) {
  constexpr double kTrim = 0.25;
  std::vector<Profile> lines(map.line_bytes.size(), Profile(map.sms.size()));
  for (std::size_t sm = 0; sm < map.sms.size(); ++sm) {
    for (std::size_t line = 0; line < lines.size(); ++line) {
      const auto& passes = map.latencies[sm][line];
      const auto first = passes.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = passes.begin() + static_cast<std::ptrdiff_t>(end);
      lines[line][sm] = static_cast<float>(stats::trimmed_mean(std::vector<double>(first, last), kTrim));
    }
  }
  return lines;
}

// A tree of the shortest distances that connects all lines: without those above a limit it falls into the groups whose
// lines are no further than that from another.
struct Edge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  double distance = 0;
};

std::vector<Edge> shortest_tree(const std::vector<Profile>& lines) {
  std::vector<Edge> nearest(lines.size());  // to what is in the tree
  for (std::uint32_t i = 1; i < lines.size(); ++i) nearest[i] = {i, 0, distance(lines[i], lines[0])};
  std::vector<bool> in_tree(lines.size());
  in_tree[0] = true;
  std::vector<Edge> tree;
  while (tree.size() + 1 < lines.size()) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 1; i < lines.size(); ++i) {
      if (!in_tree[i] && (next == 0 || nearest[i].distance < nearest[next].distance)) next = i;
    }
    in_tree[next] = true;
    tree.push_back(nearest[next]);
    for (std::uint32_t i = 1; i < lines.size(); ++i) {
      if (in_tree[i]) continue;
      const double to_next = distance(lines[i], lines[next]);
      if (to_next < nearest[i].distance) nearest[i] = {i, next, to_next};
    }
  }
  return tree;
}

// How many lines each group has. Groups of less than a few lines are noise.
std::vector<double> groups_within(const std::vector<Edge>& tree, double limit) {
  constexpr std::size_t kLeastLines = 3;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> near;
  for (const Edge& edge : tree) {
    if (edge.distance <= limit) near.emplace_back(edge.a, edge.b);
  }
  std::vector<double> lines;
  for (const auto& group : connected_groups(static_cast<std::uint32_t>(tree.size()) + 1, near)) {
    if (group.size() >= kLeastLines) lines.push_back(static_cast<double>(group.size()));
  }
  return lines;
}

}  // namespace

Attribute measure_slices(Lab& lab, const Cache& l2) {
  const SmByLine map = load_from_every_sm(lab, l2, kLines, kPasses);
  constexpr std::size_t kLeastSms = 4;
  if (map.sms.size() < kLeastSms) throw NotSupportedError("needs programs on SMs that they name");
  const std::vector<Profile> one_half = profiles(map, 0, kPasses / 2);
  const std::vector<Profile> other_half = profiles(map, kPasses / 2, kPasses);
  std::vector<double> repeats;
  for (std::size_t i = 0; i < one_half.size(); ++i) repeats.push_back(distance(one_half[i], other_half[i]));
  const double noise = stats::median(repeats);
  const std::vector<Edge> tree = shortest_tree(profiles(map, 0, kPasses));
  // Of all passes together there is half as much noise, of which two lines of one slice have one each: 0.7 on average.
  constexpr double kLimits[] = {0.75, 0.82, 0.9, 0.97, 1.05};  // times the noise
  std::vector<std::vector<double>> groups;
  std::vector<double> counts;
  for (const double times : kLimits) {
    groups.push_back(groups_within(tree, times * noise));
    counts.push_back(static_cast<double>(groups.back().size()));
  }
  lab.log(fmt::format("slices: {:.1f} cycles from pass to pass; groups within {} times that: {}", noise,
                      fmt::join(kLimits, " "), fmt::join(counts, " ")));
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  const double count = stats::median(counts);
  if (count < 2) throw Inconclusive("all lines look alike from every SM: slices do not differ by more than noise");
  constexpr double kAgree = 1.25;
  if (*most > kAgree * *fewest) {
    throw Inconclusive(fmt::format("{:.0f} to {:.0f} groups of lines, by what is taken as noise", *fewest, *most));
  }
  // Lines are spread evenly over slices, so groups with several times as many as the smaller ones may be several slices
  // that lie too near one another.
  constexpr double kSmaller = 0.25;
  const std::vector<double>& middle = groups[groups.size() / 2];
  const double one_slice = stats::quantile(middle, kSmaller);
  double shares = 0;
  for (const double lines : middle) shares += std::max(1.0, std::round(lines / one_slice));
  Attribute attribute = measured(lab.conditions(), static_cast<std::int64_t>(count), "",
                                 stats::Interval{*fewest, std::max(*most, shares)}, "lines_alike_from_every_sm");
  attribute.details = {{"lines", static_cast<std::int64_t>(kLines)}, {"noise_cycles", std::round(10 * noise) / 10}};
  return attribute;
}

}  // namespace gputopo::probe
