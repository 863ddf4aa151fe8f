// Walks through new memory that a cache takes from their end, or for each set when the set is used.
#include <algorithm>
#include <array>
#include <type_traits>

#include "device/sim/cache/narrow_sets.h"

namespace gputopo::sim {

bool NarrowSets::goes_on(const LineWalk& walk) const {
  if (walked_.is_empty()) return walk.done == 0;
  const LineWalk& before = walked_.walk();
  const auto partition_of = [](const LineWalk& one) {
    return one.home ? std::optional(one.home->partition) : std::nullopt;
  };
  return walk.first_line == before.first_line && partition_of(walk) == partition_of(before) &&
         walk.lines >= before.lines && walk.done >= before.lines;
}

bool NarrowSets::can_replay(const LineWalk& walk) const { return replays() && index_.goes_by_turns() && goes_on(walk); }

std::optional<bool> NarrowSets::take_walk(const LineWalk& walk) {
  if (!index_.goes_by_turns()) return std::nullopt;
  const WalkedLines walked(walk, sets_.size());
  // A replayed walk may leave earlier lines in place.
  const std::optional<bool> is_overfull = replays() ? false : walked.is_overfull(least_ways_, stride_);
  if (!is_overfull) return std::nullopt;
  // If a walk fills all sets, nothing before it matters.
  if (!goes_on(walk) && !*is_overfull) return std::nullopt;
  walked_ = walked;
  last_ = {};
  highest_line_ = std::max(highest_line_, walk.first_line + walk.lines - 1);
  if (replacement_ == Replacement::kRandom && walked.most_of_set() > least_ways_) chose_at_random_ = true;
  for (Set& set : sets_) {
    if (set.program == program_) take_walked(set, walk.done);
  }
  return is_overfull;
}

void NarrowSets::take_walked(Set& set, std::uint64_t done) {
  if (replays()) return replay(set, done);
  std::array<std::uint64_t, kMaxWays> lines;
  std::array<std::uint32_t, kMaxWays> sectors;
  const auto set_index = static_cast<std::uint32_t>(&set - sets_.data());
  const std::uint32_t count = walked_.newest(set_index, done, set.ways, lines.data(), sectors.data());
  if (count > 0) take_newest(set, std::span(lines).first(count), sectors.data());
}

bool NarrowSets::can_fill_back(bool is_empty, bool lines_are_new) const {
  // Protected lines stay, and a second load of a line protects it.
  if (replacement_ == Replacement::kSegmentedLru) return is_empty && lines_are_new;
  return replaces_by_age(replacement_);
}

void NarrowSets::start_fill_back() {
  back_.last = {};
  back_.overfull_sets = 0;
  back_.used.assign(sets_.size(), 0);
  back_.lines.resize(lines_.size());
  back_.sectors.resize(sectors_.size());
}

void NarrowSets::fill_back(std::span<const std::uint64_t> lines, const std::uint32_t* sectors) {
  std::array<std::uint32_t, kMaxLoadsAtOnce> sets;
  index_.sets_of(lines, sets.data());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t first = std::size_t{sets[i]} * stride_;
    if (lines[i] == back_.last.line) {
      if (sectored_ && back_.last.way != kNoWay) back_.sectors[first + back_.last.way] |= sectors[i];
      continue;
    }
    std::uint8_t& used = back_.used[sets[i]];
    const std::uint8_t ways = sets_[sets[i]].ways;
    back_.last = {lines[i], sets[i], kNoWay};
    highest_line_ = std::max(highest_line_, lines[i]);
    if (used > ways) continue;
    back_.overfull_sets += used == ways ? 1 : 0;
    const std::uint32_t way = used++;
    if (way == ways) continue;
    back_.last.way = way;
    back_.lines[first + way] = lines[i];
    if (sectored_) back_.sectors[first + way] = sectors[i];
  }
}

void NarrowSets::end_fill_back() {
  last_ = {};
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const std::size_t first = s * stride_;
    const std::size_t filled = std::min(back_.used[s], sets_[s].ways);
    if (filled == 0) continue;
    take_newest(sets_[s], std::span(back_.lines).subspan(first, filled), sectored_ ? &back_.sectors[first] : nullptr);
  }
}

void NarrowSets::take_newest(Set& set, std::span<const std::uint64_t> lines, const std::uint32_t* sectors) {
  if (set.program != program_) start_set(set);
  save(set);
  const std::size_t first = first_of(set);
  const auto count = static_cast<std::uint32_t>(lines.size());
  const std::uint32_t kept = std::min<std::uint32_t>(set.ways - count, set.used);
  const auto take = [&](auto& values, const auto* newest) {
    std::array<std::remove_cvref_t<decltype(values[0])>, kMaxWays> by_age;
    std::copy_n(newest, count, by_age.begin());
    auto way = static_cast<std::uint32_t>(set.state);
    for (std::uint32_t i = 0; i < kept; ++i, way = older_than(set, way)) by_age[count + i] = values[first + way];
    const auto end = by_age.begin() + count + kept;
    if (replacement_ == Replacement::kFifo) std::reverse(by_age.begin(), end);
    const std::uint32_t front = replacement_ == Replacement::kLru ? set.ways - count - kept : 0u;
    std::copy(by_age.begin(), end, values.begin() + static_cast<std::ptrdiff_t>(first + front));
  };
  take(lines_, lines.data());
  if (sectored_) take(sectors_, sectors);
  set.used = static_cast<std::uint8_t>(count + kept);
  set.state = replacement_ == Replacement::kFifo ? set.used - 1u : first_way(set);
}

}  // namespace gputopo::sim
