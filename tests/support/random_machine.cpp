#include "support/random_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "support/draw.h"

namespace gputopo::truth {
namespace {

using sim::CacheSpec;
using sim::IndexHash;
using sim::Replacement;

// Rounds the size to whole sets, to a power of two for a folded index.
std::uint64_t whole_size(const CacheSpec& cache) {
  const std::uint64_t set_bytes = std::uint64_t{cache.line_bytes} * std::max(1u, cache.ways);
  std::uint64_t sets = std::max<std::uint64_t>(1, cache.size_bytes / set_bytes);
  while (cache.index == IndexHash::kXorFold && (sets & (sets - 1)) != 0) sets &= sets - 1;
  return sets * set_bytes;
}

bool power_of_two(std::uint64_t value) { return (value & (value - 1)) == 0; }

CacheSpec random_cache(Draw& draw, const std::string& id, double least_bytes, double most_bytes) {
  CacheSpec cache;
  cache.id = id;
  const double wanted = draw.log_uniform(least_bytes, most_bytes);
  cache.line_bytes = draw.pick<std::uint32_t>({32, 64, 128, 256});
  cache.sector_bytes = cache.line_bytes;
  while (cache.sector_bytes > 32 && draw.chance(0.4)) cache.sector_bytes /= 2;
  cache.replacement = draw.chance(0.5)   ? Replacement::kLru
                      : draw.chance(0.4) ? Replacement::kTreePlru
                                         : Replacement::kRandom;
  const auto lines = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(wanted) / cache.line_bytes);
  constexpr std::uint64_t kFullLimit = 16384;
  const bool tree = cache.replacement == Replacement::kTreePlru;
  std::uint32_t ways = draw.pick<std::uint32_t>({1, 2, 4, 8, 16, 32, 64, 3, 6, 12, 0});
  if (tree && !power_of_two(ways)) ways = 8;
  if (ways == 0 && (lines > kFullLimit || tree)) ways = 16;
  while (ways > lines) ways /= 2;
  if (ways == 0) {
    cache.ways = 0;
    cache.size_bytes = lines * cache.line_bytes;
    return cache;
  }
  cache.ways = ways;
  std::uint64_t sets = std::max<std::uint64_t>(1, lines / ways);
  cache.index = draw.chance(0.5) ? IndexHash::kModulo : draw.chance(0.5) ? IndexHash::kXorFold : IndexHash::kMixed;
  if (cache.index != IndexHash::kModulo || draw.chance(0.5)) {
    while (!power_of_two(sets)) sets &= sets - 1;
  }
  cache.size_bytes = sets * ways * cache.line_bytes;
  return cache;
}

// Draws the write policies of the nearest cache and L2. A separate generator leaves the rest of the machine
// unchanged.
void draw_write_policies(std::uint64_t seed, sim::MachineSpec& machine) {
  Draw draw(~seed);
  const std::string first = machine.spaces.at(Space::kGlobal).path.front().cache;
  for (CacheSpec& cache : machine.caches) {
    if (cache.id != first && cache.id != "l2") continue;
    constexpr double kOfL2 = 0.75;
    const double often = cache.id == "l2" ? kOfL2 : 0.5;
    const bool back = draw.chance(often);
    cache.write_policy = back ? sim::WritePolicy::kBack : sim::WritePolicy::kThrough;
    cache.write_allocate = draw.chance(often);
    const bool evicts = draw.chance(0.5);
    if (!back && !*cache.write_allocate && evicts) cache.store_hit = sim::StoreHit::kInvalidate;
    if (cache.id != "l2") continue;
    // The write bandwidth of a write-through L2 is no higher than that of memory.
    sim::BandwidthSpec& bandwidth = machine.bandwidths.at("l2");
    bandwidth.write_bytes_per_second = (back ? 2 : 1) * machine.bandwidths.at("memory").write_bytes_per_second;
  }
}

}  // namespace

sim::MachineSpec random_machine(std::uint64_t seed) {
  Draw draw(seed);
  sim::MachineSpec machine;
  DeviceInfo& info = machine.info;
  info.vendor = "NVIDIA";
  info.name = fmt::format("random machine {}", seed);
  info.compute_capability_major = 9;
  info.compute_capability_minor = 0;
  info.sm_count = draw.pick<std::uint32_t>({4, 16, 80, 132});
  info.max_threads_per_block = 1024;
  info.memory_bytes = 8ull << 30;
  info.constant_bytes = 64 << 10;
  info.shared_bytes_per_sm = 64 << 10;
  info.sm_clock_max_mhz = 1500;

  machine.timer_cycles = std::round(draw.uniform(2, 30));
  const double l1_latency = draw.uniform(18, 80);
  const double l2_latency = l1_latency * draw.uniform(2.5, 6);
  const std::uint32_t partitions = draw.chance(0.5) ? 2 : 1;
  const double far_latency = partitions > 1 ? l2_latency * draw.uniform(1.45, 2) : 0;
  const double memory_latency = std::max(l2_latency, far_latency) * draw.uniform(1.45, 2.2);

  machine.caches.push_back(random_cache(draw, "l1", 1 << 10, 512 << 10));
  machine.caches.back().instances = draw.pick<std::uint32_t>({1, 1, 2, 3, 4});
  const double l1_bytes = static_cast<double>(machine.caches.back().size_bytes);
  CacheSpec l2 = random_cache(draw, "l2", std::max(128.0 * 1024, 4 * l1_bytes), 64 << 20);
  l2.scope = sim::Scope::kGpu;
  l2.partitions = partitions;
  // Each partition must have whole sets.
  if (partitions > 1 && l2.ways != 0)
    l2.size_bytes = std::max<std::uint64_t>(2, l2.size_bytes / (std::uint64_t{l2.line_bytes} * l2.ways) / 2 * 2) *
                    l2.line_bytes * l2.ways;
  if (partitions > 1 && l2.ways == 0) l2.size_bytes = l2.size_bytes / (2ull * l2.line_bytes) * 2 * l2.line_bytes;

  const auto path = [&](const std::string& first, double latency) {
    sim::SpaceSpec space;
    if (!first.empty()) space.path.push_back({first, latency, 0});
    space.path.push_back({"l2", l2_latency, far_latency});
    space.memory_latency_cycles = memory_latency;
    return space;
  };
  // Texture and read-only loads use L1, share a cache of their own, or have one each.
  const double sharing = draw.uniform(0, 1);
  std::string texture = "l1";
  std::string read_only = "l1";
  if (sharing > 0.4) {
    machine.caches.push_back(random_cache(draw, "texture", 1 << 10, 64 << 10));
    machine.caches.back().instances = draw.pick<std::uint32_t>({1, 2, 3, 4});
    texture = "texture";
    read_only = sharing > 0.7 ? "texture" : "l1";
  }
  if (sharing > 0.9) {
    machine.caches.push_back(random_cache(draw, "readonly", 1 << 10, 64 << 10));
    read_only = "readonly";
  }
  machine.spaces[Space::kGlobal] = path("l1", l1_latency);
  machine.spaces[Space::kGlobalBypassL1] = path("", 0);
  machine.spaces[Space::kTexture] = path(texture, l1_latency * draw.uniform(1, 1.3));
  machine.spaces[Space::kReadOnly] = path(read_only, l1_latency * draw.uniform(1, 1.1));

  machine.caches.push_back(random_cache(draw, "constant_l1", 1 << 10, 4 << 10));
  const double constant_latency = draw.uniform(10, 40);
  sim::SpaceSpec constant = path("constant_l1", constant_latency);
  const CacheSpec first_level = machine.caches.back();
  const auto first_bytes = static_cast<double>(first_level.size_bytes);
  constexpr double kMaxConstant = 24 << 10;
  if (draw.chance(0.67) && 4 * first_bytes <= kMaxConstant) {
    // The nearer cache's fetches arrive here whole, so loads cannot show a smaller sector or line. A cache hardly
    // larger than the nearer one would not show either.
    CacheSpec second;
    do {
      second = random_cache(draw, "constant_l15", 4 * first_bytes, kMaxConstant);
      second.line_bytes = std::max(second.line_bytes, first_level.line_bytes);
      second.sector_bytes = std::min(std::max(second.sector_bytes, first_level.sector_bytes), second.line_bytes);
      second.size_bytes = whole_size(second);
    } while (static_cast<double>(second.size_bytes) < 4 * first_bytes ||
             static_cast<double>(second.size_bytes) > kMaxConstant);
    machine.caches.push_back(second);
    constant.path.insert(constant.path.begin() + 1, {"constant_l15", constant_latency * draw.uniform(2, 2.5), 0});
  }
  constant.path.back().latency_cycles = std::max(constant.path.back().latency_cycles, constant_latency * 3.75);
  constant.path.back().far_latency_cycles =
      partitions > 1 ? std::max(far_latency, constant.path.back().latency_cycles * 1.45) : 0;
  constant.memory_latency_cycles = std::max(
      memory_latency, 1.45 * std::max(constant.path.back().latency_cycles, constant.path.back().far_latency_cycles));
  machine.spaces[Space::kConstant] = constant;
  machine.spaces[Space::kShared].memory_latency_cycles = draw.uniform(15, 40);
  machine.caches.push_back(l2);

  machine.bandwidths["l1"] = {
      .read_bytes_per_second = 2e13, .write_bytes_per_second = 5e12, .half_bytes_in_flight = 1e5};
  machine.bandwidths["l2"] = {
      .read_bytes_per_second = 6e12, .write_bytes_per_second = 4e12, .half_bytes_in_flight = 1e5};
  machine.bandwidths["memory"] = {
      .read_bytes_per_second = 2e12, .write_bytes_per_second = 2e12, .half_bytes_in_flight = 1e5};
  machine.bandwidths["shared"] = machine.bandwidths["l1"];

  machine.noise.jitter_cycles = draw.uniform(0, 2.5);
  machine.noise.outlier_probability = draw.chance(0.2) ? 0 : draw.uniform(0, 0.003);
  machine.noise.outlier_cycles = draw.uniform(100, 500);
  machine.noise.drift_fraction = draw.uniform(0, 0.005);
  machine.noise.interference_probability = draw.chance(0.5) ? 0 : draw.uniform(0, 0.02);
  machine.noise.bandwidth_sigma = 0.01;
  // Global loads bypass L1, which then serves textures, or textures and read-only loads.
  if (texture == "l1" && draw.chance(0.25)) machine.spaces[Space::kGlobal] = path("", 0);
  draw_write_policies(seed, machine);
  // Local loads use an L1 that global loads may bypass. Without a path of their own they take that of global loads.
  Draw of_local(seed * 2 + 1);
  if (of_local.chance(0.5)) machine.spaces[Space::kLocal] = path("l1", l1_latency * of_local.uniform(1, 1.1));
  return machine;
}

namespace {

// Splits the SMs of each die, in random order, into groups of 1 to 3.
std::vector<std::vector<std::uint32_t>> random_groups(Draw& draw, std::uint32_t sm_count, std::uint32_t dies) {
  const std::uint32_t of_die = sm_count / dies;
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t die = 0; die < dies; ++die) {
    std::vector<std::uint32_t> sms(of_die);
    for (std::uint32_t i = 0; i < of_die; ++i) sms[i] = die * of_die + i;
    for (std::uint32_t i = of_die; i > 1; --i) std::swap(sms[i - 1], sms[static_cast<std::size_t>(draw.uniform(0, i))]);
    for (std::size_t i = 0; i < sms.size();) {
      const std::size_t end = std::min(sms.size(), i + draw.pick<std::size_t>({1, 2, 3}));
      groups.emplace_back(sms.begin() + static_cast<std::ptrdiff_t>(i), sms.begin() + static_cast<std::ptrdiff_t>(end));
      std::sort(groups.back().begin(), groups.back().end());
      i = end;
    }
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

}  // namespace

sim::MachineSpec random_amd_machine(std::uint64_t seed) {
  Draw draw(seed + 1'000'000);
  sim::MachineSpec machine;
  DeviceInfo& info = machine.info;
  info.vendor = "AMD";
  info.name = fmt::format("random AMD machine {}", seed);
  info.sm_count = draw.pick<std::uint32_t>({4, 12, 24});
  info.warp_size = 64;
  info.max_threads_per_block = 1024;
  info.memory_bytes = 8ull << 30;
  info.shared_bytes_per_sm = 64 << 10;
  info.sm_clock_max_mhz = 1700;
  info.xcd_count = draw.pick<std::uint32_t>({1, 2, 4});
  machine.sm_groups = random_groups(draw, info.sm_count, *info.xcd_count);

  machine.timer_cycles = std::round(draw.uniform(2, 30));
  const double vector_latency = draw.uniform(90, 140);
  const double scalar_latency = draw.uniform(35, 70);
  const double l2_latency = vector_latency * draw.uniform(2, 3);
  const bool has_l3 = draw.chance(0.5);
  const double l3_latency = l2_latency * draw.uniform(1.45, 2);
  const double memory_latency = (has_l3 ? l3_latency : l2_latency) * draw.uniform(1.45, 2.2);

  machine.caches.push_back(random_cache(draw, "vl1", 4 << 10, 64 << 10));
  machine.caches.push_back(random_cache(draw, "sl1d", 4 << 10, 32 << 10));
  machine.caches.back().scope = sim::Scope::kGroup;
  CacheSpec l2 = random_cache(draw, "l2", 256 << 10, 4 << 20);
  l2.scope = sim::Scope::kXcd;
  machine.caches.push_back(l2);
  info.l2_bytes = l2.size_bytes;
  if (has_l3) {
    // The L2's fetches arrive here whole, so loads cannot show a smaller sector or line.
    CacheSpec l3;
    const auto l2_bytes = static_cast<double>(l2.size_bytes);
    do {
      l3 = random_cache(draw, "l3", 4 * l2_bytes, 12 * l2_bytes);
      l3.line_bytes = std::max(l3.line_bytes, l2.sector_bytes);
      l3.sector_bytes = std::min(std::max(l3.sector_bytes, l2.sector_bytes), l3.line_bytes);
      l3.size_bytes = whole_size(l3);
    } while (static_cast<double>(l3.size_bytes) < 4 * l2_bytes);
    l3.scope = sim::Scope::kGpu;
    machine.caches.push_back(l3);
    info.l3_bytes = l3.size_bytes;
  }

  const auto path = [&](const char* first, double latency) {
    sim::SpaceSpec space;
    if (first != nullptr) space.path.push_back({first, latency, 0});
    space.path.push_back({"l2", l2_latency, 0});
    if (has_l3) space.path.push_back({"l3", l3_latency, 0});
    space.memory_latency_cycles = memory_latency;
    return space;
  };
  machine.spaces[Space::kGlobal] = path("vl1", vector_latency);
  machine.spaces[Space::kGlobalBypassL1] = path(nullptr, 0);
  machine.spaces[Space::kScalar] = path("sl1d", scalar_latency);
  machine.spaces[Space::kShared].memory_latency_cycles = draw.uniform(40, 70);

  for (const char* level : {"vl1", "l2", "memory", "shared"}) {
    machine.bandwidths[level] = {
        .read_bytes_per_second = 2e12, .write_bytes_per_second = 1e12, .half_bytes_in_flight = 1e5};
  }
  machine.noise.jitter_cycles = draw.uniform(0, 2.5);
  machine.noise.outlier_probability = draw.chance(0.2) ? 0 : draw.uniform(0, 0.003);
  machine.noise.outlier_cycles = draw.uniform(100, 500);
  machine.noise.drift_fraction = draw.uniform(0, 0.005);
  machine.noise.interference_probability = draw.chance(0.5) ? 0 : draw.uniform(0, 0.02);
  machine.noise.bandwidth_sigma = 0.01;
  draw_write_policies(seed, machine);
  return machine;
}

void take_groups(sim::MachineSpec& machine, std::uint32_t sm_count) {
  machine.info.sm_count = sm_count;
  machine.sm_groups.clear();
  machine.clusters.reset();
  for (CacheSpec& cache : machine.caches) {
    if (cache.scope == sim::Scope::kGroup) cache.scope = sim::Scope::kSm;
  }
}

void take_partitions(sim::MachineSpec& machine) {
  for (CacheSpec& cache : machine.caches) {
    cache.partitions = 1;
    cache.copies_far_lines = false;
  }
  for (auto& [level, atomics] : machine.atomics) atomics.far_latency_cycles = 0;
  for (auto& [space, spec] : machine.spaces) {
    for (sim::PathStop& stop : spec.path) stop.far_latency_cycles = 0;
    spec.far_memory_latency_cycles = 0;
  }
}

const CacheSpec& cache_of(const sim::MachineSpec& machine, const std::string& id) {
  for (const CacheSpec& cache : machine.caches) {
    if (cache.id == id) return cache;
  }
  throw std::invalid_argument("no cache " + id);
}

std::optional<sim::SpaceSpec> space_of(const sim::MachineSpec& machine, Space space) {
  if (space == Space::kLocal) return sim::local_space(machine);
  const auto found = machine.spaces.find(space);
  return found == machine.spaces.end() ? std::nullopt : std::optional(found->second);
}

const CacheSpec* cache_at(const sim::MachineSpec& machine, Space space, std::size_t depth) {
  const std::optional<sim::SpaceSpec> found = space_of(machine, space);
  if (!found || depth >= found->path.size()) return nullptr;
  return &cache_of(machine, found->path[depth].cache);
}

}  // namespace gputopo::truth
