#include "support/fleet_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::test {
namespace {

constexpr std::size_t kParts = 6;
constexpr std::int64_t kFirstNight = 1790000000;
constexpr std::int64_t kDay = 86400;

bool touches(FleetFault fault, bool is_memory, bool is_rate, const std::string& path) {
  switch (fault) {
    case FleetFault::kSlowMemory:
      return is_memory;
    case FleetFault::kThrottled:
      return is_rate && !is_memory;
    case FleetFault::kOneValue:
      return path == "l2.latency";
    case FleetFault::kFewerSlices:
      return path == "l2.read_bandwidth" || path == "l2.write_bandwidth";
    case FleetFault::kHalfLink:
    case FleetFault::kDriftingClock:
      break;
  }
  return false;
}

}  // namespace

FleetModel::FleetModel(const FleetShape& shape, std::uint64_t seed) : shape_(shape), random_(seed) {
  const auto add_cache = [&](const std::string& element, std::size_t part, double cycles) {
    add(element + ".latency", "cycles", cycles, part);
    add(element + ".read_bandwidth", "B/s", 1e13 / cycles, part);
    add(element + ".miss_penalty", "cycles", 2 * cycles, part);
  };
  for (const char* name : {"latency", "loaded_latency"}) add(fmt::format("memory.device.{}", name), "cycles", 700, 0);
  for (const char* name : {"read_bandwidth", "write_bandwidth", "sm_read_bandwidth"}) {
    add(fmt::format("memory.device.{}", name), "B/s", 4.7e12, 0);
  }
  add_cache("l2", 1, 280);
  for (const char* name : {"write_bandwidth", "sm_read_bandwidth"}) add(fmt::format("l2.{}", name), "B/s", 5e12, 1);
  add("l2.loaded_latency", "cycles", 600, 1);
  for (const char* name : {"l1", "texture", "readonly", "constant_l1", "constant_l15"}) add_cache(name, 2, 30);
  for (const char* name : {"latency", "store_latency", "conflict_cost"}) {
    add(fmt::format("shared.{}", name), "cycles", 23, 2);
  }
  add("shared.read_bandwidth", "B/s", 3e13, 2);
  for (const char* name : {"tlb_l1", "tlb_l2", "tlb_l3"}) add(fmt::format("{}.miss_penalty", name), "cycles", 300, 3);
  for (const char* name : {"icache_l1", "icache_l2"})
    add(fmt::format("{}.cycles_per_instruction", name), "cycles", 2, 4);
  for (const char* name : {"f16", "f32", "f64", "s32", "matrix_f16", "matrix_bf16", "matrix_tf32", "matrix_fp8"}) {
    add(fmt::format("peaks.{}", name), "FLOP/s", 1e14, 5);
  }
  for (const char* name : {"fma.f32", "fma.f64", "add.f32", "mul.f32", "add.s32", "mul.s32"}) {
    add(fmt::format("instructions.{}.latency", name), "cycles", 4, 5);
    add(fmt::format("instructions.{}.throughput", name), "ops/clk", 64, 5);
  }
}

void FleetModel::add(const std::string& path, const std::string& unit, double centre, std::size_t part) {
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random_); };
  ValueModel value{.path = path, .unit = unit, .centre = centre, .part = part};
  value.spread = std::exp(uniform(std::log(0.003), std::log(0.05)));
  if (shape_.spread > 0) value.spread = shape_.spread;
  value.noise = value.spread * uniform(0.05, 0.3);
  value.of_chip = uniform(0, 0.5);
  value.of_part = uniform(0, 0.6);
  const double kind = uniform(0, 1);
  value.population = kind < 0.6    ? Population::kNormal
                     : kind < 0.75 ? Population::kHeavy
                     : kind < 0.9  ? Population::kSkewed
                                   : Population::kBins;
  if (shape_.population) value.population = *shape_.population;
  value.freedom = uniform(4, 12);
  value.bin_share = uniform(0.25, 0.5);
  value.sign = unit == "cycles" ? 1 : -1;
  value.is_memory = part == 0;
  value.is_rate = unit == "B/s" || unit == "FLOP/s";
  values_.push_back(value);
}

// Mean about 0, standard deviation about 1.
double FleetModel::own_part(const ValueModel& value) {
  switch (value.population) {
    case Population::kHeavy:
      return std::student_t_distribution(value.freedom)(random_) / std::sqrt(value.freedom / (value.freedom - 2));
    case Population::kSkewed: {
      constexpr double kSkew = 0.25;
      return (std::exp(kSkew * normal_(random_)) - 1) / kSkew;
    }
    case Population::kBins: {
      const double bin = std::bernoulli_distribution(value.bin_share)(random_) ? 1 : 0;
      constexpr double kApart = 1.8;
      return kApart * (bin - value.bin_share) + 0.4 * normal_(random_);
    }
    case Population::kNormal:
      break;
  }
  return normal_(random_);
}

std::string FleetModel::gpu_id(std::size_t gpu) const { return fmt::format("gpu{:05}", gpu); }

FleetModel::Chip FleetModel::draw_chip() {
  const double of_chip = normal_(random_);
  std::vector<double> of_part(kParts);
  for (double& part : of_part) part = normal_(random_);
  Chip chip;
  for (const ValueModel& value : values_) {
    const double own = std::sqrt(std::max(1 - value.of_chip * value.of_chip - value.of_part * value.of_part, 0.1));
    double off = value.of_chip * of_chip + value.of_part * of_part[value.part] + own * own_part(value);
    chip.push_back(value.spread * value.sign * off);
  }
  return chip;
}

fleet::Run FleetModel::draw_run(const Chip& chip, std::size_t gpu, std::size_t run,
                                const std::vector<PlantedFault>& faults) {
  const auto has = [&](FleetFault fault) {
    return std::ranges::find_if(faults, [&](const PlantedFault& one) { return one.gpu == gpu && one.fault == fault; });
  };
  fleet::Run result;
  result.gpu = gpu_id(gpu);
  result.host = fmt::format("host{:04}", gpu / 8);
  result.model = fmt::format("Model {}", gpu % shape_.models);
  result.driver = "1.0";
  result.simulated = true;
  result.timestamp = kFirstNight + static_cast<std::int64_t>(run) * kDay + static_cast<std::int64_t>(gpu);
  const auto fewer = has(FleetFault::kFewerSlices);
  const double l2_bytes = fewer == faults.end() ? 60 << 20 : 55 << 20;
  result.readings.push_back({.path = "compute.sm_count", .value = 132, .source = "api"});
  result.readings.push_back({.path = "l2.size", .value = l2_bytes, .unit = "B", .source = "api"});
  const auto drifting = has(FleetFault::kDriftingClock);
  const bool drifts = drifting != faults.end() && run + 1 == shape_.runs;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueModel& value = values_[i];
    double off = chip[i] + value.noise * normal_(random_);
    for (const PlantedFault& fault : faults) {
      if (fault.gpu != gpu || (fault.is_new && run + 1 < shape_.runs)) continue;
      if (!touches(fault.fault, value.is_memory, value.is_rate, value.path)) continue;
      off += value.spread * value.sign * fault.deviations;
      off -= value.sign * std::log1p(-fault.fraction);
    }
    if (drifts && value.is_rate) off += value.sign * value.noise * drifting->deviations;
    const double number = value.centre * std::exp(off);
    result.readings.push_back({.path = value.path,
                               .value = number,
                               .low = number * (1 - 2 * value.noise),
                               .high = number * (1 + 2 * value.noise),
                               .unit = value.unit,
                               .source = "measured"});
  }
  if (shape_.has_links) {
    const std::string link = fmt::format("link.gpu{}-gpu{}", gpu % 8, (gpu + 1) % 8);
    const double half = has(FleetFault::kHalfLink) == faults.end() ? 1 : 0.5;
    result.readings.push_back({.path = link + ".kind", .source = "api", .text = "nvlink"});
    result.readings.push_back({.path = link + ".copy_bandwidth",
                               .value = 3.9e11 * half * std::exp(0.01 * normal_(random_)),
                               .unit = "B/s",
                               .source = "measured"});
  }
  return result;
}

fleet::Store FleetModel::draw(const std::vector<PlantedFault>& faults) {
  fleet::Store store;
  draw_runs(faults, [&](const fleet::Run& run) { store.add(run); });
  return store;
}

}  // namespace gputopo::test
