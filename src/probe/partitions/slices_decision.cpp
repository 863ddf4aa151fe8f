#include "probe/partitions/slices_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "probe/bench/sharing_groups.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// Cycles of a line, by SM.
using Profile = std::vector<float>;

double distance(const Profile& a, const Profile& b) {
  return std::sqrt(stats::squared_distance(a, b) / static_cast<double>(a.size()));
}

// Profile of each line over the passes [begin, end).
std::vector<Profile> profiles(const CyclesOfPasses& cycles, std::size_t begin, std::size_t end, double trimmed_part) {
  std::vector<Profile> lines(cycles.front().size(), Profile(cycles.size()));
  // Trimmed mean of each; there are hundreds of thousands, so this allocates nothing.
  const auto cut = static_cast<std::size_t>(trimmed_part * static_cast<double>(end - begin));
  std::vector<double> values;
  for (std::size_t sm = 0; sm < cycles.size(); ++sm) {
    for (std::size_t line = 0; line < lines.size(); ++line) {
      const auto& passes = cycles[sm][line];
      const auto first = passes.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = passes.begin() + static_cast<std::ptrdiff_t>(end);
      values.assign(first, last);
      std::ranges::sort(values);
      lines[line][sm] = static_cast<float>(stats::mean(std::span(values).subspan(cut, values.size() - 2 * cut)));
    }
  }
  return lines;
}

// Difference of the same lines between the halves of the passes.
double noise_of(const CyclesOfPasses& cycles, std::size_t passes, double trimmed_part) {
  const std::vector<Profile> one_half = profiles(cycles, 0, passes / 2, trimmed_part);
  const std::vector<Profile> other_half = profiles(cycles, passes / 2, passes, trimmed_part);
  std::vector<double> repeats;
  for (std::size_t i = 0; i < one_half.size(); ++i) repeats.push_back(distance(one_half[i], other_half[i]));
  return stats::median(repeats);
}

// Minimum spanning tree of the lines' distances. Without the edges above a limit it falls into groups in which each
// line is within the limit of another.
struct Edge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  double distance = 0;
};

std::vector<Edge> shortest_tree(const std::vector<Profile>& lines) {
  std::vector<Edge> nearest(lines.size());  // to what is in the tree
  for (std::uint32_t i = 1; i < lines.size(); ++i) nearest[i] = {i, 0, distance(lines[i], lines[0])};
  std::vector<char> in_tree(lines.size());
  in_tree[0] = 1;
  std::vector<Edge> tree;
  while (tree.size() + 1 < lines.size()) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 1; i < lines.size(); ++i) {
      if (!in_tree[i] && (next == 0 || nearest[i].distance < nearest[next].distance)) next = i;
    }
    in_tree[next] = 1;
    tree.push_back(nearest[next]);
    for (std::uint32_t i = 1; i < lines.size(); ++i) {
      if (in_tree[i]) continue;
      const double to_next = distance(lines[i], lines[next]);
      if (to_next < nearest[i].distance) nearest[i] = {i, next, to_next};
    }
  }
  return tree;
}

// Lines of each group that is not noise.
std::vector<double> groups_within(const std::vector<Edge>& tree, double limit, std::size_t least_lines) {
  std::vector<UnitPair> near;
  for (const Edge& edge : tree) {
    if (edge.distance <= limit) near.emplace_back(edge.a, edge.b);
  }
  std::vector<double> lines;
  for (const auto& group : connected_groups(static_cast<std::uint32_t>(tree.size()) + 1, near)) {
    if (group.size() >= least_lines) lines.push_back(static_cast<double>(group.size()));
  }
  return lines;
}

// Number of slices if groups with several times the lines of one slice are several.
double slices_in(const std::vector<double>& lines_of_groups, double one_slice_quantile) {
  const double one_slice = stats::quantile(lines_of_groups, one_slice_quantile);
  double slices = 0;
  for (const double lines : lines_of_groups) slices += std::max(1.0, std::round(lines / one_slice));
  return slices;
}

// Variance of the groups' sizes over their mean, and its limit for groups of one slice each.
struct Scatter {
  double found = 0;
  double expected_at_most = 0;
};

Scatter scatter_of(const std::vector<double>& lines_of_groups, double errors) {
  const double mean = stats::mean(lines_of_groups);
  const auto others = static_cast<double>(lines_of_groups.size()) - 1;
  double squares = 0;
  for (const double lines : lines_of_groups) squares += (lines - mean) * (lines - mean);
  return {squares / others / mean, 1 + errors * std::sqrt(2 / others)};
}

}  // namespace

Decision<Slices> decide_slices(const CyclesOfPasses& cycles, const SlicesDecisionParameters& parameters) {
  if (cycles.empty() || cycles.front().empty()) return {.why_not = "no line was loaded"};
  const std::size_t passes = cycles.front().front().size();
  if (passes < 2) return {.why_not = "each line was loaded once, so the noise is unknown"};
  const double noise = std::max(parameters.least_noise_cycles, noise_of(cycles, passes, parameters.trimmed_part));
  const std::vector<Edge> tree = shortest_tree(profiles(cycles, 0, passes, parameters.trimmed_part));
  std::vector<std::vector<double>> groups;
  std::vector<double> counts;
  for (const double times : parameters.noise_limits) {
    groups.push_back(groups_within(tree, times * noise, parameters.least_lines));
    counts.push_back(static_cast<double>(groups.back().size()));
  }
  Decision<Slices> decision{
      .basis = fmt::format(
          "noise floor between passes: {:.1f} cycles; at limits of {} times this noise, the lines form {} groups",
          noise, fmt::join(parameters.noise_limits, " "), fmt::join(counts, " "))};
  const auto [fewest, most] = std::ranges::minmax(counts);
  const double count = stats::median(counts);
  if (count < 2) {
    decision.why_not = "all lines look alike from every SM: slices differ by no more than noise";
  } else if (most > parameters.agreement * fewest) {
    decision.why_not = fmt::format(
        "the lines form {:.0f} to {:.0f} groups, depending on how much difference counts as noise", fewest, most);
  } else if (const Scatter scatter = scatter_of(groups[groups.size() / 2], parameters.scatter_errors);
             scatter.found > scatter.expected_at_most) {
    decision.why_not = fmt::format(
        "the lines form {:.0f} groups, but the sizes of the groups vary {:.1f} times as much as the sizes of slices "
        "would: groups contain several slices or only a part of one",
        count, scatter.found);
  } else {
    const double possible = slices_in(groups[groups.size() / 2], parameters.one_slice_quantile);
    decision.value = Slices{static_cast<std::int64_t>(count), {fewest, std::max(most, possible)}, noise};
  }
  return decision;
}

}  // namespace gputopo::probe
