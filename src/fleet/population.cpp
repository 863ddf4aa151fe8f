#include "fleet/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "file/sanitize.h"

namespace gputopo::fleet {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kWeek = 7 * 24 * kHour;

std::int64_t time_of(const StoredRun& run) { return run.timestamp.value_or(std::numeric_limits<std::int64_t>::min()); }

auto group_key(const StoredRun& run) { return std::tuple(run.model, run.driver, run.profile, run.simulated); }

void note_times(const Store& store, const std::vector<GpuRuns>& gpus, std::int64_t now, Judgement& judgement) {
  std::size_t ahead = 0;
  std::size_t without = 0;
  std::size_t old = 0;
  for (const GpuRuns& gpu : gpus) {
    const StoredRun& run = store.runs()[gpu.latest];
    if (!run.timestamp) {
      ++without;
      continue;
    }
    ahead += *run.timestamp > now + kHour ? 1 : 0;
    if (judgement.last == 0 || *run.timestamp > judgement.last) judgement.last = std::min(*run.timestamp, now + kHour);
    if (judgement.first == 0 || *run.timestamp < judgement.first) judgement.first = *run.timestamp;
  }
  for (const GpuRuns& gpu : gpus) {
    const StoredRun& run = store.runs()[gpu.latest];
    old += run.timestamp && *run.timestamp < judgement.last - kWeek ? 1 : 0;
  }
  const auto note = [&](std::size_t count, std::string_view what) {
    if (count > 0) judgement.notes.push_back(fmt::format("{} GPU{}: {}", count, count == 1 ? "" : "s", what));
  };
  note(ahead, "the run is dated more than an hour in the future: its host's clock or this host's clock is wrong");
  note(without, "the run has no timestamp and counts as older than all others");
  note(old, "last measured more than a week before the newest run of the fleet");
}

// Returns each GPU's latest run and the comparable runs before it.
std::vector<GpuRuns> runs_by_gpu(const Store& store) {
  std::unordered_map<Word, std::vector<std::size_t>> by_gpu;
  for (std::size_t i = 0; i < store.runs().size(); ++i) by_gpu[store.runs()[i].gpu].push_back(i);
  std::vector<GpuRuns> gpus;
  for (auto& [gpu, runs] : by_gpu) {
    std::ranges::stable_sort(runs, {}, [&](std::size_t run) { return time_of(store.runs()[run]); });
    GpuRuns entry{.latest = runs.back(), .earlier = {}, .all = {}};
    for (const std::size_t run : runs) {
      const bool is_alike = group_key(store.runs()[run]) == group_key(store.runs()[entry.latest]);
      if (run != entry.latest && is_alike) entry.earlier.push_back(run);
    }
    entry.all = std::move(runs);
    gpus.push_back(std::move(entry));
  }
  // A host without GPUs has been measured again.
  std::unordered_map<Word, std::int64_t> newest;
  for (const StoredRun& run : store.runs()) {
    newest[run.host] = std::max(newest.try_emplace(run.host, time_of(run)).first->second, time_of(run));
  }
  std::erase_if(gpus, [&](const GpuRuns& gpu) {
    const StoredRun& run = store.runs()[gpu.latest];
    return store.text(run.model) == kNoGpu && time_of(run) < newest[run.host];
  });
  std::ranges::sort(gpus, {}, &GpuRuns::latest);  // restores merge order: a hash map has no stable order
  return gpus;
}

void note_mixture(const std::vector<Members>& groups, Judgement& judgement) {
  std::map<std::string, std::set<std::string>> drivers;
  std::size_t instances = 0;
  for (const Members& members : groups) {
    drivers[members.group.model].insert(members.group.driver);
    if (!members.group.profile.empty()) instances += members.group.gpus;
  }
  if (drivers.size() > 1) {
    judgement.notes.push_back(
        fmt::format("{} models: GPUs are compared only with GPUs of the same model", drivers.size()));
  }
  for (const auto& [model, versions] : drivers) {
    if (versions.size() < 2) continue;
    judgement.notes.push_back(fmt::format("{} has {} drivers: GPUs are compared only with GPUs with the same driver",
                                          sanitized_line(model), versions.size()));
  }
  if (instances > 0) {
    judgement.notes.push_back(fmt::format(
        "{} of the GPUs are MIG instances: they are compared only with instances of the same profile", instances));
  }
}

// Looks up the kind of each path once.
class Kinds {
 public:
  explicit Kinds(const Store& store) : store_(store) {}
  const ValueKind& of(const StoredReading& reading) {
    auto& kind = kinds_[reading.path];
    if (!kind) kind = kind_of_value(store_.text(reading.path), store_.text(reading.unit));
    return *kind;
  }

 private:
  const Store& store_;
  std::unordered_map<Word, std::optional<ValueKind>> kinds_;
};

// Maps link to what must be equal for two links to be equally fast: "gpu0-gpu1" to "nvlink, 4 x 25 GB/s nvlink".
constexpr std::size_t kLongestClass = 100;

std::map<std::string, std::string> link_kinds(const Store& store, const StoredRun& run, Kinds& kinds) {
  std::map<std::string, std::string> result;
  for (std::size_t i = run.first; i < run.end; ++i) {
    const StoredReading& reading = store.readings()[i];
    const ValueKind& kind = kinds.of(reading);
    if (!kind.link.empty() && kind.attribute == "kind") result[kind.link] = store.text(reading.text);
  }
  for (std::size_t i = run.first; i < run.end; ++i) {
    const StoredReading& reading = store.readings()[i];
    const ValueKind& kind = kinds.of(reading);
    if (kind.link.empty() || kind.attribute != kCapacity) continue;
    result[kind.link] = fmt::format("{}, {}", result[kind.link], store.text(reading.text)).substr(0, kLongestClass);
  }
  return result;
}

// Turns "host0-gpu3" into "host-gpu". The two directions of a link stay distinct.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

class Collector {
 public:
  explicit Collector(const Store& store) : store_(store), kinds_(store) {}

  void add(std::uint32_t gpu, const StoredRun& run) {
    const auto links = link_kinds(store_, run, kinds_);
    for (std::size_t i = run.first; i < run.end; ++i) {
      const StoredReading& reading = store_.readings()[i];
      Population& population = population_of(reading, links);
      auto& cells = std::isfinite(reading.value) ? population.numbers
                    : reading.reason != kNoWord  ? population.absent
                                                 : population.texts;
      cells.push_back({gpu, &reading});
    }
  }
  [[nodiscard]] std::vector<Population> take() && { return std::move(populations_); }

 private:
  Population& population_of(const StoredReading& reading, const std::map<std::string, std::string>& links) {
    const ValueKind& kind = kinds_.of(reading);
    // Numbers of links are compared within one kind of link. Texts of links are compared place by place.
    if (kind.link.empty() || !std::isfinite(reading.value)) {
      const auto [place, is_new] = by_path_.try_emplace(reading.path, populations_.size());
      if (is_new) add_population(store_.text(reading.path), reading, kind);
      return populations_[place->second];
    }
    const auto of_link = links.find(kind.link);
    const std::string link_kind = of_link == links.end() ? "" : of_link->second;
    const std::string path = fmt::format("link.{}.{}.{}", without_digits(kind.link),
                                         link_kind.empty() ? "unknown" : link_kind, kind.attribute);
    const auto [place, is_new] = by_link_.try_emplace(path, populations_.size());
    if (is_new) add_population(path, reading, kind);
    return populations_[place->second];
  }
  void add_population(const std::string& path, const StoredReading& reading, const ValueKind& kind) {
    populations_.push_back({path, store_.text(reading.unit), kind, {}, {}, {}});
  }

  const Store& store_;
  Kinds kinds_;
  std::vector<Population> populations_;
  std::unordered_map<Word, std::size_t> by_path_;
  std::map<std::string, std::size_t> by_link_;
};

}  // namespace

GpuName name_of(const Store& store, const StoredRun& run, std::size_t group) {
  return {store.text(run.gpu), store.text(run.host), store.text(run.name), store.text(run.document), group};
}

std::vector<Members> groups_of(const Store& store, std::int64_t now, Judgement& judgement) {
  std::vector<GpuRuns> gpus = runs_by_gpu(store);
  judgement.runs = store.runs().size();
  judgement.gpus = gpus.size();
  std::set<Word> hosts;
  for (const StoredRun& run : store.runs()) {
    if (run.host != kNoWord) hosts.insert(run.host);
  }
  judgement.hosts = hosts.size();
  note_times(store, gpus, now, judgement);
  std::map<std::tuple<std::string, std::string, std::string, bool>, Members> by_name;
  for (GpuRuns& gpu : gpus) {
    const StoredRun& run = store.runs()[gpu.latest];
    Members& members = by_name[{store.text(run.model), store.text(run.driver), store.text(run.profile), run.simulated}];
    members.group.with_history += gpu.earlier.empty() ? 0 : 1;
    members.gpus.push_back(std::move(gpu));
  }
  std::vector<Members> groups;
  for (auto& [name, members] : by_name) {
    Group& group = members.group;
    std::tie(group.model, group.driver, group.profile, group.simulated) = name;
    group.gpus = members.gpus.size();
    groups.push_back(std::move(members));
  }
  note_mixture(groups, judgement);
  return groups;
}

std::vector<Population> populations_of(const Store& store, const Members& members) {
  Collector collector(store);
  for (std::uint32_t gpu = 0; gpu < members.gpus.size(); ++gpu) {
    collector.add(gpu, store.runs()[members.gpus[gpu].latest]);
  }
  return std::move(collector).take();
}

}  // namespace gputopo::fleet
