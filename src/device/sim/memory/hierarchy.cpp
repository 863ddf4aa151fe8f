#include "device/sim/memory/hierarchy.h"

#include <algorithm>
#include <bit>

namespace gputopo::sim {
namespace {

// Above the arrays, the code and the constants of every program.
constexpr std::uint64_t kNeighbourBase = 1ull << 42;
// From one store of a thread to its next: the cost of the loop around it.
constexpr double kStoreCycles = 8;

const CacheSpec* find_cache(const MachineSpec& spec, const std::string& id) {
  return &*std::find_if(spec.caches.begin(), spec.caches.end(), [&](const CacheSpec& cache) { return cache.id == id; });
}

}  // namespace

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

std::uint64_t usable_bytes(const CacheSpec& spec, std::uint64_t carve_out_bytes) {
  return spec.unified ? spec.size_bytes - std::min(spec.size_bytes, carve_out_bytes) : spec.size_bytes;
}

Hierarchy::Hierarchy(const MachineSpec& spec) : spec_(spec) {
  for (const CacheSpec& cache : spec.caches) homes_.push_back(cache.partitions > 1 ? homes_of(spec, cache) : HomeMap());
  group_of_sm_.resize(spec.info.sm_count);
  for (std::uint32_t group = 0; group < spec.sm_groups.size(); ++group) {
    for (const std::uint32_t sm : spec.sm_groups[group]) group_of_sm_[sm] = group;
  }
}

void Hierarchy::start_program(std::uint64_t carve_out_bytes, std::uint64_t seed) {
  carve_out_bytes_ = carve_out_bytes;
  seed_ = seed;
  ++program_;
  last_page_ = kNoPage;
  neighbour_address_ = kNeighbourBase;
}

void Hierarchy::checkpoint() {
  page_at_checkpoint_ = last_page_;
  tlb_at_checkpoint_ = last_tlb_;
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
  end_checkpoint();
}

void Hierarchy::end_checkpoint() {
  for (auto& [key, entry] : instances_) {
    if (entry.program == program_) entry.cache->end_checkpoint();
  }
}

bool Hierarchy::is_at_checkpoint() const {
  if (last_page_ != page_at_checkpoint_ || last_tlb_ != tlb_at_checkpoint_) return false;
  return std::ranges::all_of(instances_, [this](const auto& item) {
    const Instance& entry = item.second;
    return entry.program != program_ || (entry.at_checkpoint && entry.cache->is_at_checkpoint());
  });
}

bool Hierarchy::chose_at_random() const {
  return std::any_of(instances_.begin(), instances_.end(), [this](const auto& item) {
    return item.second.program == program_ && item.second.cache->chose_at_random();
  });
}

Path Hierarchy::path_of(Space space, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm) {
  Path path = overlapping_path_of(space, warp, sm, near_sm);
  if (space != Space::kShared) add_distance(path, near_sm);
  return path;
}

Path Hierarchy::overlapping_path_of(Space space, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm) {
  const SpaceSpec& space_spec = spec_.spaces.at(space);
  Path path;
  path.memory_latency_cycles = space_spec.memory_latency_cycles;
  path.far_memory_latency_cycles = space_spec.far_memory_latency_cycles;
  if (space != Space::kConstant && space != Space::kShared) {
    const bool has_own = space == Space::kTexture && !spec_.texture_tlbs.empty();
    const std::vector<TlbSpec>& tlbs = has_own ? spec_.texture_tlbs : spec_.tlbs;
    const std::size_t first_index = has_own ? spec_.tlbs.size() : 0;
    if (!tlbs.empty()) path.page_shift = static_cast<unsigned>(std::countr_zero(tlbs.front().page_bytes));
    for (std::size_t level = 0; level < tlbs.size(); ++level) {
      const TlbSpec& tlb = tlbs[level];
      path.tlbs.push_back({&tlb_at(first_index + level, tlb, sm), miss_of(tlb, partition_of_sm(spec_, near_sm))});
    }
  }
  last_page_ = kNoPage;  // it may belong to another SM
  std::uint64_t fetch_bytes = 1;
  for (const PathStop& stop : space_spec.path) {
    const std::size_t first = path.stops.size();
    add_cache(path, stop, warp, sm, near_sm, fetch_bytes);
    const auto atomics = spec_.atomics.find(stop.cache);
    if (path.atomics != nullptr || atomics == spec_.atomics.end()) continue;
    path.atomics = &atomics->second;
    path.atomic_stop = first;
  }
  return path;
}

void Hierarchy::add_distance(Path& path, std::uint32_t sm) const {
  if (spec_.tpc_distances_cycles.empty()) return;
  const double cycles = spec_.tpc_distances_cycles[sm / spec_.sms_per_tpc % spec_.tpc_distances_cycles.size()];
  for (auto& stop : path.stops) stop.latency_cycles += stop.spec->scope == Scope::kGpu ? cycles : 0;
  path.memory_latency_cycles += cycles;
  path.far_memory_latency_cycles += path.far_memory_latency_cycles == 0 ? 0 : cycles;
}

Path::Translation Hierarchy::miss_of(const TlbSpec& tlb, std::uint32_t near_partition) {
  const double farther = near_partition == 0 ? 0 : tlb.far_miss_cycles.value_or(tlb.miss_cycles) - tlb.miss_cycles;
  return {tlb.miss_cycles + farther, tlb.memory_miss_cycles.value_or(tlb.miss_cycles) + farther};
}

Path Hierarchy::code_path_of(std::uint32_t warp, std::uint32_t sm) {
  return instruction_path_of(warp, sm, &CodeStop::cycles_per_instruction, spec_.code->memory_cycles_per_instruction);
}

Path Hierarchy::jump_path_of(std::uint32_t warp, std::uint32_t sm) {
  return instruction_path_of(warp, sm, &CodeStop::jump_cycles, spec_.code->memory_jump_cycles);
}

Path Hierarchy::operand_path_of(std::uint32_t warp, std::uint32_t sm) {
  Path path;
  path.memory_latency_cycles = spec_.code->memory_operand_cycles;
  std::uint64_t fetch_bytes = 1;
  for (const OperandStop& stop : spec_.code->operand_path) {
    add_cache(path, {stop.cache, stop.cycles, 0}, warp, sm, sm, fetch_bytes);
  }
  return path;
}

Path Hierarchy::instruction_path_of(std::uint32_t warp, std::uint32_t sm, double CodeStop::*cycles,
                                    double memory_cycles) {
  Path path;
  path.memory_latency_cycles = memory_cycles;
  std::uint64_t fetch_bytes = 1;
  for (const CodeStop& stop : spec_.code->path) {
    add_cache(path, {stop.cache, stop.*cycles, 0}, warp, sm, sm, fetch_bytes);
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

void Hierarchy::add_cache(Path& path, const PathStop& stop, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm,
                          std::uint64_t& fetch_bytes) {
  const CacheSpec* cache = find_cache(spec_, stop.cache);
  if (cache->partitions > 1) {
    add_partitions(path, *cache, stop, near_sm, fetch_bytes);
  } else {
    const auto index = static_cast<std::size_t>(cache - spec_.caches.data());
    const std::uint32_t instance = unit_of(cache->scope, sm) * cache->instances + warp % cache->instances;
    add_stop(path, *cache, cache_at(index, instance, usable_bytes(*cache, carve_out_bytes_)), stop.latency_cycles,
             fetch_bytes);
  }
  if (!is_behind_sms(cache->scope)) path.stops_before_tlb = path.stops.size();
}

void Hierarchy::add_partitions(Path& path, const CacheSpec& cache, const PathStop& stop, std::uint32_t near_sm,
                               std::uint64_t& fetch_bytes) {
  const auto index = static_cast<std::size_t>(&cache - spec_.caches.data());
  path.partitions = {.near = partition_of_sm(spec_, near_sm), .near_stop = path.stops.size(), .homes = homes_[index]};
  for (std::uint32_t i = 0; i < cache.partitions; ++i) {
    path.partitions.caches.push_back(&instance_at(key_of(index, i, cache.size_bytes / cache.partitions),
                                                  [&] { return geometry_of_partition(limited(cache)); }));
  }
  Cache& near = *path.partitions.caches[path.partitions.near];
  add_stop(path, cache, near, stop.latency_cycles, fetch_bytes);
  if (cache.copies_far_lines) {
    add_stop(path, cache, near, stop.far_latency_cycles, fetch_bytes);
    path.stops.back().by_home = true;
  } else {
    Cache& whole = cache_at(index, 0, cache.size_bytes);
    path.stops.back().whole = &whole;
    add_stop(path, cache, whole, stop.far_latency_cycles, fetch_bytes);
  }
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

CacheSpec Hierarchy::limited(const CacheSpec& cache) const {
  CacheSpec limited = cache;
  if (l2_fetch_bytes_ == 0 || cache.fetch_limits_bytes.empty()) return limited;
  limited.sector_bytes = cache.fetch_limits_bytes.front();
  for (const std::uint32_t bytes : cache.fetch_limits_bytes) {
    if (bytes <= l2_fetch_bytes_) limited.sector_bytes = bytes;
  }
  return limited;
}

Hierarchy::InstanceKey Hierarchy::key_of(std::size_t index, std::uint32_t instance, std::uint64_t bytes) const {
  if (l2_fetch_bytes_ == 0 || spec_.caches[index].fetch_limits_bytes.empty()) return {index, {instance, bytes}};
  const std::size_t after = spec_.caches.size() + spec_.tlbs.size() + spec_.texture_tlbs.size();
  return {after + index + l2_fetch_bytes_ * spec_.caches.size(), {instance, bytes}};
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
  return instance_at(key_of(index, instance, bytes), [&] { return geometry_of(limited(spec_.caches[index]), bytes); });
}

Cache& Hierarchy::tlb_at(std::size_t index, const TlbSpec& tlb, std::uint32_t sm) {
  return instance_at({spec_.caches.size() + index, {unit_of(tlb.scope, sm), 0}}, [&] { return tlb_geometry(tlb); });
}

bool Hierarchy::access_range(const Path::Stop& stop, Cache& cache, std::uint64_t address) {
  const std::uint64_t start = address & ~(stop.fetch_bytes - 1);
  bool all_hit = true;
  for (std::uint32_t s = 0; s < stop.fetch_sectors; ++s) {
    const bool hit = cache.access(start + s * std::uint64_t{cache.sector_bytes()});
    all_hit = all_hit && hit;
  }
  return all_hit;
}

bool Hierarchy::access_home(const Path& path, const Path::Stop& stop, std::uint64_t address) {
  const std::uint32_t home = path.partitions.homes.home_of(address);
  if (home == path.partitions.near) return false;  // was asked before
  Cache& cache = *path.partitions.caches[home];
  return stop.fetch_sectors == 1 ? cache.access(address) : access_range(stop, cache, address);
}

void Hierarchy::drop_copies(const Path& path, std::uint64_t address, bool of_own_too) {
  const Path::Partitions& partitions = path.partitions;
  if (partitions.caches.empty()) return;
  // With a whole cache behind them, all partitions hold copies.
  const bool has_homes = path.stops[partitions.near_stop].whole == nullptr;
  const std::uint32_t home = partitions.homes.home_of(address);
  for (std::uint32_t i = 0; i < partitions.caches.size(); ++i) {
    if ((i != home || !has_homes) && (of_own_too || i != partitions.near)) partitions.caches[i]->invalidate(address);
  }
}

bool Hierarchy::is_at_home(const Path& path, const Path::Stop& near, std::uint64_t address) {
  return near.whole == nullptr && path.partitions.homes.home_of(address) == path.partitions.near;
}

bool Hierarchy::store_at_home(const Path& path, const Path::Stop& stop, std::uint64_t address) {
  Cache& home = *path.partitions.caches[path.partitions.homes.home_of(address)];
  if (!home.holds(address) && !allocates_on_store(*stop.spec)) return false;
  access_home(path, stop, address);
  return writes_back(*stop.spec);
}

bool Hierarchy::store_at(const Path& path, std::size_t index, std::uint64_t address) {
  const Path::Stop& stop = path.stops[index];
  const bool hit = stop.cache->holds(address);
  const bool is_near = index == path.partitions.near_stop;
  if (is_near) drop_copies(path, address, false);
  // A near partition holds copies for readers, and a store updates them. The whole cache decides where the store ends,
  // or the near partition for lines whose home it is.
  const bool decides = !is_near || is_at_home(path, stop, address);
  if (!decides && !hit) return false;
  if (hit && stop.spec->store_hit == StoreHit::kInvalidate) {
    stop.cache->invalidate(address);
    return false;
  }
  if (!hit && !allocates_on_store(*stop.spec)) return false;
  // The store does not write the rest of the line, so it is fetched as by a load.
  if (!hit) load(path, address, index + 1);
  stop.cache->access(address);
  return decides && writes_back(*stop.spec);
}

double Hierarchy::store(const Path& path, std::uint64_t address) {
  for (std::size_t i = 0; i < path.stops.size(); ++i) {
    if (i == path.stops_before_tlb) translate(path, address);
    const Path::Stop& stop = path.stops[i];
    if (stop.by_home ? store_at_home(path, stop, address) : store_at(path, i, address)) break;
  }
  return kStoreCycles;
}

double Hierarchy::atomic(const Path& path, std::uint64_t address) {
  const Path::Translation translation = translate(path, address);
  const Path::Stop& stop = path.stops[path.atomic_stop];
  const double near_cycles = path.atomics->latency_cycles;
  double farther_cycles = 0;
  Cache* cache = stop.cache;
  if (!path.partitions.caches.empty() && path.partitions.near_stop == path.atomic_stop) {
    const std::uint32_t home = path.partitions.homes.home_of(address);
    const double far_load_cycles = path.stops[path.atomic_stop + 1].latency_cycles - stop.latency_cycles;
    if (home != path.partitions.near) {
      farther_cycles =
          path.atomics->far_latency_cycles > 0 ? path.atomics->far_latency_cycles - near_cycles : far_load_cycles;
    }
    cache = stop.whole != nullptr ? stop.whole : path.partitions.caches[home];
    drop_copies(path, address, true);
  }
  if (cache->access(address)) return near_cycles + farther_cycles + translation.cycles;
  return near_cycles + memory_cycles(path, address) - stop.latency_cycles + translation.memory_cycles;
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

void Hierarchy::lose_contents() {
  last_page_ = kNoPage;
  for (auto& [key, entry] : instances_) {
    if (entry.program == program_) entry.cache->start_program(seed_of(key));
  }
}

void Hierarchy::neighbour_load(const Path& path) {
  for (std::size_t i = path.stops_before_tlb; i < path.stops.size(); ++i) {
    if (path.stops[i].by_home) {
      access_home(path, path.stops[i], neighbour_address_);
    } else {
      path.stops[i].cache->access(neighbour_address_);
    }
  }
  neighbour_address_ += 4096;
}

}  // namespace gputopo::sim
