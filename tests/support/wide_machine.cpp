#include "support/wide_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/sim/cache/index.h"
#include "support/draw.h"

namespace gputopo::truth {
namespace {

using sim::CacheSpec;
using sim::IndexHash;
using sim::Replacement;

constexpr double kKib = 1024;
constexpr double kMib = 1024 * kKib;

// ---- Caches ----

void draw_replacement(Draw& draw, CacheSpec& cache) {
  const double kind = draw.uniform(0, 1);
  cache.replacement = kind < 0.37   ? Replacement::kLru
                      : kind < 0.45 ? Replacement::kSegmentedLru
                      : kind < 0.6  ? Replacement::kTreePlru
                      : kind < 0.70 ? Replacement::kFifo
                      : kind < 0.72 ? Replacement::kSrrip
                                    : Replacement::kRandom;
}

// Segmented LRU and SRRIP need a limited number of ways. Half the ways are protected, as measured on an H200.
void fit_replacement(CacheSpec& cache) {
  const bool segmented = cache.replacement == Replacement::kSegmentedLru;
  if (segmented && cache.ways > 1 && cache.ways <= sim::kMaxSegmentedWays) cache.protected_ways = cache.ways / 2;
  const bool too_wide = cache.replacement == Replacement::kSrrip && cache.ways > sim::kMaxSrripWays;
  if (too_wide || (segmented && cache.protected_ways == 0)) cache.replacement = Replacement::kLru;
}

std::uint32_t draw_ways(Draw& draw, const CacheSpec& cache, std::uint64_t lines) {
  std::uint32_t ways = draw.pick<std::uint32_t>({2, 3, 4, 4, 5, 6, 8, 8, 10, 12, 16, 16, 18, 20, 24});
  constexpr std::uint64_t kFullLimit = 8192;  // walking more lines takes the simulator too long
  const double odd = draw.uniform(0, 1);
  if (odd < 0.04) ways = 1;
  if (odd > 0.96) ways = draw.pick<std::uint32_t>({32, 64, 128});
  if (odd > 0.92 && odd <= 0.96 && lines <= kFullLimit) ways = static_cast<std::uint32_t>(lines);
  if (cache.replacement == Replacement::kTreePlru) ways = std::min(std::bit_floor(ways), 64u);
  while (ways > lines) ways /= 2;
  return std::max(1u, ways);
}

// `parts`: number of equal partitions, each a cache of its own.
CacheSpec draw_cache(Draw& draw, const std::string& id, double least_bytes, double most_bytes,
                     std::uint32_t parts = 1) {
  CacheSpec cache;
  cache.id = id;
  const double wanted = draw.log_uniform(least_bytes, std::max(least_bytes, most_bytes)) / parts;
  cache.line_bytes = draw.pick<std::uint32_t>({32, 64, 128, 128, 256});
  cache.sector_bytes = cache.line_bytes;
  while (cache.sector_bytes > 32 && draw.chance(0.4)) cache.sector_bytes /= 2;
  draw_replacement(draw, cache);
  const std::uint64_t lines = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(wanted) / cache.line_bytes);
  cache.ways = draw_ways(draw, cache, lines);
  fit_replacement(cache);
  std::uint64_t sets = std::max<std::uint64_t>(1, lines / cache.ways);
  const double index = draw.uniform(0, 1);
  cache.index = index < 0.45 ? IndexHash::kModulo : index < 0.65 ? IndexHash::kXorFold : IndexHash::kMixed;
  if (cache.index == IndexHash::kXorFold && !std::has_single_bit(parts)) cache.index = IndexHash::kMixed;
  if (cache.index == IndexHash::kXorFold || draw.chance(0.4)) sets = std::bit_floor(sets);
  if (cache.index == IndexHash::kModulo && sets > 1 && draw.chance(0.05)) {
    cache.set_interleave_bytes = cache.line_bytes << draw.pick<std::uint32_t>({1, 2, 3});
  }
  const bool uneven = cache.replacement == Replacement::kRandom && cache.ways > 1 && cache.ways <= 16;
  if (uneven && draw.chance(0.15)) {
    for (std::uint32_t way = 0; way < cache.ways; ++way) cache.victim_weights.push_back(1 + draw.below(4));
  }
  cache.size_bytes = sets * cache.ways * cache.line_bytes * parts;
  cache.partitions = parts;
  return cache;
}

// The nearer cache's fetches arrive at the farther one whole, so loads cannot show a smaller sector there.
void put_behind(CacheSpec& farther, const CacheSpec& nearer) {
  const std::uint64_t lines = farther.size_bytes / farther.line_bytes;
  farther.line_bytes = std::max(farther.line_bytes, nearer.sector_bytes);
  farther.sector_bytes = std::min(std::max(farther.sector_bytes, nearer.sector_bytes), farther.line_bytes);
  farther.size_bytes = lines * farther.line_bytes;
  if (farther.set_interleave_bytes != 0) farther.set_interleave_bytes = 2 * farther.line_bytes;
}

void draw_stores(Draw& draw, sim::MachineSpec& machine) {
  const std::string first = machine.spaces.at(Space::kGlobal).path.front().cache;
  for (CacheSpec& cache : machine.caches) {
    if (cache.id != first && cache.id != "l2") continue;
    const double often = cache.id == "l2" ? 0.75 : 0.5;
    const bool back = draw.chance(often);
    cache.write_policy = back ? sim::WritePolicy::kBack : sim::WritePolicy::kThrough;
    cache.write_allocate = draw.chance(often);
    if (draw.chance(0.5) && !back && !*cache.write_allocate) cache.store_hit = sim::StoreHit::kInvalidate;
    if (cache.id != "l2") continue;
    sim::BandwidthSpec& bandwidth = machine.bandwidths.at("l2");
    bandwidth.write_bytes_per_second = (back ? 2 : 1) * machine.bandwidths.at("memory").write_bytes_per_second;
  }
}

// ---- Translation ----

std::vector<sim::TlbSpec> draw_tlbs(Draw& draw, const std::vector<sim::Scope>& scopes) {
  const double count = draw.uniform(0, 1);
  const int levels = count < 0.25 ? 0 : count < 0.6 ? 1 : 2;
  std::vector<sim::TlbSpec> tlbs;
  for (int level = 0; level < levels; ++level) {
    sim::TlbSpec tlb;
    tlb.page_bytes = draw.pick<std::uint64_t>({64ull << 10, 512ull << 10, 2ull << 20, 16ull << 20, 32ull << 20});
    if (level > 0) tlb.page_bytes = std::min(tlb.page_bytes, tlbs[0].page_bytes);
    const double least = level == 0 ? 8
                                    : 2.0 * tlbs[0].entries * static_cast<double>(tlbs[0].page_bytes) /
                                          static_cast<double>(tlb.page_bytes);
    tlb.entries = static_cast<std::uint32_t>(draw.log_uniform(least, level == 0 ? 512 : 16 * least));
    tlb.ways = draw.pick<std::uint32_t>({0, 0, 2, 4, 7, 8, 16});
    if (tlb.ways > tlb.entries) tlb.ways = 0;
    if (tlb.ways > 0) tlb.entries -= tlb.entries % tlb.ways;
    constexpr std::uint32_t kFullEntries = 4096;
    if (tlb.ways == 0 && tlb.entries > kFullEntries) {
      tlb.ways = 8;
      tlb.entries -= tlb.entries % tlb.ways;
    }
    if (draw.chance(0.2)) tlb.index = IndexHash::kMixed;
    tlb.miss_cycles = draw.log_uniform(6, 400);
    if (draw.chance(0.3)) tlb.memory_miss_cycles = tlb.miss_cycles * draw.uniform(1, 2);
    tlb.scope = draw.pick(scopes);
    if (level > 0) tlb.scope = std::max(tlb.scope, tlbs[0].scope);
    tlbs.push_back(tlb);
  }
  return tlbs;
}

// TLBs for textures only, as on GT200. A separate generator leaves the rest of the machine unchanged.
void draw_texture_tlbs(sim::MachineSpec& machine, const std::vector<sim::Scope>& scopes) {
  Draw own(static_cast<std::uint64_t>(1e6 * machine.spaces.at(Space::kTexture).path.front().latency_cycles));
  constexpr double kOften = 0.3;
  if (own.chance(kOften)) machine.texture_tlbs = draw_tlbs(own, scopes);
}

// ---- Code ----

void draw_code(Draw& draw, sim::MachineSpec& machine, sim::Scope first_scope, int most_levels) {
  if (draw.chance(0.4)) return;
  sim::CodeSpec code;
  code.bytes_per_instruction = draw.pick<std::uint32_t>({8, 16});
  code.loop_cycles = draw.uniform(0, 300);
  double bytes = draw.log_uniform(2 * kKib, 48 * kKib);
  double cycles = draw.uniform(1, 2.5);
  const int levels = 1 + static_cast<int>(draw.below(static_cast<std::uint32_t>(most_levels)));
  CacheSpec before;
  for (int level = 0; level < levels && bytes < 400 * kKib; ++level) {
    CacheSpec cache = draw_cache(draw, fmt::format("icache_l{}", level + 1), bytes, bytes);
    cache.line_bytes = std::max(cache.line_bytes, 64u);
    cache.sector_bytes = cache.line_bytes;
    cache.size_bytes = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes) / cache.line_bytes / cache.ways) *
                       cache.line_bytes * cache.ways;
    if (cache.index == IndexHash::kXorFold) cache.index = IndexHash::kMixed;
    if (cache.set_interleave_bytes != 0) cache.set_interleave_bytes = 0;
    if (level > 0) put_behind(cache, before);
    cache.scope = level == 0 ? first_scope : draw.pick<sim::Scope>({first_scope, sim::Scope::kGpu});
    before = cache;
    machine.caches.push_back(cache);
    code.path.push_back({cache.id, cycles});
    cycles *= draw.uniform(1.3, 3);
    bytes = static_cast<double>(cache.size_bytes) * draw.uniform(2.5, 6);
  }
  code.memory_cycles_per_instruction = cycles;
  machine.code = code;
}

// ---- All of them ----

void draw_noise(Draw& draw, Tier tier, sim::NoiseSpec& noise) {
  switch (tier) {
    case Tier::kQuiet:
      noise.jitter_cycles = draw.uniform(0, 1);
      noise.outlier_probability = draw.chance(0.5) ? 0 : draw.uniform(0, 0.0005);
      noise.drift_fraction = draw.uniform(0, 0.002);
      break;
    case Tier::kMid:
      noise.jitter_cycles = draw.uniform(0.5, 2.5);
      noise.outlier_probability = draw.uniform(0, 0.005);
      noise.drift_fraction = draw.uniform(0, 0.01);
      noise.interference_probability = draw.uniform(0, 0.03);
      break;
    case Tier::kHarsh:
      noise.jitter_cycles = draw.uniform(2, 5);
      noise.outlier_probability = draw.uniform(0.003, 0.015);
      noise.drift_fraction = draw.uniform(0.005, 0.02);
      noise.interference_probability = draw.uniform(0.02, 0.12);
      break;
  }
  noise.outlier_cycles = draw.uniform(50, 500);
  noise.bandwidth_sigma = 0.01;
}

void draw_common(Draw& draw, sim::MachineSpec& machine) {
  DeviceInfo& info = machine.info;
  info.max_threads_per_block = 1024;
  info.shared_bytes_per_sm = draw.pick<std::uint64_t>({16 << 10, 48 << 10, 64 << 10, 100 << 10, 228 << 10});
  info.sm_clock_max_mhz = std::round(draw.uniform(700, 2600));
  info.memory_bytes = static_cast<std::uint64_t>(draw.log_uniform(1, 256)) << 30;
  machine.timer_cycles = draw.uniform(2, 30);
  if (draw.chance(0.5)) machine.loop_cycles = draw.uniform(0.5, 8);
}

// Bandwidth of all SMs together. `least` and `most`: bytes per cycle and SM.
sim::BandwidthSpec draw_bandwidth(Draw& draw, const DeviceInfo& info, double least, double most) {
  const double cycles = 1e6 * *info.sm_clock_max_mhz;
  const double read = draw.log_uniform(least, most) * cycles * info.sm_count;
  return {.read_bytes_per_second = read, .write_bytes_per_second = read / 2, .half_bytes_in_flight = 100};
}

void draw_bandwidths(Draw& draw, sim::MachineSpec& machine, const std::string& first) {
  const DeviceInfo& info = machine.info;
  machine.bandwidths["shared"] = draw_bandwidth(draw, info, 32, 128);
  machine.bandwidths[first] = draw_bandwidth(draw, info, 32, 256);
  machine.bandwidths["l2"] = draw_bandwidth(draw, info, 24, 64);
  machine.bandwidths["memory"] = draw_bandwidth(draw, info, 2, 8);
  const bool has_l3 = std::ranges::any_of(machine.caches, [](const CacheSpec& cache) { return cache.id == "l3"; });
  if (has_l3) machine.bandwidths["l3"] = draw_bandwidth(draw, info, 12, 20);
}

void draw_scratchpad(Draw& draw, sim::MachineSpec& machine, double latency) {
  machine.spaces[Space::kShared].memory_latency_cycles = latency;
  if (draw.chance(0.3)) return;
  machine.banks = sim::BankSpec{.banks = draw.pick<std::uint32_t>({16, 32, 32, 64}),
                                .bank_bytes = draw.pick<std::uint32_t>({4, 4, 8}),
                                .lanes_at_once = draw.pick<std::uint32_t>({16, 32, 32}),
                                .conflict_cycles = draw.uniform(1, 40),
                                .store_latency_cycles = draw.uniform(20, 60)};
  if (machine.banks->banks * machine.banks->bank_bytes < 32 * 4) machine.banks->lanes_at_once = 16;
  // A separate generator leaves later draws unchanged.
  Draw own(static_cast<std::uint64_t>(1e6 * machine.banks->conflict_cycles));
  const auto narrower = [&](std::uint32_t lanes) { return std::min(lanes, machine.banks->lanes_at_once); };
  machine.banks->lanes_at_once_8_bytes = narrower(own.pick<std::uint32_t>({0, 0, 8, 16, 32}));
  machine.banks->lanes_at_once_16_bytes = narrower(own.pick<std::uint32_t>({0, 0, 4, 8, 16}));
  if (machine.banks->bank_bytes == 8 && own.chance(0.5)) machine.banks->modes_bytes = {4, 8};
}

sim::SpaceSpec path_to_memory(const CacheSpec* first, double first_latency, const std::vector<sim::PathStop>& behind,
                              double memory_latency) {
  sim::SpaceSpec space;
  if (first != nullptr) space.path.push_back({first->id, first_latency, 0});
  space.path.insert(space.path.end(), behind.begin(), behind.end());
  space.memory_latency_cycles = memory_latency;
  return space;
}

void draw_constants(Draw& draw, sim::MachineSpec& machine, const sim::PathStop& l2, double memory_latency) {
  CacheSpec first = draw_cache(draw, "constant_l1", 512, 8 * kKib);
  const double latency = draw.uniform(10, 60);
  sim::SpaceSpec constant = path_to_memory(&first, latency, {}, 0);
  double behind = latency;
  if (draw.chance(0.7)) {
    CacheSpec second = draw_cache(draw, "constant_l15", 2.5 * static_cast<double>(first.size_bytes), 128 * kKib);
    put_behind(second, first);
    behind = latency * draw.log_uniform(1.25, 4);
    constant.path.push_back({second.id, behind, 0});
    machine.caches.push_back(second);
  }
  sim::PathStop last = l2;
  last.latency_cycles = std::max(l2.latency_cycles, 1.25 * behind);
  if (l2.far_latency_cycles > 0) last.far_latency_cycles = std::max(l2.far_latency_cycles, 1.05 * last.latency_cycles);
  constant.path.push_back(last);
  constant.memory_latency_cycles =
      std::max(memory_latency, 1.15 * std::max(last.latency_cycles, last.far_latency_cycles));
  machine.caches.push_back(first);
  machine.spaces[Space::kConstant] = constant;
}

// Draws the cost of further addresses and, for some machines, a third level as on GT200 and a second level that SMs
// share. A separate generator leaves the rest of the machine unchanged.
void draw_more_of_constants(sim::MachineSpec& machine) {
  sim::SpaceSpec& constant = machine.spaces.at(Space::kConstant);
  Draw own(static_cast<std::uint64_t>(1e6 * constant.path.front().latency_cycles));
  constant.address_cycles = own.log_uniform(0.5, 40);
  if (constant.path[1].cache != "constant_l15") return;
  const auto second = std::ranges::find(machine.caches, "constant_l15", &CacheSpec::id);
  second->scope = own.pick<sim::Scope>({sim::Scope::kSm, sim::Scope::kSm, sim::Scope::kTpc});
  const double least_bytes = 2.5 * static_cast<double>(second->size_bytes);
  if (least_bytes > 40 * kKib || !own.chance(0.4)) return;
  CacheSpec third = draw_cache(own, "constant_l3", least_bytes, 48 * kKib);
  put_behind(third, *second);
  third.scope = sim::Scope::kGpu;
  const double latency = constant.path[1].latency_cycles * own.log_uniform(1.25, 3);
  sim::PathStop& last = constant.path.back();
  const double farther = std::max(1.0, 1.25 * latency / last.latency_cycles);
  last.latency_cycles *= farther;
  last.far_latency_cycles *= farther;
  constant.memory_latency_cycles *= farther;
  machine.caches.push_back(third);
  constant.path.insert(constant.path.begin() + 2, {"constant_l3", latency, 0});
}

sim::MachineSpec draw_nvidia(Draw& draw, std::uint64_t seed) {
  sim::MachineSpec machine;
  DeviceInfo& info = machine.info;
  info.vendor = "NVIDIA";
  info.name = fmt::format("wide machine {}", seed);
  info.compute_capability_major = 9;
  info.compute_capability_minor = 0;
  info.sm_count = draw.pick<std::uint32_t>({1, 2, 3, 4, 8, 13, 16, 24, 30, 46, 80, 108, 132, 144, 304});
  info.constant_bytes = 64 << 10;
  draw_common(draw, machine);

  const double l1_latency = draw.uniform(15, 110);
  const double l2_latency = l1_latency * draw.log_uniform(1.3, 7);
  const std::uint32_t partitions = draw.pick<std::uint32_t>({1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 8});
  const double far_latency = partitions > 1 ? l2_latency * draw.uniform(1.05, 2.5) : 0;
  const double memory_latency = std::max(l2_latency, far_latency) * draw.uniform(1.15, 3);

  CacheSpec l1 = draw_cache(draw, "l1", kKib, 256 * kKib);
  l1.instances = draw.pick<std::uint32_t>({1, 1, 1, 2, 3, 4});
  const double least = std::max(64 * kKib, 2.5 * static_cast<double>(l1.size_bytes)) * std::max(1u, partitions / 2);
  CacheSpec l2 = draw_cache(draw, "l2", least, 96 * kMib, partitions);
  l2.scope = sim::Scope::kGpu;
  if (draw.chance(0.6)) info.l2_bytes = l2.size_bytes;
  // A separate generator leaves later draws unchanged.
  if (Draw(l2.size_bytes).chance(0.5)) {
    for (const std::uint32_t limit : {32u, 64u, 128u}) {
      if (limit <= l2.line_bytes) l2.fetch_limits_bytes.push_back(limit);
    }
  }
  const sim::PathStop to_l2{"l2", l2_latency, far_latency};

  CacheSpec texture = draw_cache(draw, "texture", kKib, 64 * kKib);
  texture.instances = draw.pick<std::uint32_t>({1, 1, 2, 4});
  CacheSpec read_only = draw_cache(draw, "readonly", kKib, 64 * kKib);
  const double sharing = draw.uniform(0, 1);
  const CacheSpec& texture_is = sharing < 0.4 ? l1 : texture;
  const CacheSpec& read_only_is = sharing < 0.4 ? l1 : sharing < 0.65 ? texture : sharing < 0.85 ? l1 : read_only;
  const bool uncached = sharing < 0.1;  // global loads bypass L1, which then serves the other spaces
  machine.spaces[Space::kGlobal] = path_to_memory(uncached ? nullptr : &l1, l1_latency, {to_l2}, memory_latency);
  machine.spaces[Space::kGlobalBypassL1] = path_to_memory(nullptr, 0, {to_l2}, memory_latency);
  const double nearest_l2 = 0.9 * l2_latency;
  machine.spaces[Space::kTexture] =
      path_to_memory(&texture_is, std::min(nearest_l2, l1_latency * draw.uniform(1, 1.5)), {to_l2}, memory_latency);
  machine.spaces[Space::kReadOnly] =
      path_to_memory(&read_only_is, std::min(nearest_l2, l1_latency * draw.uniform(1, 1.2)), {to_l2}, memory_latency);
  machine.caches.push_back(l1);
  if (sharing >= 0.4) machine.caches.push_back(texture);
  if (sharing >= 0.85) machine.caches.push_back(read_only);
  draw_constants(draw, machine, to_l2, memory_latency);
  machine.caches.push_back(l2);
  const std::vector<sim::Scope> tlb_scopes = {sim::Scope::kSm, sim::Scope::kTpc, sim::Scope::kGpu};
  machine.tlbs = draw_tlbs(draw, tlb_scopes);
  draw_texture_tlbs(machine, tlb_scopes);
  draw_code(draw, machine, draw.pick<sim::Scope>({sim::Scope::kSm, sim::Scope::kSm, sim::Scope::kTpc}), 3);

  draw_bandwidths(draw, machine, "l1");
  draw_more_of_constants(machine);
  draw_scratchpad(draw, machine, draw.uniform(15, 50));
  return machine;
}

// Splits the SMs of each die into groups of 1 to 3.
std::vector<std::vector<std::uint32_t>> draw_groups(Draw& draw, std::uint32_t sm_count, std::uint32_t dies) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t die = 0; die < dies; ++die) {
    const std::uint32_t end = (die + 1) * (sm_count / dies);
    for (std::uint32_t sm = end - sm_count / dies; sm < end;) {
      std::vector<std::uint32_t>& group = groups.emplace_back();
      for (std::uint32_t left = draw.pick<std::uint32_t>({1, 2, 2, 3}); left > 0 && sm < end; --left) {
        group.push_back(sm++);
      }
    }
  }
  return groups;
}

sim::MachineSpec draw_amd(Draw& draw, std::uint64_t seed) {
  sim::MachineSpec machine;
  DeviceInfo& info = machine.info;
  info.vendor = "AMD";
  info.name = fmt::format("wide AMD machine {}", seed);
  info.warp_size = 64;
  info.xcd_count = draw.pick<std::uint32_t>({1, 1, 2, 4, 8});
  info.sm_count = *info.xcd_count * draw.pick<std::uint32_t>({2, 6, 13, 38});
  draw_common(draw, machine);
  machine.sm_groups = draw_groups(draw, info.sm_count, *info.xcd_count);

  const double vector_latency = draw.uniform(60, 150);
  const double scalar_latency = draw.uniform(30, 80);
  const double l2_latency = vector_latency * draw.log_uniform(1.3, 4);
  const bool has_l3 = draw.chance(0.5);
  const double l3_latency = l2_latency * draw.log_uniform(1.25, 3);
  const double memory_latency = (has_l3 ? l3_latency : l2_latency) * draw.uniform(1.15, 3);

  const CacheSpec vector = draw_cache(draw, "vl1", 4 * kKib, 64 * kKib);
  CacheSpec scalar = draw_cache(draw, "sl1d", 4 * kKib, 32 * kKib);
  scalar.scope = sim::Scope::kGroup;
  CacheSpec l2 = draw_cache(draw, "l2", std::max(128 * kKib, 2.5 * static_cast<double>(vector.size_bytes)), 8 * kMib);
  l2.scope = sim::Scope::kXcd;
  if (draw.chance(0.8)) info.l2_bytes = l2.size_bytes;
  std::vector<sim::PathStop> behind = {{"l2", l2_latency, 0}};
  machine.caches = {vector, scalar, l2};
  if (has_l3) {
    const auto l2_bytes = static_cast<double>(l2.size_bytes);
    CacheSpec l3 = draw_cache(draw, "l3", 3 * l2_bytes, 16 * l2_bytes);
    put_behind(l3, l2);
    l3.scope = sim::Scope::kGpu;
    if (draw.chance(0.7)) info.l3_bytes = l3.size_bytes;
    machine.caches.push_back(l3);
    behind.push_back({"l3", l3_latency, 0});
  }
  machine.spaces[Space::kGlobal] = path_to_memory(&vector, vector_latency, behind, memory_latency);
  machine.spaces[Space::kGlobalBypassL1] = path_to_memory(nullptr, 0, behind, memory_latency);
  machine.spaces[Space::kScalar] = path_to_memory(&scalar, scalar_latency, behind, memory_latency);
  machine.tlbs = draw_tlbs(draw, {sim::Scope::kSm, sim::Scope::kXcd, sim::Scope::kGpu});
  draw_code(draw, machine, sim::Scope::kGroup, 1);
  draw_bandwidths(draw, machine, "vl1");
  draw_scratchpad(draw, machine, draw.uniform(30, 80));
  return machine;
}

// On half of the partitioned machines memory is near or far with the line's home, and as much farther as L2 is.
void draw_far_memory(Draw draw, sim::MachineSpec& machine) {
  const sim::PathStop& l2 = machine.spaces.at(Space::kGlobalBypassL1).path.front();
  if (l2.far_latency_cycles == 0 || draw.chance(0.5)) return;
  const double farther = (l2.far_latency_cycles - l2.latency_cycles) * draw.uniform(0.7, 1.3);
  for (auto& [space, spec] : machine.spaces) {
    if (!spec.path.empty()) spec.far_memory_latency_cycles = spec.memory_latency_cycles + farther;
  }
}

// Draws the costs of jumps, and a nearest cache that nothing else shows.
void draw_jumps(Draw draw, sim::MachineSpec& machine) {
  if (!machine.code || draw.chance(0.3)) return;
  sim::CodeSpec& code = *machine.code;
  const CacheSpec first = *std::ranges::find(machine.caches, code.path.front().cache, &CacheSpec::id);
  if (draw.chance(0.6)) {
    CacheSpec cache = draw_cache(draw, "icache_l0", 0.5 * kKib, 8 * kKib);
    cache.line_bytes = std::min(cache.line_bytes, first.line_bytes);
    cache.sector_bytes = cache.line_bytes;
    cache.set_interleave_bytes = 0;
    if (cache.index == IndexHash::kXorFold) cache.index = IndexHash::kMixed;
    cache.size_bytes =
        std::max<std::uint64_t>(1, cache.size_bytes / cache.line_bytes / cache.ways) * cache.line_bytes * cache.ways;
    if (3 * cache.size_bytes <= first.size_bytes) {
      code.path.insert(code.path.begin(), {cache.id, code.path.front().cycles_per_instruction});
      machine.caches.push_back(cache);
    }
  }
  double cycles = draw.uniform(8, 40);
  for (sim::CodeStop& stop : code.path) {
    stop.jump_cycles = cycles;
    cycles += draw.log_uniform(5, 100);
  }
  code.memory_jump_cycles = cycles;
  if (draw.chance(0.2)) return;
  code.fetch_bytes = draw.pick<std::uint32_t>({32, 64, 64, 128, 128, 256, 512});
  code.fetch_cycles = draw.log_uniform(0.3, 8);
}

// Draws the costs of constant operands, from a cache of their own or from the caches of constant loads.
void draw_operands(Draw draw, sim::MachineSpec& machine) {
  const auto constants = machine.spaces.find(Space::kConstant);
  if (!machine.code || constants == machine.spaces.end() || draw.chance(0.3)) return;
  sim::CodeSpec& code = *machine.code;
  double cycles = draw.uniform(4, 30);
  const auto add = [&](const std::string& cache) {
    code.operand_path.push_back({cache, cycles});
    cycles += draw.log_uniform(3, 200);
  };
  const bool own = draw.chance(0.5);
  if (own) {
    CacheSpec cache = draw_cache(draw, "operands", 0.5 * kKib, 8 * kKib);
    machine.caches.push_back(cache);
    add(cache.id);
  }
  for (std::size_t i = own ? 1 : 0; i < constants->second.path.size(); ++i) {
    const std::string& cache = constants->second.path[i].cache;
    if (std::ranges::find(machine.caches, cache, &CacheSpec::id)->partitions == 1) add(cache);
  }
  code.memory_operand_cycles = cycles;
  code.pass_constants = draw.pick<std::uint32_t>({0, 1, 1, 2});
}

// ---- What machines that fooled gputopo have in common ----

// Memory is hardly farther than the last cache.
void bring_memory_close(Draw& draw, sim::MachineSpec& machine) {
  const double farther = draw.uniform(1.05, 1.15);
  for (auto& [space, spec] : machine.spaces) {
    if (!spec.path.empty()) spec.memory_latency_cycles = spec.path.back().latency_cycles * farther;
  }
}

void take_a_tiny_first_cache(Draw& draw, sim::MachineSpec& machine) {
  const std::string first = machine.spaces.at(Space::kGlobal).path.front().cache;
  CacheSpec& cache = *std::ranges::find(machine.caches, first, &CacheSpec::id);
  if (first == "l2") return;
  cache.line_bytes = std::min(cache.line_bytes, 64u);
  cache.sector_bytes = std::min(cache.sector_bytes, cache.line_bytes);
  cache.set_interleave_bytes = 0;
  cache.index = IndexHash::kModulo;
  cache.ways = draw.pick<std::uint32_t>({1, 2, 4});
  cache.victim_weights.clear();
  fit_replacement(cache);
  cache.size_bytes = std::uint64_t{cache.line_bytes} * cache.ways * draw.pick<std::uint32_t>({2, 3, 4});
}

void fetch_more_into_l3(Draw& draw, sim::MachineSpec& machine) {
  const auto l3 = std::ranges::find(machine.caches, "l3", &CacheSpec::id);
  if (l3 == machine.caches.end()) return;
  const CacheSpec& l2 = *std::ranges::find(machine.caches, "l2", &CacheSpec::id);
  const std::uint64_t lines = l3->size_bytes / l3->line_bytes;
  l3->sector_bytes = l2.sector_bytes * draw.pick<std::uint32_t>({2, 4});
  l3->line_bytes = std::max(l3->line_bytes, l3->sector_bytes);
  l3->size_bytes = lines * l3->line_bytes;
  if (machine.info.l3_bytes) machine.info.l3_bytes = l3->size_bytes;
  if (l3->set_interleave_bytes != 0) l3->set_interleave_bytes = 2 * l3->line_bytes;
}

// The L2 becomes the cache behind a new one.
void put_a_cache_before_l2(Draw& draw, sim::MachineSpec& machine) {
  CacheSpec& behind = *std::ranges::find(machine.caches, "l2", &CacheSpec::id);
  const std::string first = machine.spaces.at(Space::kGlobal).path.front().cache;
  const CacheSpec& nearest = *std::ranges::find(machine.caches, first, &CacheSpec::id);
  const double least = std::max(32 * kKib, 2.5 * static_cast<double>(nearest.size_bytes));
  if (behind.partitions > 1 || static_cast<double>(behind.size_bytes) < 3 * least) return;
  behind.id = "behind";
  CacheSpec l2 = draw_cache(draw, "l2", least, static_cast<double>(behind.size_bytes) / 3);
  put_behind(behind, l2);
  l2.write_policy = behind.write_policy;
  l2.write_allocate = behind.write_allocate;
  l2.scope = draw.pick<sim::Scope>({sim::Scope::kGroup, sim::Scope::kGpu});
  if (l2.scope == sim::Scope::kGroup) machine.sm_groups = draw_groups(draw, machine.info.sm_count, 1);
  machine.caches.push_back(l2);
  machine.info.l2_bytes.reset();
  const double farther = draw.uniform(1.3, 2);
  for (auto& [space, spec] : machine.spaces) {
    const auto stop = std::ranges::find(spec.path, "l2", &sim::PathStop::cache);
    if (stop == spec.path.end()) continue;
    sim::PathStop of_behind = *stop;
    of_behind.cache = "behind";
    of_behind.latency_cycles *= farther;
    spec.memory_latency_cycles *= farther;
    if (space == Space::kConstant) {
      *stop = of_behind;
    } else {
      spec.path.insert(stop + 1, of_behind);
    }
  }
  if (machine.code) {
    for (sim::OperandStop& stop : machine.code->operand_path) {
      if (stop.cache == "l2") stop.cache = "behind";
    }
  }
  machine.bandwidths["behind"] = draw_bandwidth(draw, machine.info, 12, 20);
}

}  // namespace

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::kQuiet:
      return "quiet";
    case Tier::kMid:
      return "mid";
    case Tier::kHarsh:
      break;
  }
  return "harsh";
}

Tier tier_of(std::uint64_t seed) {
  constexpr std::uint64_t kTiers = 3;
  return static_cast<Tier>(seed % kTiers);
}

sim::MachineSpec wide_machine(std::uint64_t seed) {
  constexpr std::uint64_t kOwnSeeds = 0x9e3779b97f4a7c15;  // different from those of random_machine
  Draw draw(seed ^ kOwnSeeds);
  sim::MachineSpec machine = draw.chance(0.7) ? draw_nvidia(draw, seed) : draw_amd(draw, seed);
  draw_stores(draw, machine);
  draw_noise(draw, tier_of(seed), machine.noise);
  const bool copies = draw.chance(0.5);
  for (CacheSpec& cache : machine.caches) cache.copies_far_lines = cache.partitions > 1 && copies;
  constexpr std::uint64_t kOwnSeedsOfMemory = 0xd1b54a32d192ed03;
  draw_far_memory(Draw(seed ^ kOwnSeedsOfMemory), machine);
  constexpr std::uint64_t kOwnSeedsOfJumps = 0x94d049bb133111eb;
  if (machine.info.vendor == "NVIDIA") draw_jumps(Draw(seed ^ kOwnSeedsOfJumps), machine);
  constexpr std::uint64_t kOwnSeedsOfOperands = 0xbf58476d1ce4e5b9;
  if (machine.info.vendor == "NVIDIA") draw_operands(Draw(seed ^ kOwnSeedsOfOperands), machine);
  return machine;
}

sim::MachineSpec extended_machine(std::uint64_t seed) {
  sim::MachineSpec machine = wide_machine(seed);
  constexpr std::uint64_t kOwnSeedsOfChanges = 0xd6e8feb86659fd93;
  Draw draw(seed ^ kOwnSeedsOfChanges);
  const bool is_amd = machine.info.vendor == "AMD";
  const bool has_parts = machine.spaces.at(Space::kGlobalBypassL1).path.front().far_latency_cycles > 0;
  if (draw.chance(0.3)) take_a_tiny_first_cache(draw, machine);
  if (is_amd && draw.chance(0.6)) fetch_more_into_l3(draw, machine);
  if (!is_amd && draw.chance(0.4)) put_a_cache_before_l2(draw, machine);
  if (!has_parts && draw.chance(0.3)) bring_memory_close(draw, machine);
  return machine;
}

}  // namespace gputopo::truth
