#include "fleet/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace gputopo::fleet {
namespace {

std::span<const StoredReading> readings_of(const Store& store, std::size_t run) {
  const StoredRun& stored = store.runs()[run];
  return std::span(store.readings()).subspan(stored.first, stored.end - stored.first);
}

bool has_links(const Store& store, std::size_t run) {
  return std::ranges::any_of(readings_of(store, run), [&](const StoredReading& reading) {
    const std::string& path = store.text(reading.path);
    return path.starts_with("link.") && is_verdict(path);
  });
}

void add(const Store& store, std::uint32_t gpu, const StoredReading& reading, const std::string& text,
         Verdicts& verdicts) {
  PartOfGpu part{gpu, {.path = store.text(reading.path), .basis = Basis::kVerdict}};
  part.value.text = text;
  part.value.worse = 1;
  part.value.decides = true;
  const bool is_bad = store.text(reading.source) == to_string(Outcome::kBad);
  (is_bad ? verdicts.bad : verdicts.not_judged).push_back(std::move(part));
}

bool is_good(const Store& store, const StoredReading& reading) {
  return store.text(reading.source) == to_string(Outcome::kGood);
}

// Adds what the newest run with links says, unless that is the latest run.
void add_earlier(const Store& store, std::uint32_t gpu, const GpuRuns& runs, Verdicts& verdicts) {
  const auto newest =
      std::find_if(runs.all.rbegin(), runs.all.rend(), [&](std::size_t run) { return has_links(store, run); });
  if (newest == runs.all.rend() || *newest == runs.latest) return;
  const auto timestamp = store.runs()[*newest].timestamp;
  const std::string date = timestamp ? timestamp_text(*timestamp) : "an unknown date";
  for (const StoredReading& reading : readings_of(store, *newest)) {
    if (!is_verdict(store.text(reading.path)) || is_good(store, reading)) continue;
    if (std::ranges::count(readings_of(store, runs.latest), reading.path, &StoredReading::path) > 0) continue;
    add(store, gpu, reading, fmt::format("{} (on {}; not measured since)", store.text(reading.text), date), verdicts);
  }
}

}  // namespace

Verdicts verdicts_of(const Store& store, const Members& members, const std::vector<Population>& populations) {
  Verdicts verdicts;
  for (const Population& population : populations) {
    if (!population.kind.is_verdict) continue;
    for (const NumberCell& cell : population.texts) {
      const bool is_bad = store.text(cell.reading->source) == to_string(Outcome::kBad);
      if (!population.kind.link.empty() && (is_bad || is_good(store, *cell.reading))) verdicts.gpus.push_back(cell.gpu);
      if (!is_good(store, *cell.reading)) add(store, cell.gpu, *cell.reading, store.text(cell.reading->text), verdicts);
    }
  }
  for (std::uint32_t gpu = 0; gpu < members.gpus.size(); ++gpu) add_earlier(store, gpu, members.gpus[gpu], verdicts);
  return verdicts;
}

}  // namespace gputopo::fleet
