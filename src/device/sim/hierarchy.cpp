#include "device/sim/hierarchy.h"

#include <algorithm>
#include <bit>

namespace gputopo::sim {
namespace {

// Above the arrays, the code and the constants of any program.
constexpr std::uint64_t kNeighbourBase = 1ull << 42;
// From one store of a thread to its next: what the loop around it takes.
constexpr double kStoreCycles = 8;

CacheGeometry tlb_geometry(const TlbSpec& spec) {
  const CacheSpec cache{.size_bytes = spec.entries,
                        .line_bytes = 1,
                        .sector_bytes = 1,
                        .ways = spec.ways,
                        .set_ways = spec.set_ways,
                        .index = spec.index};
  CacheGeometry geometry = geometry_of(cache, cache.size_bytes);
  geometry.line_bytes = geometry.sector_bytes = static_cast<std::uint32_t>(spec.page_bytes);
  return geometry;
}

const CacheSpec* find_cache(const MachineSpec& spec, const std::string& id) {
  return &*std::find_if(spec.caches.begin(), spec.caches.end(), [&](const CacheSpec& cache) { return cache.id == id; });
}

}  // namespace

std::uint64_t usable_bytes(const CacheSpec& spec, std::uint64_t carve_out_bytes) {
  return spec.unified ? spec.size_bytes - std::min(spec.size_bytes, carve_out_bytes) : spec.size_bytes;
}

Hierarchy::Hierarchy(const MachineSpec& spec) : spec_(spec) {
  group_of_sm_.resize(spec.info.sm_count);
  for (std::uint32_t group = 0; group < spec.sm_groups.size(); ++group) {
    for (const std::uint32_t sm : spec.sm_groups[group]) group_of_sm_[sm] = group;
  }
  if (!spec.tlbs.empty()) page_shift_ = static_cast<unsigned>(std::countr_zero(spec.tlbs.front().page_bytes));
}

void Hierarchy::start_program(std::uint64_t carve_out_bytes, std::uint64_t seed) {
  carve_out_bytes_ = carve_out_bytes;
  seed_ = seed;
  ++program_;
  last_page_ = kNoPage;
  neighbour_address_ = kNeighbourBase;
}

void Hierarchy::checkpoint() {
  for (auto& [key, entry] : instances_) {
    entry.at_checkpoint = entry.program == program_;
    if (entry.at_checkpoint) entry.cache->checkpoint();
  }
}

void Hierarchy::rollback(std::uint64_t seed) {
  seed_ = seed;
  last_page_ = kNoPage;
  for (auto& [key, entry] : instances_) {
    if (entry.program != program_) continue;
    if (entry.at_checkpoint) {
      entry.cache->rollback(seed_of(key));
    } else {
      entry.program = 0;
    }
  }
}

void Hierarchy::resume(std::uint64_t seed) {
  rollback(seed);
  for (auto& [key, entry] : instances_) {
    if (entry.program == program_) entry.cache->end_checkpoint();
  }
}

bool Hierarchy::chose_at_random() const {
  return std::any_of(instances_.begin(), instances_.end(), [this](const auto& item) {
    return item.second.program == program_ && item.second.cache->chose_at_random();
  });
}

Path Hierarchy::path_of(Space space, std::uint32_t warp, std::uint32_t sm) {
  const SpaceSpec& space_spec = spec_.spaces.at(space);
  Path path;
  path.memory_latency_cycles = space_spec.memory_latency_cycles;
  if (space != Space::kConstant && space != Space::kShared) {
    for (std::size_t level = 0; level < spec_.tlbs.size(); ++level) {
      const TlbSpec& tlb = spec_.tlbs[level];
      path.tlbs.push_back({&tlb_at(level, sm), {tlb.miss_cycles, tlb.memory_miss_cycles.value_or(tlb.miss_cycles)}});
    }
  }
  last_page_ = kNoPage;  // of another SM, perhaps
  std::uint64_t fetch_bytes = 1;
  for (const PathStop& stop : space_spec.path) add_cache(path, stop, warp, sm, fetch_bytes);
  return path;
}

Path Hierarchy::code_path_of(std::uint32_t warp, std::uint32_t sm) {
  Path path;
  path.memory_latency_cycles = spec_.code->memory_cycles_per_instruction;
  std::uint64_t fetch_bytes = 1;
  for (const CodeStop& stop : spec_.code->path) {
    add_cache(path, {stop.cache, stop.cycles_per_instruction, 0}, warp, sm, fetch_bytes);
  }
  return path;
}

std::uint32_t Hierarchy::unit_of(Scope scope, std::uint32_t sm) const {
  switch (scope) {
    case Scope::kSm:
      return sm;
    case Scope::kTpc:
      return sm / spec_.sms_per_tpc;
    case Scope::kGroup:
      return group_of_sm_.at(sm);
    case Scope::kXcd:
      return sm / (spec_.info.sm_count / *spec_.info.xcd_count);
    case Scope::kGpu:
      break;
  }
  return 0;
}

void Hierarchy::add_cache(Path& path, const PathStop& stop, std::uint32_t warp, std::uint32_t sm,
                          std::uint64_t& fetch_bytes) {
  const CacheSpec* cache = find_cache(spec_, stop.cache);
  const auto index = static_cast<std::size_t>(cache - spec_.caches.data());
  const std::uint64_t bytes = usable_bytes(*cache, carve_out_bytes_);
  if (cache->partitions > 1) {
    Cache& partition =
        instance_at({index, {0, bytes / cache->partitions}}, [&] { return geometry_of_partition(*cache); });
    add_stop(path, *cache, partition, stop.latency_cycles, fetch_bytes);
    Cache& whole = cache_at(index, 0, bytes);
    path.stops.back().whole = &whole;
    add_stop(path, *cache, whole, stop.far_latency_cycles, fetch_bytes);
  } else {
    const std::uint32_t instance = unit_of(cache->scope, sm) * cache->instances + warp % cache->instances;
    add_stop(path, *cache, cache_at(index, instance, bytes), stop.latency_cycles, fetch_bytes);
  }
  if (!is_behind_sms(cache->scope)) path.stops_before_tlb = path.stops.size();
}

void Hierarchy::add_stop(Path& path, const CacheSpec& spec, Cache& cache, double latency_cycles,
                         std::uint64_t& fetch_bytes) {
  const std::uint64_t sector_bytes = cache.sector_bytes();
  const auto fetch_sectors = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, fetch_bytes / sector_bytes));
  path.stops.push_back({.cache = &cache,
                        .latency_cycles = latency_cycles,
                        .fetch_bytes = fetch_bytes,
                        .fetch_sectors = fetch_sectors,
                        .spec = &spec});
  fetch_bytes = std::max(fetch_bytes, sector_bytes);
}

template <typename GeometryOf>
Cache& Hierarchy::instance_at(const InstanceKey& key, const GeometryOf& geometry) {
  Instance& entry = instances_[key];
  if (entry.cache == nullptr) entry.cache = std::make_unique<Cache>(geometry());
  if (entry.program != program_) {
    entry.program = program_;
    entry.at_checkpoint = false;
    entry.cache->start_program(seed_of(key));
  }
  return *entry.cache;
}

Cache& Hierarchy::cache_at(std::size_t index, std::uint32_t instance, std::uint64_t bytes) {
  return instance_at({index, {instance, bytes}}, [&] { return geometry_of(spec_.caches[index], bytes); });
}

Cache& Hierarchy::tlb_at(std::size_t level, std::uint32_t sm) {
  const TlbSpec& tlb = spec_.tlbs[level];
  return instance_at({spec_.caches.size() + level, {unit_of(tlb.scope, sm), 0}}, [&] { return tlb_geometry(tlb); });
}

bool Hierarchy::access_range(const Path::Stop& stop, std::uint64_t address) {
  const std::uint64_t start = address & ~(stop.fetch_bytes - 1);
  bool all_hit = true;
  for (std::uint32_t s = 0; s < stop.fetch_sectors; ++s) {
    const bool hit = stop.cache->access(start + s * std::uint64_t{stop.cache->sector_bytes()});
    all_hit = all_hit && hit;
  }
  return all_hit;
}

double Hierarchy::store(const Path& path, std::uint64_t address) {
  for (std::size_t i = 0; i < path.stops.size(); ++i) {
    if (i == path.stops_before_tlb) translate(path, address);
    const Path::Stop& stop = path.stops[i];
    const bool hit = stop.cache->holds(address);
    // A near partition holds copies for those that read: it is kept in step, and the whole cache decides.
    if (stop.whole != nullptr && !hit) continue;
    if (hit && stop.spec->store_hit == StoreHit::kInvalidate) {
      stop.cache->invalidate(address);
      continue;
    }
    if (!hit && !allocates_on_store(*stop.spec)) continue;
    // What the store does not write of what comes in is fetched as by a load.
    if (!hit) load(path, address, i + 1);
    stop.cache->access(address);
    if (stop.whole == nullptr && writes_back(*stop.spec)) break;
  }
  return kStoreCycles;
}

Path::Translation Hierarchy::translate_new_page(const Path& path, std::uint64_t address) {
  Path::Translation all;
  for (const Path::TlbStop& stop : path.tlbs) {
    if (stop.cache->access(address)) break;
    all.cycles += stop.miss.cycles;
    all.memory_cycles += stop.miss.memory_cycles;
  }
  return all;
}

void Hierarchy::neighbour_load(const Path& path) {
  for (std::size_t i = path.stops_before_tlb; i < path.stops.size(); ++i) {
    path.stops[i].cache->access(neighbour_address_);
  }
  neighbour_address_ += 4096;
}

}  // namespace gputopo::sim
