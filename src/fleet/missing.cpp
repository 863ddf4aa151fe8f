#include "fleet/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "gputopo/node.h"
#include "stats/descriptive.h"

namespace gputopo::fleet {
namespace {

constexpr std::int64_t kSecondsPerHour = 3600;
// Longest time between the first and the last GPU of one measurement of a host. Larger values miss GPUs that were lost
// between two measurements; smaller ones take GPUs for lost that are measured one after another.
constexpr std::int64_t kLongestRound = 6 * kSecondsPerHour;
// Hosts that were measured closer together than this belong together.
constexpr std::int64_t kTogether = 12 * kSecondsPerHour;
// Hosts of one night may end this much later than the first.
constexpr std::int64_t kGrace = 2 * kSecondsPerHour;
// A GPU or host that was last seen longer ago was retired.
constexpr std::int64_t kRetired = 30 * 24 * kSecondsPerHour;
// Two measurements of a host that are closer together than this belong to one night.
constexpr std::int64_t kAgain = 10 * kSecondsPerHour;
// A host is due once this part of its usual interval is over.
constexpr double kDue = 0.9;
// A host that was last measured so long before the others is not judged, even if nothing was measured with it.
constexpr std::int64_t kStale = 8 * 24 * kSecondsPerHour;
// Largest number of other hosts that a host is compared with.
constexpr std::size_t kMostOthers = 200;

struct Seen {
  std::size_t group = 0;
  std::uint32_t gpu = 0;
  Word id = kNoWord;
  std::int64_t time = 0;     // of its latest run
  bool is_instance = false;  // of MIG
};

// One measurement of a host: each GPU once.
struct Round {
  std::int64_t begin = 0;
  std::set<Word> gpus;
};

// A host, or a GPU whose report names no host.
struct Unit {
  std::vector<Seen> gpus;  // whose latest run is on this host
  std::vector<std::pair<std::int64_t, Word>> runs;
  std::vector<Round> rounds;
  double usual_interval = 0;  // between nights, in seconds; 0: unknown

  void find_rounds() {
    std::ranges::sort(runs);
    for (const auto& [time, gpu] : runs) {
      const bool is_new =
          rounds.empty() || time - rounds.back().begin > kLongestRound || rounds.back().gpus.contains(gpu);
      if (is_new) rounds.push_back({time, {}});
      rounds.back().gpus.insert(gpu);
    }
    std::vector<double> intervals;
    for (std::size_t i = 1; i < rounds.size(); ++i) {
      const std::int64_t interval = rounds[i].begin - rounds[i - 1].begin;
      if (interval >= kAgain) intervals.push_back(static_cast<double>(interval));
    }
    if (intervals.size() >= 2) usual_interval = stats::median(intervals);
  }
  // The largest number of GPUs in a round of the last month before the newest one.
  [[nodiscard]] std::size_t most_gpus_before() const {
    std::size_t most = 0;
    for (std::size_t i = 0; i + 1 < rounds.size(); ++i) {
      if (rounds[i].begin >= rounds.back().begin - kRetired) most = std::max(most, rounds[i].gpus.size());
    }
    return most;
  }
  // The first round that is not of the same night as the given one; null if there is none.
  [[nodiscard]] const Round* next_night(std::size_t round) const {
    for (std::size_t i = round + 1; i < rounds.size(); ++i) {
      if (rounds[i].begin - rounds[round].begin >= kAgain) return &rounds[i];
    }
    return nullptr;
  }
};

PartOfGpu part_of(const Seen& seen, std::string text) {
  PartOfGpu part{.gpu = seen.gpu, .value = {.path = "presence", .basis = Basis::kExact}};
  part.value.text = std::move(text);
  part.value.usual_text = "present";
  part.value.worse = 1;
  part.value.decides = true;
  return part;
}

class Search {
 public:
  Search(const Store& store, const std::vector<Members>& groups, std::int64_t now)
      : store_(store), now_(now), result_(groups.size()) {
    for (const StoredRun& run : store.runs()) {
      if (is_dated(run)) units_[unit_of(run)].runs.emplace_back(*run.timestamp, run.gpu);
      ++counts_[run.gpu];
      if (!run.timestamp) undated_.insert(run.gpu);
    }
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (std::uint32_t gpu = 0; gpu < groups[group].gpus.size(); ++gpu) add_gpu(groups[group].gpus[gpu], group, gpu);
    }
    for (auto& [key, unit] : units_) {
      unit.find_rounds();
      if (!unit.rounds.empty()) newest_ = std::max(newest_, unit.rounds.back().begin);
      all_.push_back(&unit);
    }
  }

  std::vector<Missing> find() {
    for (const auto& [key, unit] : units_) {
      if (unit.rounds.empty() || unit.gpus.empty()) continue;
      const Round& last = unit.rounds.back();
      const std::optional<Outcome> of_unit = last.begin >= newest_ - kRetired ? judge_unit(unit) : std::nullopt;
      const std::string_view what = key.first == kNoWord ? "it was not measured" : "its host was not measured";
      for (const Seen& seen : unit.gpus) {
        if (!last.gpus.contains(seen.id)) {
          add_lost(unit, seen);
        } else if (of_unit) {
          add(*of_unit, seen,
              fmt::format("{} again when the others were; last seen {}", what, timestamp_text(seen.time)));
        }
      }
    }
    return std::move(result_);
  }

 private:
  // A host, or a GPU without one.
  using Key = std::pair<Word, Word>;
  static Key unit_of(const StoredRun& run) { return {run.host, run.host == kNoWord ? run.gpu : kNoWord}; }
  [[nodiscard]] bool is_dated(const StoredRun& run) const {
    return run.timestamp && *run.timestamp >= 0 && *run.timestamp - kSecondsPerHour <= now_;
  }

  [[nodiscard]] bool is_instance(const StoredRun& run) const {
    return run.profile != kNoWord || !mig_profile_in(store_.text(run.model)).empty();
  }

  void add(Outcome outcome, const Seen& seen, std::string text) {
    Missing& result = result_[seen.group];
    (outcome == Outcome::kBad ? result.bad : result.not_judged).push_back(part_of(seen, std::move(text)));
  }

  void add_gpu(const GpuRuns& gpu, std::size_t group, std::uint32_t index) {
    const StoredRun& run = store_.runs()[gpu.latest];
    const Seen seen{group, index, run.gpu, run.timestamp.value_or(0), is_instance(run)};
    if (is_dated(run)) units_[unit_of(run)].gpus.push_back(seen);
    if (run.timestamp && !is_dated(run)) {
      add(Outcome::kNotJudged, seen,
          "its newest run is dated in the future: correct its host's clock, and merge the other runs into a new store");
    } else if (counts_[run.gpu] > 1 && undated_.contains(run.gpu)) {
      add(Outcome::kNotJudged, seen,
          "a run has no timestamp, so the newest one is unknown: merge the other runs into a new store");
    }
  }

  // A GPU that its host had and lacks in its newest measurement.
  void add_lost(const Unit& unit, const Seen& seen) {
    const Round& last = unit.rounds.back();
    if (seen.time < last.begin - kRetired) return;
    // A board that was replaced leaves the number of GPUs as it was.
    const std::size_t before = unit.most_gpus_before();
    if (last.gpus.size() >= before) return;
    if (seen.is_instance) {
      return add(Outcome::kNotJudged, seen,
                 "its host has other MIG instances now: merge the runs since that change into a new store");
    }
    const bool is_whole = 2 * last.gpus.size() >= before;
    add(is_whole ? Outcome::kBad : Outcome::kNotJudged, seen,
        fmt::format("{}; last seen {}",
                    is_whole ? "missing from its host" : "the newest run of its host has only a few GPUs",
                    timestamp_text(seen.time)));
  }

  // Bad if at least half of the hosts that were measured together with this one have been measured again since then,
  // and this one is due, too; not judged if fewer have. Hosts need not be measured at the same time of the day.
  [[nodiscard]] std::optional<Outcome> judge_unit(const Unit& unit) const {
    const std::int64_t until = std::min(now_, newest_ + kGrace);
    const std::int64_t last = unit.rounds.back().begin;
    if (static_cast<double>(until - last) < kDue * unit.usual_interval) return std::nullopt;
    std::size_t together = 0;
    std::size_t again = 0;
    const std::size_t step = std::max<std::size_t>(1, all_.size() / kMostOthers);
    for (std::size_t i = 0; i < all_.size(); i += step) {
      const Unit& other = *all_[i];
      const std::size_t near = nearest(other, last);
      if (&other == &unit || near == other.rounds.size()) continue;
      ++together;
      const std::int64_t begin = other.rounds[near].begin;
      const Round* next = other.next_night(near);
      again += next != nullptr && next->begin + last - begin <= until ? 1 : 0;
    }
    const bool is_stale = last<newest_ - kStale&& static_cast<double>(newest_ - last)> 1.5 * unit.usual_interval;
    if (again == 0) return is_stale ? std::optional(Outcome::kNotJudged) : std::nullopt;
    return 2 * again >= together ? Outcome::kBad : Outcome::kNotJudged;
  }

  // The round of `other` that is nearest to `time`, or the number of its rounds if none is near.
  static std::size_t nearest(const Unit& other, std::int64_t time) {
    const auto after = std::ranges::upper_bound(other.rounds, time, {}, &Round::begin);
    std::size_t best = other.rounds.size();
    std::int64_t distance = kTogether + 1;
    for (auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - other.rounds.begin() - 1, 0));
         i < other.rounds.size() && i <= static_cast<std::size_t>(after - other.rounds.begin()); ++i) {
      if (std::abs(other.rounds[i].begin - time) >= distance) continue;
      distance = std::abs(other.rounds[i].begin - time);
      best = i;
    }
    return best;
  }

  const Store& store_;
  std::int64_t now_;
  std::int64_t newest_ = 0;
  std::map<Key, Unit> units_;
  std::vector<const Unit*> all_;
  std::map<Word, std::size_t> counts_;  // runs by GPU
  std::set<Word> undated_;              // GPUs with a run that has no timestamp
  std::vector<Missing> result_;
};

}  // namespace

std::vector<Missing> missing_gpus(const Store& store, const std::vector<Members>& groups, std::int64_t now) {
  return Search(store, groups, now).find();
}

}  // namespace gputopo::fleet
