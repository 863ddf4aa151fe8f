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

// Kernel files are vendor-neutral: maps L1 and the scratchpad to the vendor's own element.
ElementId level_of(Vendor vendor, const MemoryAccess& access) {
  ElementId level = access.level;
  if (is_one_of(level, ElementId::kL1, ElementId::kVl1)) level = first_level(vendor);
  if (is_one_of(level, ElementId::kShared, ElementId::kLds)) level = scratchpad(vendor);
  if (has_element(vendor, level)) return level;
  throw FormatError(fmt::format("the kernel's level '{}' does not exist on GPUs of this vendor", to_string(level)));
}

AttributeId bandwidth_attribute(bool is_store) {
  return is_store ? AttributeId::kWriteBandwidth : AttributeId::kReadBandwidth;
}

// Bytes of one transaction: one row of all banks in the scratchpad, or one fetch of the first cache.
double transaction_bytes(Figures& figures, Vendor vendor, ElementId level) {
  if (level == scratchpad(vendor)) {
    return figures.need(path_of(level, AttributeId::kBanks)) * figures.need(path_of(level, AttributeId::kBankWidth));
  }
  return figures.need(path_of(first_level(vendor), AttributeId::kFetchGranularity));
}

// Bytes that one instruction of a warp moves.
double bytes_of(Figures& figures, const Gpu& gpu, const MemoryAccess& access, ElementId level, double lanes) {
  if (!access.transactions) return access.bytes * lanes;
  return *access.transactions * transaction_bytes(figures, gpu.vendor, level);
}

bool is_of_sm(ElementId level) { return info_of(level).scope == Scope::kSm; }

// Bytes per clock that reach one SM when `active_sms` are active. A shared level was measured with all SMs. When fewer
// are active, each gets a larger share, but no more than its own first cache moves.
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

// Latency of a warp's load, which waits for its slowest fetch. In a level that all SMs share, the fetches come from
// near and far, so the mean of single-lane loads would be too short. Scattered lanes use the single latency: their
// transactions wait for one another, which the departure delay models.
double load_latency(Figures& figures, const Gpu& gpu, const MemoryAccess& access, ElementId level, double lanes) {
  const double single = figures.need(path_of(level, AttributeId::kLatency));
  if (is_of_sm(level) || access.transactions) return single;
  const auto fetch = figures.known(path_of(first_level(gpu.vendor), AttributeId::kFetchGranularity));
  if (fetch && bytes_of(figures, gpu, access, level, lanes) <= *fetch) return single;
  const auto warps = figures.known_detail(path_of(level, AttributeId::kLoadedLatency), "unloaded_cycles");
  return std::max(single, warps.value_or(single));
}

// Path from the first cache to the serving level; only that level if it lies on another path.
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
  double seconds = 0;  // time of the whole GPU for these bytes
};

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Name of the peak that this operation counts toward. Empty for non-arithmetic operations and for types without a peak.
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
  // Caps the numbers of a damaged report; no GPU exceeds the cap.
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
    sm.register_unit = whole(figures.need("registers.register_allocation_unit"));
    sm.schedulers = whole(figures.need("registers.schedulers"));
  }
  if (kernel.shared_bytes_per_block > 0) {
    sm.shared_bytes = need(AttributeId::kSharedMemoryPerSm);
    sm.shared_reserved_bytes =
        whole(figures.known(compute_path(AttributeId::kSharedMemoryReservedPerBlock)).value_or(0));
    sm.shared_unit = whole(figures.need("registers.shared_allocation_unit"));
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
  // Loads and stores occupy issue slots, too (Hong and Kim, equation 19).
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
    // A warp does not wait for its stores to finish, only for room to put them.
    periods.latency_cycles =
        access.is_store ? periods.departure_cycles : load_latency(figures, gpu, access, level, placement.lanes);
    periods.level = to_string(level);
    memory.push_back(periods);
  }
  return memory;
}

std::vector<LevelTraffic> traffic_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                     const Placement& placement) {
  std::map<ElementId, Passing> passing;  // keys keep the catalogue's order: nearest first
  for (const MemoryAccess& access : kernel.memory) {
    if (access.count <= 0) continue;
    const ElementId level = level_of(gpu.vendor, access);
    const double bytes = access.count * bytes_of(figures, gpu, access, level, placement.lanes);
    for (const ElementId at : way_to(gpu.vendor, level, access.is_store)) {
      const std::string path = path_of(at, bandwidth_attribute(access.is_store));
      const std::optional<double> bandwidth = at == level ? figures.need(path) : figures.known(path);
      if (!bandwidth) continue;  // the report knows nothing about this level on the path
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
    // If the vendor has no measured peaks, the kernel's own operations set the peak.
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
