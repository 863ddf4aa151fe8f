#include "discover/findings/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "discover/findings/code_findings.h"
#include "discover/findings/reported_values.h"
#include "probe/capacity/line_size.h"
#include "probe/code/constants_beside_code.h"
#include "probe/partitions/cache_behind.h"
#include "probe/sharing/neighbour_sets.h"
#include "probe/sharing/shared_with.h"
#include "probe/survey/fetch_granularity.h"
#include "probe/survey/survey.h"

namespace gputopo {

using probe::Cache;
using probe::ProbeRunner;
using probe::Site;
using probe::Survey;

CacheFindings::CacheFindings(probe::DeviceSession& bench, SurveyFindings& surveys, CodeFindings& code)
    : session_(bench), surveys_(surveys), code_(code), vendor_(vendor_of(bench.info().vendor)) {}

CacheFindings::~CacheFindings() = default;

const Survey* CacheFindings::hidden_by_translation(ElementId element) {
  const ElementInfo& info = info_of(element);
  if (info.space != Space::kGlobalBypassL1 || info.depth != 0) return nullptr;
  const Survey& found = surveys_.survey(*info.space);
  return probe::is_end_hidden(found) && found.levels.size() > 1 ? &found : nullptr;
}

// ---- Caches ----

Cache CacheFindings::locate(ElementId element) {
  const ElementInfo& info = info_of(element);
  if (info.kind != ElementKind::kDataCache) throw UsageError(fmt::format("'{}' is not a cache", info.name));
  const Survey& found = surveys_.survey(*info.space);
  if (info.space == Space::kGlobal || info.space == Space::kLocal) require_l1_caching(*info.space);
  if (info.space == Space::kLocal) require_local_misses(found);
  return found.site.exclusive ? locate_shared_by_sms(info, found) : locate_in_sm(info, found);
}

Cache CacheFindings::locate_in_sm(const ElementInfo& info, const Survey& found) {
  require_apart_from_l2(found, info.depth);
  if (info.id == ElementId::kConstantL3 && holds_all_constants(ElementId::kConstantL15)) {
    throw NotSupportedError(
        "the nearer constant cache holds all constants, so loads do not show whether another cache is behind it");
  }
  Cache cache = probe::find_cache(found, info.depth);
  if (info.id == ElementId::kConstantL3) require_l2_behind(cache);
  // The sweep over growing footprints does not show a cache that is smaller than its first footprint.
  const std::optional<ElementId> nearer = before_in_space(vendor_, info.id);
  const probe::Capacity* of_nearer =
      nearer ? capacities_.find(*nearer, [&] { return make_capacity(*nearer); }) : nullptr;
  if (of_nearer) cache.nearer_bytes = std::max(cache.nearer_bytes, static_cast<std::uint64_t>(of_nearer->bytes));
  // Repeated loads of a second-level line look like hits of the levels before the third, so capacities count instead.
  if (of_nearer && info.depth > 1) {
    cache.nearer_bytes = located_cache(*nearer).nearer_bytes + static_cast<std::uint64_t>(of_nearer->bytes);
    cache.nearer_is_known = true;
    const probe::Line* line = lines_.find(*nearer, [&] { return make_line(*nearer); });
    if (line) cache.nearer_line_bytes = line->bytes;
  }
  return cache;
}

Cache CacheFindings::locate_shared_by_sms(const ElementInfo& info, const Survey& found) {
  // The survey continues until memory shows, so its last level is memory.
  if (info.depth + 1 < found.levels.size()) {
    if (has_element(vendor_, ElementId::kL3)) return probe::find_cache(found, info.depth);
    // Without an L3 in the catalogue, further levels may be far parts of the same cache.
    ProbeRunner own = runner();
    return probe::find_cache_with_far_parts(own, found, info.depth);
  }
  probe::require_apart_from_memory(found);
  // Compute capability 1 caches no global loads. The cache that SMs share may be one of textures, behind the SM's.
  if (const std::optional<Cache> found_there = info.id == ElementId::kL2 ? l2_of_textures() : std::nullopt) {
    return *found_there;
  }
  const char* plural = found.levels.size() == 1 ? "" : "s";
  if (const std::optional<double> told = reported_size(session_.info(), info.id).number()) {
    throw probe::Inconclusive(
        fmt::format("loads that bypass L1 show only {} level{}, because another level has nearly the same latency as "
                    "this cache of {:.0f} B",
                    found.levels.size(), plural, *told));
  }
  if (probe::may_hide_a_cache(found)) {
    throw probe::Inconclusive(
        "some loads behind the last cache that shows are clearly faster than loads of new lines, so another cache may "
        "be nearly as slow as memory");
  }
  throw probe::NotPresent(fmt::format(
      "loads that bypass L1 show only {} level{}, including memory, so none of these levels can be this cache",
      found.levels.size(), plural));
}

std::optional<Cache> CacheFindings::l2_of_textures() {
  Site textures = surveys_.site(Space::kTexture);
  textures.exclusive = true;
  try {
    const Survey& found = surveys_.survey(textures);
    constexpr std::size_t kLevels = 3;  // the SM's cache, this one, memory
    if (found.levels.size() < kLevels) return std::nullopt;
    return probe::find_cache(found, 1);
  } catch (const NotSupportedError&) {  // no textures
    return std::nullopt;
  } catch (const probe::Inconclusive&) {
    return std::nullopt;
  }
}

const Cache& CacheFindings::located_cache(ElementId element) {
  return located_.get(element, [&] { return locate(element); });
}

const Cache& CacheFindings::fetched(ElementId element) {
  return fetched_.get(element, [&] {
    const Cache& cache = located_cache(element);
    require_sets_of_few_neighbours(cache);
    const probe::Fetch* found = fetches_.find(element, [&] { return make_fetch(element); });
    return found == nullptr ? cache : with(cache, *found);
  });
}

const Cache& CacheFindings::cache_with_line(ElementId element) {
  return lined_.get(element, [&] {
    const Cache& cache = fetched(element);
    if (!cache.site().reaches_into_lines()) return cache;
    const probe::Line* found = lines_.find(element, [&] { return make_line(element); });
    return found == nullptr ? cache : with(cache, *found);
  });
}

const Cache& CacheFindings::cache_with_size(ElementId element) {
  return sized_.get(element, [&] {
    const Cache& cache = cache_with_line(element);
    const probe::Capacity* found = capacities_.find(element, [&] { return make_capacity(element); });
    return found == nullptr ? cache : with(cache, *found);
  });
}

const probe::Fetch& CacheFindings::fetch(ElementId element) {
  return fetches_.get(element, [&] { return make_fetch(element); });
}

const probe::Line& CacheFindings::line(ElementId element) {
  return lines_.get(element, [&] { return make_line(element); });
}

const probe::Capacity& CacheFindings::capacity(ElementId element) {
  return capacities_.get(element, [&] { return make_capacity(element); });
}

probe::Fetch CacheFindings::make_fetch(ElementId element) {
  require_translated_levels(element);
  return probe::find_fetch(located_cache(element), session_.parameters());
}

const probe::Line* CacheFindings::line_of_l1() {
  return lines_.find(ElementId::kL1, [&] { return make_line(ElementId::kL1); });
}

probe::Capacity CacheFindings::make_capacity(ElementId element) {
  require_translated_levels(element);
  require_reached_lines(element);
  ProbeRunner own = runner();
  const probe::Capacity* same = looks_like_l1(element) ? &capacity(ElementId::kL1) : nullptr;
  return probe::find_capacity(own, cache_with_line(element), same);
}

const CacheFindings::TotalSize& CacheFindings::whole_size(ElementId element) {
  return whole_sizes_.get(element, [&] { return make_whole_size(element); });
}

CacheFindings::TotalSize CacheFindings::make_whole_size(ElementId element) {
  const probe::Capacity& seen = capacity(element);
  TotalSize size{.bytes = std::trunc(seen.bytes), .interval = seen.interval, .method = seen.method};
  // Global loads show the sides. An L2 for textures only belongs to GPUs without partitions.
  if (may_have_partitions(element) && located_cache(element).site().space != Space::kTexture)
    correct_for_copies(element, size);
  const std::string& doubt = located_cache(element).far_part_doubt;
  if (!doubt.empty() && std::ranges::find(size.flags, doubt) == size.flags.end()) size.flags.push_back(doubt);
  return size;
}

void CacheFindings::correct_for_copies(ElementId element, TotalSize& size) {
  try {
    const probe::Partitions& parts = partitions(element);
    // If near memory hides among far hits, only loads from far memory show how much an SM sees, and lines whose home
    // is far stay longer than the rest. Such a size is not used.
    std::optional<probe::SeenBytes> seen;
    if (size.method != "clear_memory_loads") seen = {size.bytes, size.interval};
    size.flags = parts.flags;
    const auto corrected = size_by_partitions(parts, seen);
    if (!corrected) return;
    if (seen) size.seen_bytes = size.bytes;
    size.bytes = std::round(corrected->size.bytes);
    size.interval = corrected->size.interval;
    size.method = corrected->method;
  } catch (const NotSupportedError& error) {
    session_.log(fmt::format("{}.size: {}", to_string(element), error.what()));
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    size.flags.push_back(
        fmt::format("partitions: the cache may be larger than this size, because one SM may use only part of it: {}",
                    error.what()));
  } catch (const probe::Inconclusive& error) {
    size.flags.push_back(
        fmt::format("partitions: the cache may be larger than this size, because one SM may use only part of it: {}",
                    error.what()));
  }
}

bool CacheFindings::looks_like_l1(ElementId element) {
  const Cache& cache = cache_with_line(element);
  if (element == ElementId::kL1 || !has_element(vendor_, ElementId::kL1)) return false;
  // Constants have a separate path.
  if (cache.site().exclusive || cache.site().limit_bytes != 0 || cache.nearer_bytes > 0) return false;
  const probe::Capacity* of_l1 = capacities_.find(ElementId::kL1, [&] { return make_capacity(ElementId::kL1); });
  if (of_l1 == nullptr || !probe::look_alike(cache, cache_with_size(ElementId::kL1))) return false;
  // The tests use the size of L1, which is the size of this cache if both are the same.
  return is_same_as_l1(element, with(cache, *of_l1));
}

bool CacheFindings::is_same_as_l1(ElementId element, const Cache& cache) {
  const Cache& l1 = cache_with_size(ElementId::kL1);
  if (!cache.line || !l1.line || l1.line->bytes != cache.line->bytes) return false;
  try {
    return evictions_.get({element, ElementId::kL1}, [&] { return make_eviction(cache, l1); }).shared &&
           evictions_.get({ElementId::kL1, element}, [&] { return make_eviction(l1, cache); }).shared;
  } catch (const probe::Inconclusive& error) {
    session_.log(fmt::format("{} may not be the same cache as L1: {}", to_string(element), error.what()));
    return false;
  }
}

const probe::SizeByCarveOut& CacheFindings::size_by_carve_out(ElementId element) {
  return sizes_by_carve_out_.get(element, [&] {
    ProbeRunner own = runner();
    return probe::find_size_by_carve_out(own, cache_with_line(element), capacity(element));
  });
}

bool CacheFindings::holds_all_constants(ElementId element) {
  const Cache& cache = located_cache(element);
  return cache.site().space == Space::kConstant && !cache.was_exceeded();
}

probe::Line CacheFindings::make_line(ElementId element) {
  require_translated_levels(element);
  const Cache& cache = fetched(element);
  ProbeRunner own = runner();
  if (holds_all_constants(element)) {
    try {
      return probe::find_constant_line_beside_code(own, code_.survey(), cache);
    } catch (const NotSupportedError& error) {
      session_.log(
          fmt::format("{}: measuring constants together with code failed: {}", to_string(element), error.what()));
    }
  }
  return probe::find_line(own, cache);
}

std::uint64_t CacheFindings::shortest_shared_line_bytes() {
  constexpr std::uint64_t kShortestLineBytes = 32;  // shortest line of any GPU
  std::uint64_t shortest = 128;
  for (const ElementId element : {ElementId::kL2, ElementId::kL3}) {
    if (!has_element(vendor_, element)) continue;
    try {
      shortest = std::min(shortest, cache_with_line(element).line_or_fetch_bytes());
    } catch (const probe::NotPresent&) {
      continue;
    } catch (const probe::Inconclusive& error) {
      session_.log(fmt::format("{}: the line size is unknown, so gputopo assumes {} B: {}", to_string(element),
                               kShortestLineBytes, error.what()));
      shortest = kShortestLineBytes;
    }
  }
  return shortest;
}

const Cache& CacheFindings::near_part(ElementId element) {
  const Cache& whole = cache_with_size(element);
  if (whole.first_level == whole.last_level) return whole;
  return near_parts_.get(element, [&] {
    const TotalSize* size = whole_sizes_.find(element, [&] { return make_whole_size(element); });
    const probe::Partitions* parts = partitions_.find(element, [&] { return make_partitions(element); });
    if (size == nullptr || parts == nullptr) throw probe::Inconclusive("the size of the near partition is not known");
    Cache near = whole;
    near.last_level = near.first_level;
    near.size_bytes =
        reported_size(session_.info(), element).number().value_or(size->bytes) / static_cast<double>(parts->count);
    return probe::read_again(near);
  });
}

const probe::SmsByPartition& CacheFindings::sides(ElementId element) {
  return sides_.get(element, [&] {
    const Cache& cache = cache_with_size(element);
    ProbeRunner own = runner();
    return probe::find_sides(own, cache);
  });
}

bool CacheFindings::may_have_partitions(ElementId element) const {
  return coverage_of(vendor_, element, AttributeId::kPartitions) != Coverage::kNotApplicable;
}

const probe::Partitions& CacheFindings::partitions(ElementId element) {
  return partitions_.get(element, [&] { return make_partitions(element); });
}

probe::Partitions CacheFindings::make_partitions(ElementId element) {
  const Cache& cache = cache_with_size(element);
  if (cache.has_cache_behind()) {
    throw probe::Inconclusive(
        "another cache is behind this one, so a load that takes longer on another SM may only have missed this cache");
  }
  const Attribute told = reported_size(session_.info(), element);
  std::string no_sides_reason;
  const probe::SmsByPartition* found = nullptr;
  try {
    found = &sides(element);
  } catch (const NotSupportedError& error) {
    no_sides_reason = error.what();
  } catch (const probe::Inconclusive& error) {
    no_sides_reason = error.what();
  }
  ProbeRunner own = runner();
  probe::Partitions parts = probe::find_partitions(own, cache, told.number(), found, no_sides_reason);
  if (!cache.far_part_doubt.empty()) parts.flags.push_back(cache.far_part_doubt);
  return parts;
}

// ---- Structure and sharing ----

bool CacheFindings::is_known_as_l1(ElementId element) {
  const Cache& cache = cache_with_size(element);
  if (element == ElementId::kL1 || cache.site().exclusive || !has_element(vendor_, ElementId::kL1)) return false;
  if (!cache.line || capacities_.find(ElementId::kL1, [&] { return make_capacity(ElementId::kL1); }) == nullptr) {
    return false;
  }
  return is_same_as_l1(element, cache);
}

const probe::Structure& CacheFindings::structure(ElementId element) {
  if (is_known_as_l1(element)) return structure(ElementId::kL1);
  return structures_.get(element, [&] {
    ProbeRunner own = runner();
    return probe::survey_structure(own, near_part(element));
  });
}

const CacheFindings::Sharing& CacheFindings::eviction(ElementId victim, ElementId evictor) {
  return evictions_.get({victim, evictor},
                        [&] { return make_eviction(cache_with_size(victim), cache_with_size(evictor)); });
}

CacheFindings::Sharing CacheFindings::make_eviction(const Cache& victim, const Cache& evictor) const {
  ProbeRunner own = runner();
  const bool evicts = probe::shares_cache(own, victim, evictor);
  return {evicts, own.conditions()};
}

CacheFindings::Sharing CacheFindings::sharing(ElementId one, ElementId other) {
  Sharing result = eviction(one, other);
  if (!result.shared) return result;
  const Sharing& back = eviction(other, one);
  result.shared = back.shared;
  result.conditions.add(back.conditions);
  return result;
}

}  // namespace gputopo
