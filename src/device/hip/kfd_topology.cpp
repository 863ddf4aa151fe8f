#include "device/hip/kfd_topology.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "device/driver/sysfs.h"
#include "file/folder_entries.h"

namespace gputopo::hip {
namespace {

namespace fs = std::filesystem;

using Properties = std::map<std::string, std::uint64_t>;

// Reads lines of a name and a number.
Properties read_properties(const fs::path& path) {
  Properties properties;
  std::ifstream file(path);
  std::string name;
  std::string value;
  while (file >> name >> value) properties[name] = std::strtoull(value.c_str(), nullptr, 10);
  return properties;
}

std::uint64_t number(const Properties& properties, const std::string& name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

struct PciPlace {
  std::uint64_t domain = 0;
  std::uint64_t location = 0;  // bus, device and function as KFD packs them
  friend bool operator==(const PciPlace&, const PciPlace&) = default;
};

std::optional<PciPlace> parse_pci(const std::string& address) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (std::sscanf(address.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return std::nullopt;
  return PciPlace{domain, std::uint64_t{bus} << 8 | device << 3 | function};
}

// Empty for a CPU.
std::optional<PciPlace> place_of_gpu(const Properties& properties) {
  if (number(properties, "gfx_target_version") == 0) return std::nullopt;
  return PciPlace{number(properties, "domain"), number(properties, "location_id")};
}

// The partitions of a GPU differ only by their PCI function.
std::uint32_t devices_beside(const fs::path& nodes, const PciPlace& place) {
  constexpr std::uint64_t kFunctions = 8;
  std::uint32_t count = 0;
  for (const fs::path& path : folder_entries(nodes)) {
    const std::optional<PciPlace> other = place_of_gpu(read_properties(path / "properties"));
    if (!other || other->domain != place.domain) continue;
    if (other->location / kFunctions == place.location / kFunctions) ++count;
  }
  return count;
}

std::vector<KfdCache> read_caches(const fs::path& folder) {
  constexpr std::uint64_t kDataType = 1;
  std::vector<KfdCache> caches;
  for (const fs::path& path : folder_entries(folder)) {
    const Properties properties = read_properties(path / "properties");
    if (properties.empty()) continue;
    caches.push_back({.level = static_cast<std::uint32_t>(number(properties, "level")),
                      .data = (number(properties, "type") & kDataType) != 0,
                      .size_bytes = number(properties, "size") * 1024,
                      .line_bytes = number(properties, "cache_line_size")});
  }
  return caches;
}

std::optional<fs::path> folder_of(const fs::path& nodes, const std::string& pci_address) {
  const std::optional<PciPlace> place = parse_pci(pci_address);
  if (!place) return std::nullopt;
  for (const fs::path& path : folder_entries(nodes)) {
    if (place_of_gpu(read_properties(path / "properties")) == place) return path;
  }
  return std::nullopt;
}

std::optional<Properties> link_between(const fs::path& from, const fs::path& to) {
  for (const char* links : {"io_links", "p2p_links"}) {
    for (const fs::path& link : folder_entries(from / links)) {
      Properties properties = read_properties(link / "properties");
      if (std::to_string(number(properties, "node_to")) == to.filename().string()) return properties;
    }
  }
  return std::nullopt;
}

// The smallest bandwidth is that of one link, the largest that of all links of the pair, in MB/s and in one direction
// (amdgpu_amdkfd_get_xgmi_bandwidth_mbytes). Both are 0 if the driver does not know them.
void read_bandwidth(const Properties& properties, KfdLink& link) {
  constexpr double kBytesPerMb = 1e6;
  constexpr std::uint64_t kMostLanes = 64;
  constexpr std::uint64_t kMostMb = 10'000'000;  // a hundred times the fastest link
  const std::uint64_t most = number(properties, "max_bandwidth");
  const std::uint64_t least = std::min(number(properties, "min_bandwidth"), most);
  const std::uint64_t lane = least > 0 ? least : most;
  if (lane == 0 || most / lane > kMostLanes || most > kMostMb) return;
  link.lanes = static_cast<std::uint32_t>(most / lane);
  link.lane_bytes_per_second = static_cast<double>(lane) * kBytesPerMb;
}

}  // namespace

std::optional<std::uint64_t> KfdNode::cache_bytes(std::uint32_t level) const {
  for (const KfdCache& cache : caches) {
    if (cache.level == level && cache.data && cache.size_bytes > 0) return cache.size_bytes;
  }
  return std::nullopt;
}

std::string gfx_name_of(std::uint32_t version) {
  return fmt::format("gfx{}{}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::optional<KfdNode> read_kfd_node(const std::string& root, const std::string& pci_address) {
  const fs::path nodes = fs::path(root) / "class/kfd/kfd/topology/nodes";
  const std::optional<fs::path> folder = folder_of(nodes, pci_address);
  if (!folder) return std::nullopt;
  const fs::path& path = *folder;
  const Properties properties = read_properties(path / "properties");
  const auto at = [&](const char* name) { return static_cast<std::uint32_t>(number(properties, name)); };
  const Properties memory = read_properties(path / "mem_banks/0/properties");
  return KfdNode{.gfx_name = gfx_name_of(at("gfx_target_version")),
                 .gpu_id = read_number(path / "gpu_id").value_or(0),
                 .simd_count = at("simd_count"),
                 .simds_per_cu = at("simd_per_cu"),
                 .waves_per_simd = at("max_waves_per_simd"),
                 .xcc_count = std::max(1u, at("num_xcc")),
                 .partitions = devices_beside(nodes, *place_of_gpu(properties)),
                 .cus_physical = at("array_count") * at("cu_per_simd_array"),
                 .clock_max_mhz = at("max_engine_clk_fcompute"),
                 .memory_clock_max_mhz = static_cast<std::uint32_t>(number(memory, "mem_clk_max")),
                 .memory_bus_bits = static_cast<std::uint32_t>(number(memory, "width")),
                 .gds_bytes = number(properties, "gds_size_in_kb") * 1024,
                 .caches = read_caches(path / "caches")};
}

KfdNode require_kfd_node(const std::string& root, const std::string& pci_address) {
  if (const std::optional<KfdNode> node = read_kfd_node(root, pci_address)) return *node;
  throw DeviceError(fmt::format(
      "the kernel driver's topology ({}/class/kfd/kfd/topology) does not list the GPU at {}: mount /sys in the "
      "container, or load the amdgpu module",
      root, pci_address.empty() ? "an unknown PCI address" : pci_address));
}

KfdLink read_kfd_link(const std::string& root, const std::string& from_pci_address, const std::string& to_pci_address) {
  constexpr std::uint64_t kPcie = 2;  // CRAT_IOLINK_TYPE_PCIEXPRESS, _XGMI
  constexpr std::uint64_t kXgmi = 11;
  const fs::path nodes = fs::path(root) / "class/kfd/kfd/topology/nodes";
  const std::optional<fs::path> from = folder_of(nodes, from_pci_address);
  const std::optional<fs::path> to = folder_of(nodes, to_pci_address);
  if (!from || !to) return {};
  std::optional<Properties> properties = link_between(*from, *to);
  if (!properties) properties = link_between(*to, *from);
  // KFD lists all xGMI links, and those over PCIe only if it allows peer access.
  if (!properties) return {.kind = "pcie"};
  const std::uint64_t type = number(*properties, "type");
  KfdLink link{.kind = type == kXgmi ? "xgmi" : type == kPcie ? "pcie" : ""};
  if (type == kXgmi) read_bandwidth(*properties, link);
  return link;
}

std::optional<std::string> read_amdgpu_version(const std::string& root) {
  return read_line(fs::path(root) / "module/amdgpu/version");
}

std::optional<double> read_power_limit_watts(const std::string& root, const std::string& pci_address) {
  for (const fs::path& monitor : folder_entries(pci_folder(root, pci_address) / "hwmon")) {
    const auto microwatts = read_number(monitor / "power1_cap");
    if (microwatts && *microwatts > 0) return static_cast<double>(*microwatts) / 1e6;
  }
  return std::nullopt;
}

DeviceHealth read_health(const std::string& root, const std::string& pci_address) {
  DeviceHealth health;
  const fs::path device = pci_folder(root, pci_address);
  for (const fs::path& monitor : folder_entries(device / "hwmon")) {
    const auto microwatts = read_number(monitor / "power1_cap_default");
    if (microwatts && *microwatts > 0) health.power_limit_default_watts = static_cast<double>(*microwatts) / 1e6;
  }
  health.pcie_replays = read_number(device / "pcie_replay_count");
  constexpr std::string_view kErrors = "_err_count";
  for (const fs::path& file : folder_entries(device / "ras")) {
    if (!file.filename().string().ends_with(kErrors)) continue;
    const Properties counts = read_properties(file);  // "ue: 0", "ce: 0"
    if (!counts.contains("ue:") || !counts.contains("ce:")) continue;
    health.ecc_uncorrected = health.ecc_uncorrected.value_or(0) + number(counts, "ue:");
    health.ecc_corrected = health.ecc_corrected.value_or(0) + number(counts, "ce:");
  }
  return health;
}

std::uint32_t other_processes(const std::string& root, std::uint64_t gpu_id) {
  // More than the runtime takes on a GPU that is open but unused.
  constexpr std::uint64_t kUsingBytes = 64ull << 20;
  std::uint32_t count = 0;
  for (const fs::path& process : folder_entries(fs::path(root) / "class/kfd/kfd/proc")) {
    if (process.filename() == std::to_string(getpid())) continue;
    if (read_number(process / fmt::format("vram_{}", gpu_id)).value_or(0) > kUsingBytes) ++count;
  }
  return count;
}

std::string throttle_reason(const std::string& root, const std::string& pci_address) {
  // The driver reports and limits the mean power.
  constexpr double kAtLimit = 0.95;
  const fs::path device = pci_folder(root, pci_address);
  for (const fs::path& monitor : folder_entries(device / "hwmon")) {
    // Newer drivers call it the input and report no mean.
    auto power = read_number(monitor / "power1_average");
    if (!power) power = read_number(monitor / "power1_input");
    const auto limit = read_number(monitor / "power1_cap");
    if (power && limit && *limit > 0 && static_cast<double>(*power) >= kAtLimit * static_cast<double>(*limit))
      return "its power limit";
  }
  const std::string level = read_line(device / "power_dpm_force_performance_level").value_or("auto");
  return level == "auto" || level == "high" ? "" : "power_dpm_force_performance_level=" + level;
}

}  // namespace gputopo::hip
