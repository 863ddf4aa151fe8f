#include "device/cuda/cuda_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/nvml_api.h"
#include "device/driver/info_check.h"
#include "device/driver/sysfs.h"
#include "device/node/host_numa.h"
#include "file/digest.h"
#include "file/limits.h"

namespace gputopo::cuda {
namespace {

bool is_told(const Driver& driver, PeerAttribute attribute, DeviceHandle from, DeviceHandle to, bool& answer) {
  int value = 0;
  if (driver.device_get_p2p_attribute == nullptr) return false;
  if (driver.device_get_p2p_attribute(&value, attribute, from, to) != kSuccess) return false;
  answer = value != 0;
  return true;
}

PeerLink read_peer(const Driver& driver, const std::vector<NodeGpu>& gpus, const std::vector<DeviceHandle>& handles,
                   const NvLinks& nvlinks, std::uint32_t from, std::uint32_t to) {
  PeerLink peer{.from = from, .to = to};
  int reaches = 0;
  peer.is_reachable = driver.device_can_access_peer != nullptr &&
                      driver.device_can_access_peer(&reaches, handles[to], handles[from]) == kSuccess && reaches != 0;
  bool has_atomics = false;
  if (is_told(driver, PeerAttribute::kNativeAtomicSupported, handles[to], handles[from], has_atomics)) {
    peer.has_atomics = has_atomics;
  }
  const auto straight = std::ranges::count(nvlinks.links, gpus[to].pci_address, &NvLink::remote_pci_address);
  const auto by_switch = std::ranges::count(nvlinks.links, true, &NvLink::leads_to_switch);
  const auto leads_to_known_gpu = [&](const NvLink& link) {
    return std::ranges::count(gpus, link.remote_pci_address, &NodeGpu::pci_address) > 0;
  };
  if (straight > 0) {
    peer.kind = "nvlink";
    peer.lanes = static_cast<std::uint32_t>(straight);
  } else if (by_switch > 0 && peer.is_reachable) {
    peer.kind = "nvswitch";
    peer.lanes = static_cast<std::uint32_t>(by_switch);
  } else if (nvlinks.is_told && std::ranges::all_of(nvlinks.links, leads_to_known_gpu)) {
    peer.kind = "pcie";
  }
  if (peer.lanes) peer.lane_bytes_per_second = nvlinks.bytes_per_second;
  return peer;
}

std::optional<std::uint32_t> numa_id_of(const Driver& driver, DeviceHandle handle, DeviceAttribute attribute) {
  int id = -1;
  const bool is_told = driver.device_get_attribute(&id, attribute, handle) == kSuccess && id >= 0;
  return is_told ? std::optional(static_cast<std::uint32_t>(id)) : std::nullopt;
}

// The NUMA node of a GPU's own memory, if the system shows that as a node without CPUs (GH200). It is not host memory.
std::optional<std::uint32_t> numa_id_of_own_memory(const Driver& driver, DeviceHandle handle) {
  constexpr std::uint32_t kIsNumaNode = 1;  // CU_DEVICE_NUMA_CONFIG_NUMA_NODE
  if (numa_id_of(driver, handle, DeviceAttribute::kNumaConfig) != kIsNumaNode) return std::nullopt;
  return numa_id_of(driver, handle, DeviceAttribute::kNumaId);
}

std::vector<NumaNode> host_numa_nodes(const Driver& driver, const std::vector<DeviceHandle>& handles) {
  const std::vector<NumaNode> all = node::read_numa_nodes(sysfs_root());
  std::vector<NumaNode> of_host = all;
  for (const DeviceHandle handle : handles) {
    const std::optional<std::uint32_t> own = numa_id_of_own_memory(driver, handle);
    std::erase_if(of_host, [&](const NumaNode& one) { return one.id == own; });
  }
  return of_host.empty() ? all : of_host;
}

}  // namespace

NodeInfo read_cuda_node(const Driver& driver) {
  NodeInfo info{.backend = "cuda"};
  int count = 0;
  driver.check(driver.device_get_count(&count), "cuDeviceGetCount");
  check_device_count(count, "cuDeviceGetCount");
  count = std::min<int>(count, limits::kMaxNodeGpus);
  std::vector<DeviceHandle> handles(static_cast<std::size_t>(count));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    driver.check(driver.device_get(&handles[static_cast<std::size_t>(ordinal)], ordinal),
                 fmt::format("cuDeviceGet({})", ordinal));
  }
  info.numa_nodes = host_numa_nodes(driver, handles);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const DeviceHandle handle = handles[static_cast<std::size_t>(ordinal)];
    NodeGpu gpu{.spec = fmt::format("cuda:{}", ordinal),
                .name = driver.device_name(handle),
                .pci_address = driver.pci_address(handle)};
    if (const std::string uuid = driver.mig_uuid(handle); !uuid.empty()) gpu.id = digest(uuid);
    node::read_place(sysfs_root(), info.numa_nodes, numa_id_of(driver, handle, DeviceAttribute::kHostNumaId), gpu);
    info.gpus.push_back(std::move(gpu));
  }
  if (count > 0) info.driver_version = read_nvml(info.gpus.front().pci_address).driver_version;
  for (std::uint32_t from = 0; from < info.gpus.size(); ++from) {
    const NvLinks nvlinks = read_nvlinks(info.gpus[from].pci_address);
    if (nvlinks.link_count > 0) {
      info.gpus[from].nvlinks = static_cast<std::uint32_t>(nvlinks.links.size());
      info.gpus[from].nvlinks_max = nvlinks.link_count;
    }
    for (std::uint32_t to = 0; to < info.gpus.size(); ++to) {
      if (to != from) info.peers.push_back(read_peer(driver, info.gpus, handles, nvlinks, from, to));
    }
  }
  return info;
}

}  // namespace gputopo::cuda
