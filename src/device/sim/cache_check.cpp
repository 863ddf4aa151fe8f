#include "device/sim/cache_check.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "device/sim/memory/hierarchy.h"
#include "file/limits.h"

namespace gputopo::sim {
namespace {

constexpr std::uint32_t kSmallestSectorBytes = kMinimumStrideBytes;  // both links of an element share a sector
constexpr std::uint64_t kMaxInterleaveBytes = 1u << 20;
using limits::kMaxInstances;
using limits::kMaxLines;

void check_ways(const CacheSpec& cache, const std::string& field) {
  const std::uint64_t lines = cache.size_bytes / cache.line_bytes;
  require(lines >= 1 && cache.size_bytes % cache.line_bytes == 0, field + ".size_bytes",
          "{} is not a whole number of lines of {} bytes", cache.size_bytes, cache.line_bytes);
  require(lines <= kMaxLines, field + ".size_bytes", "{} is more than {} lines of {} bytes", cache.size_bytes,
          kMaxLines, cache.line_bytes);
  if (cache.set_ways.empty()) {
    require(cache.ways == 0 || lines % cache.ways == 0, field + ".ways",
            "{} lines cannot be divided into sets of {} ways", lines, cache.ways);
    return;
  }
  std::uint64_t sum = 0;
  for (const std::uint32_t ways : cache.set_ways) {
    require(ways >= 1, field + ".set_ways", "a set must have at least one way");
    sum += ways;
  }
  require(sum == lines, field + ".set_ways", "the sets hold {} lines, but size_bytes corresponds to {} lines", sum,
          lines);
}

void check_victims(const CacheSpec& cache, const std::string& field) {
  if (cache.victim_weights.empty()) return;
  constexpr std::uint64_t kMaxWeight = 1024;
  const std::string name = field + ".victim_weights";
  require(cache.replacement == Replacement::kRandom, name, "are allowed only with random replacement");
  require(cache.set_ways.empty() && cache.ways == cache.victim_weights.size() && !cache.unified, name,
          "has {} weights; it must have one per way, and must be omitted for a unified cache or if set_ways is given",
          cache.victim_weights.size());
  const std::uint64_t sum = std::accumulate(cache.victim_weights.begin(), cache.victim_weights.end(), std::uint64_t{0});
  require(sum >= 1 && sum <= kMaxWeight, name, "the sum {} is not between 1 and {}", sum, kMaxWeight);
}

void check_protected_ways(const CacheSpec& cache, const std::string& field) {
  const std::string name = field + ".protected_ways";
  if (cache.replacement != Replacement::kSegmentedLru) {
    require(cache.protected_ways == 0, name, "must be 0 unless replacement is segmented_lru");
    return;
  }
  const std::uint64_t lines = cache.size_bytes / cache.line_bytes;
  std::uint64_t fewest = cache.ways == 0 ? lines : cache.ways;
  if (!cache.set_ways.empty()) fewest = *std::min_element(cache.set_ways.begin(), cache.set_ways.end());
  require(cache.protected_ways >= 1 && cache.protected_ways < fewest, name,
          "{} must be at least 1 and less than the number of ways of every set", cache.protected_ways);
}

void check_cache(const MachineSpec& spec, const CacheSpec& cache, const std::string& field) {
  require(!cache.id.empty() && cache.id != kSharedLevel && cache.id != kMemoryLevel, field + ".id",
          "'{}' is empty or reserved (shared, memory); use another id", shown(cache.id));
  require_short(cache.id, field + ".id");
  require_power_of_two(cache.line_bytes, field + ".line_bytes", kSmallestSectorBytes, kLargestLineBytes);
  require_power_of_two(cache.sector_bytes, field + ".sector_bytes", kSmallestSectorBytes, cache.line_bytes);
  std::uint32_t lower = 0;
  for (const std::uint32_t limit : cache.fetch_limits_bytes) {
    require_power_of_two(limit, field + ".fetch_limits_bytes", kSmallestSectorBytes, cache.line_bytes);
    require(limit > lower && cache.scope == Scope::kGpu, field + ".fetch_limits_bytes",
            "must be in ascending order, and is allowed only with scope gpu");
    lower = limit;
  }
  require(cache.line_bytes / cache.sector_bytes <= kMaxSectorsPerLine, field + ".sector_bytes",
          "{} divides a line into more than {} sectors", cache.sector_bytes, kMaxSectorsPerLine);
  check_ways(cache, field);
  check_victims(cache, field);
  check_protected_ways(cache, field);
  if (cache.set_interleave_bytes != 0) {
    require_power_of_two(cache.set_interleave_bytes, field + ".set_interleave_bytes", cache.line_bytes,
                         kMaxInterleaveBytes);
  }

  const bool per_sm = !is_behind_sms(cache.scope);
  require(cache.instances >= 1 && cache.instances <= kMaxInstances, field + ".instances", "{} is not between 1 and {}",
          cache.instances, kMaxInstances);
  require(per_sm || cache.instances == 1, field + ".instances", "must be 1 for scope gpu or xcd");
  require(cache.partitions >= 1 && (cache.scope == Scope::kGpu || cache.partitions == 1), field + ".partitions",
          "must be at least 1, and exactly 1 unless scope is gpu");
  require(cache.partitions <= limits::kMaxPartitions, field + ".partitions", "{} is more than {}", cache.partitions,
          limits::kMaxPartitions);
  require(cache.partitions > 1 || !cache.copies_far_lines, field + ".copies_far_lines",
          "must be false for a cache with one partition");
  check_scope(spec, cache.scope, field + ".scope");
  require(cache.size_bytes % (std::uint64_t{cache.line_bytes} * cache.partitions) == 0, field + ".partitions",
          "{} partitions do not divide the cache into whole lines", cache.partitions);
  require(cache.set_ways.empty() || (cache.partitions == 1 && !cache.unified), field + ".set_ways",
          "is not allowed for a partitioned or unified cache");
  require(!cache.unified || per_sm, field + ".unified", "must be false for scope gpu or xcd");
  const bool keeps_stores = writes_back(cache) || allocates_on_store(cache);
  require(cache.store_hit == StoreHit::kUpdate || !keeps_stores, field + ".store_hit",
          "must be 'update' if write_policy is 'back' or write_allocate is true");

  check_geometry(field + ".ways", [&] { return geometry_of(cache, cache.size_bytes); });
  if (cache.partitions > 1) check_geometry(field + ".partitions", [&] { return geometry_of_partition(cache); });
  if (!cache.unified) return;
  for (const std::uint64_t carve_out : spec.info.carve_outs_bytes) {
    check_geometry(fmt::format("{} with a carve-out of {} bytes", field, carve_out),
                   [&] { return geometry_of(cache, usable_bytes(cache, carve_out)); });
  }
}

}  // namespace

void check_scope(const MachineSpec& spec, Scope scope, const std::string& field) {
  require(scope != Scope::kGroup || !spec.sm_groups.empty(), field, "'group' requires sm_groups, which is missing");
  require(scope != Scope::kXcd || spec.info.xcd_count, field, "'xcd' requires info.xcd_count, which is missing");
}

void check_caches(const MachineSpec& spec) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < spec.caches.size(); ++i) {
    const std::string field = fmt::format("caches[{}]", i);
    check_cache(spec, spec.caches[i], field);
    require(ids.insert(spec.caches[i].id).second, field + ".id", "'{}' is used twice", shown(spec.caches[i].id));
  }
}

}  // namespace gputopo::sim
