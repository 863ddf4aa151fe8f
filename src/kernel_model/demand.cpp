#include "kernel_model/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo::kernel_model {
namespace {

std::string path_of(ElementId element, AttributeId attribute) {
  return fmt::format("{}.{}", to_string(element), to_string(attribute));
}

std::string compute_path(AttributeId attribute) { return fmt::format("compute.{}", to_string(attribute)); }

bool is_one_of(ElementId element, ElementId nvidia, ElementId amd) { return element == nvidia || element == amd; }

ElementId first_level(Vendor vendor) { return vendor == Vendor::kAmd ? ElementId::kVl1 : ElementId::kL1; }
ElementId scratchpad(Vendor vendor) { return vendor == Vendor::kAmd ? ElementId::kLds : ElementId::kShared; }

// The vendor's element: kernels are written for no vendor.
ElementId level_of(Vendor vendor, const MemoryAccess& access) {
  ElementId level = access.level;
  if (is_one_of(level, ElementId::kL1, ElementId::kVl1)) level = first_level(vendor);
  if (is_one_of(level, ElementId::kShared, ElementId::kLds)) level = scratchpad(vendor);
  if (has_element(vendor, level)) return level;
  throw FormatError(fmt::format("the kernel's level '{}' is no memory of this vendor's GPUs", to_string(level)));
}

AttributeId bandwidth_attribute(bool is_store) {
  return is_store ? AttributeId::kWriteBandwidth : AttributeId::kReadBandwidth;
}

// Of a transaction: what a bank conflict's turn moves, or a fetch of the first cache.
double transaction_bytes(Figures& figures, Vendor vendor, ElementId level) {
  if (level == scratchpad(vendor)) {
    return figures.need(path_of(level, AttributeId::kBanks)) * figures.need(path_of(level, AttributeId::kBankWidth));
  }
  return figures.need(path_of(first_level(vendor), AttributeId::kFetchGranularity));
}

// Of a warp, by one instruction.
double bytes_of(Figures& figures, const Gpu& gpu, const MemoryAccess& access, ElementId level, double lanes) {
  if (!access.transactions) return access.bytes * lanes;
  return *access.transactions * transaction_bytes(figures, gpu.vendor, level);
}

bool is_of_sm(ElementId level) { return info_of(level).scope == Scope::kSm; }

// Bytes per clock that reach one SM of `active_sms`. What all SMs share was measured with all of them; fewer have more
// of it each, but no more than the SM's own first cache takes.
double bytes_per_clock(Figures& figures, const Gpu& gpu, const MemoryAccess& access, ElementId level,
                       double active_sms) {
  const std::string loaded = path_of(level, AttributeId::kLoadedLatency);
  const bool is_loaded = !access.is_store && access.transactions &&
                         coverage_of(gpu.vendor, level, AttributeId::kLoadedLatency) != Coverage::kNotApplicable;
  const double rate =
      is_loaded ? figures.need_detail(loaded, "peak_bytes_per_cycle")
                : figures.need(path_of(level, bandwidth_attribute(access.is_store))) / (gpu.sms * gpu.clock_hz);
  if (is_of_sm(level) || active_sms >= gpu.sms) return rate;
  const double shared_out = rate * gpu.sms / active_sms;
  const auto first = figures.known(path_of(first_level(gpu.vendor), AttributeId::kReadBandwidth));
  return first ? std::min(shared_out, std::max(rate, *first / (gpu.sms * gpu.clock_hz))) : shared_out;
}

// Of a warp's load, which waits for the slowest of its fetches. Of what all SMs share these come from near and far: the
// mean of single lanes' loads would be too short. Those of scattered lanes are transactions, which wait for one
// another.
double load_latency(Figures& figures, const Gpu& gpu, const MemoryAccess& access, ElementId level, double lanes) {
  const double single = figures.need(path_of(level, AttributeId::kLatency));
  if (is_of_sm(level) || access.transactions) return single;
  const auto fetch = figures.known(path_of(first_level(gpu.vendor), AttributeId::kFetchGranularity));
  if (fetch && bytes_of(figures, gpu, access, level, lanes) <= *fetch) return single;
  const auto warps = figures.known_detail(path_of(level, AttributeId::kLoadedLatency), "unloaded_cycles");
  return std::max(single, warps.value_or(single));
}

// From the first cache to the level that serves; the level alone where it lies on another way.
std::vector<ElementId> way_to(Vendor vendor, ElementId level, bool is_store) {
  std::vector<ElementId> way;
  ElementId at = first_level(vendor);
  while (at != level) {
    way.push_back(at);
    const std::optional<ElementId> next = next_of(vendor, at);
    if (!next || *next == at) return {level};
    at = *next;
  }
  way.push_back(level);
  // Stores pass the first cache without waiting for room in it.
  if (is_store && way.size() > 1) way.erase(way.begin());
  return way;
}

struct Passing {
  double bytes = 0;
  double seconds = 0;  // that the whole GPU takes for them
};

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// The peak that an operation has its part in; empty of what is no arithmetic, and of types without one.
std::string peak_of(const OperationInfo& operation) {
  static const std::map<std::string_view, std::string_view> kVector = {
      {"f16", "f16"}, {"f16x2", "f16"}, {"bf16x2", "bf16"}, {"f32", "f32"},
      {"f64", "f64"}, {"s32", "s32"},   {"u32", "s32"}};
  static const std::map<std::string_view, std::string_view> kMatrix = {{"f16", "matrix_f16"},   {"bf16", "matrix_bf16"},
                                                                       {"tf32", "matrix_tf32"}, {"e4m3", "matrix_fp8"},
                                                                       {"s8", "matrix_s8"},     {"f64", "matrix_f64"}};
  if (operation.name.starts_with("dp4a.")) return "u8_dot";
  if (operation.name.starts_with("dp2a.")) return "";
  const std::string_view type = last_part(operation.name);
  if (operation.of == OperationClass::kMatrix) {
    if (operation.name.find(".sp.") != std::string_view::npos) return type == "f16" ? "sparse_matrix_f16" : "";
    const auto found = kMatrix.find(type);
    return found == kMatrix.end() ? "" : std::string(found->second);
  }
  if (operation.of != OperationClass::kArithmetic) return "";
  const auto found = kVector.find(type);
  return found == kVector.end() ? "" : std::string(found->second);
}

}  // namespace

SmLimits sm_limits(Figures& figures, const Kernel& kernel) {
  // A report may say anything; no GPU has more.
  const auto whole = [](double number) {
    return static_cast<std::uint64_t>(std::min(number, static_cast<double>(limits::kMaxDeviceBytes)));
  };
  const auto need = [&](AttributeId attribute) { return whole(figures.need(compute_path(attribute))); };
  SmLimits sm;
  sm.warp_size = need(AttributeId::kWarpSize);
  sm.threads_per_block = need(AttributeId::kMaxThreadsPerBlock);
  const auto warps = figures.known("registers.resident_warps");
  sm.warps = warps ? whole(*warps) : need(AttributeId::kMaxThreadsPerSm) / std::max<std::uint64_t>(sm.warp_size, 1);
  const auto blocks = figures.known("registers.resident_blocks");
  sm.blocks = blocks ? whole(*blocks) : need(AttributeId::kMaxBlocksPerSm);
  if (kernel.registers_per_thread) {
    sm.registers = need(AttributeId::kRegistersPerSm);
    sm.register_unit = whole(figures.need("registers.register_unit"));
    sm.schedulers = whole(figures.need("registers.schedulers"));
  }
  if (kernel.shared_bytes_per_block > 0) {
    sm.shared_bytes = need(AttributeId::kSharedMemoryPerSm);
    sm.shared_reserved_bytes =
        whole(figures.known(compute_path(AttributeId::kSharedMemoryReservedPerBlock)).value_or(0));
    sm.shared_unit = whole(figures.need("registers.shared_unit"));
  }
  return sm;
}

Gpu gpu_of(Figures& figures, const Topology& topology) {
  constexpr double kHzPerMhz = 1e6;
  Gpu gpu;
  gpu.vendor = vendor_of(topology.vendor);
  gpu.sms = figures.need(compute_path(AttributeId::kSmCount));
  gpu.warp_size = figures.need(compute_path(AttributeId::kWarpSize));
  gpu.cores_per_sm = figures.need(compute_path(AttributeId::kCoresPerSm));
  gpu.clock_hz = figures.need("device.sm_clock") * kHzPerMhz;
  return gpu;
}

std::vector<Work> work_of(Figures& figures, const Gpu& gpu, const Kernel& kernel) {
  std::vector<Work> work;
  for (const OperationCount& entry : kernel.operations) {
    const std::string path = fmt::format("{}.{}", kInstructions, to_string(entry.operation));
    const double throughput = figures.need(path + ".throughput");
    work.push_back({entry.count, gpu.warp_size / throughput, figures.need(path + ".latency")});
  }
  // Loads and stores are issued, too (Hong and Kim, equation 19).
  double issued = kernel.other_instructions;
  for (const MemoryAccess& access : kernel.memory) issued += access.count;
  work.push_back({issued, gpu.warp_size / gpu.cores_per_sm, 0});
  return work;
}

std::vector<MemoryPeriods> periods_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                      const Placement& placement) {
  std::vector<MemoryPeriods> memory;
  for (const MemoryAccess& access : kernel.memory) {
    if (access.count <= 0) continue;
    const ElementId level = level_of(gpu.vendor, access);
    const double each = access.transactions.value_or(1);
    const double bytes = bytes_of(figures, gpu, access, level, placement.lanes) / each;
    MemoryPeriods periods;
    periods.count = access.count / access.in_flight;
    periods.transactions = each * access.in_flight;
    periods.departure_cycles = bytes / bytes_per_clock(figures, gpu, access, level, placement.active_sms);
    // No warp waits for its stores, only for room to put them.
    periods.latency_cycles =
        access.is_store ? periods.departure_cycles : load_latency(figures, gpu, access, level, placement.lanes);
    periods.level = to_string(level);
    memory.push_back(periods);
  }
  return memory;
}

std::vector<LevelTraffic> traffic_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                     const Placement& placement) {
  std::map<ElementId, Passing> passing;  // in the order of the catalogue: nearest first
  for (const MemoryAccess& access : kernel.memory) {
    if (access.count <= 0) continue;
    const ElementId level = level_of(gpu.vendor, access);
    const double bytes = access.count * bytes_of(figures, gpu, access, level, placement.lanes);
    for (const ElementId at : way_to(gpu.vendor, level, access.is_store)) {
      const std::string path = path_of(at, bandwidth_attribute(access.is_store));
      const std::optional<double> bandwidth = at == level ? figures.need(path) : figures.known(path);
      if (!bandwidth) continue;  // a level on the way that nothing is known of
      Passing& sum = passing[at];
      sum.bytes += bytes;
      sum.seconds += bytes / *bandwidth;
    }
  }
  std::vector<LevelTraffic> traffic;
  for (const auto& [level, sum] : passing) {
    traffic.push_back({std::string(to_string(level)), sum.bytes, sum.bytes / sum.seconds});
  }
  return traffic;
}

std::vector<Ceiling> peaks_of(Figures& figures, const Gpu& gpu, const Kernel& kernel, const Placement& placement) {
  std::map<std::string, Ceiling> peaks;
  for (const OperationCount& entry : kernel.operations) {
    const OperationInfo& operation = info_of(entry.operation);
    const std::string type = peak_of(operation);
    if (type.empty() || entry.count <= 0) continue;
    Ceiling& peak = peaks[type];
    peak.name = type;
    peak.unit = find_attribute(type)->unit.substr(0, find_attribute(type)->unit.find('/'));
    // Where no peaks are measured, what the kernel's own operations reach.
    const std::string own = fmt::format("{}.{}.throughput", kInstructions, operation.name);
    peak.rate = has_element(gpu.vendor, ElementId::kPeaks)
                    ? figures.need("peaks." + type)
                    : std::max(peak.rate, figures.need_detail(own, "peak_ops_per_second"));
    peak.work += entry.count * operation.arithmetic * placement.lanes * placement.warps;
  }
  std::vector<Ceiling> list;
  for (auto& [type, peak] : peaks) list.push_back(std::move(peak));
  return list;
}

}  // namespace gputopo::kernel_model
