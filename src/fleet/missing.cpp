#include "fleet/missing.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <map>
#include <set>

namespace gputopo::fleet {
namespace {

constexpr std::int64_t kSecondsPerHour = 3600;
// Runs of one host that lie closer together belong to one measurement. Larger values miss GPUs that were lost between
// two measurements; smaller ones take GPUs for lost that were measured one after another.
constexpr std::int64_t kOneRun = 6 * kSecondsPerHour;
// The same for the hosts of a fleet, which may wait for their turn.
constexpr std::int64_t kOneNight = 12 * kSecondsPerHour;
// A GPU or host that was last seen longer ago was retired.
constexpr std::int64_t kRetired = 30 * 24 * kSecondsPerHour;

struct Seen {
  std::size_t group = 0;
  std::uint32_t gpu = 0;
  std::int64_t time = 0;  // of its latest run
};

struct Host {
  std::vector<Seen> gpus;                       // whose latest run is on this host
  std::map<std::int64_t, std::set<Word>> runs;  // ids by time
  [[nodiscard]] std::int64_t newest() const { return runs.empty() ? 0 : runs.rbegin()->first; }
  // Number of GPUs that were measured at about this time.
  [[nodiscard]] std::size_t count_at(std::int64_t time) const {
    std::set<Word> ids;
    for (auto run = runs.lower_bound(time - kOneRun); run != runs.end() && run->first <= time + kOneRun; ++run) {
      ids.insert(run->second.begin(), run->second.end());
    }
    return ids.size();
  }
};

using Hosts = std::map<Word, Host>;

Hosts hosts_of(const Store& store, const std::vector<Members>& groups, std::int64_t now) {
  Hosts hosts;
  for (const StoredRun& run : store.runs()) {
    if (run.host == kNoWord || !run.timestamp || *run.timestamp > now + kSecondsPerHour) continue;
    hosts[run.host].runs[*run.timestamp].insert(run.gpu);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::uint32_t gpu = 0; gpu < groups[group].gpus.size(); ++gpu) {
      const StoredRun& run = store.runs()[groups[group].gpus[gpu].latest];
      if (run.host == kNoWord || !run.timestamp || *run.timestamp > now + kSecondsPerHour) continue;
      hosts[run.host].gpus.push_back({group, gpu, *run.timestamp});
    }
  }
  return hosts;
}

std::string date_of(std::int64_t time) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

MissingGpu missing(const Seen& seen, std::string_view what) {
  MissingGpu gone{.gpu = seen.gpu, .value = {.path = "presence", .basis = Basis::kExact}};
  gone.value.text = fmt::format("{}: last seen {}", what, date_of(seen.time));
  gone.value.usual_text = "present";
  gone.value.worse = 1;
  gone.value.decides = true;
  return gone;
}

// Newest measurement of most hosts; nothing if they are measured at different times.
std::int64_t newest_night(const Hosts& hosts) {
  std::int64_t newest = 0;
  for (const auto& [id, host] : hosts) newest = std::max(newest, host.newest());
  const auto is_current = [&](const auto& entry) { return entry.second.newest() >= newest - kRetired; };
  const auto is_there = [&](const auto& entry) { return entry.second.newest() >= newest - kOneNight; };
  return 2 * std::ranges::count_if(hosts, is_there) > std::ranges::count_if(hosts, is_current) ? newest : 0;
}

}  // namespace

std::vector<std::vector<MissingGpu>> missing_gpus(const Store& store, const std::vector<Members>& groups,
                                                  std::int64_t now) {
  std::vector<std::vector<MissingGpu>> result(groups.size());
  const Hosts hosts = hosts_of(store, groups, now);
  const std::int64_t night = newest_night(hosts);
  for (const auto& [id, host] : hosts) {
    const std::int64_t newest = host.newest();
    const bool is_host_gone = night != 0 && newest < night - kOneNight && newest >= night - kRetired;
    for (const Seen& seen : host.gpus) {
      const bool is_last = seen.time >= newest - kOneRun;
      // A board that was replaced leaves the number of GPUs as it was.
      const bool is_replaced = !is_last && host.count_at(newest) >= host.count_at(seen.time);
      if (is_host_gone && is_last) {
        result[seen.group].push_back(missing(seen, "its host was not measured"));
      } else if (!is_last && !is_replaced && seen.time >= newest - kRetired) {
        result[seen.group].push_back(missing(seen, "missing on its host"));
      }
    }
  }
  return result;
}

}  // namespace gputopo::fleet
