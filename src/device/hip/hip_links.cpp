#include "device/hip/hip_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/driver/info_check.h"
#include "device/driver/sysfs.h"
#include "device/hip/kfd_topology.h"
#include "device/hip/link_gpu.h"
#include "device/hip/runtime_api.h"
#include "device/node/host_numa.h"
#include "device/node/link_runner.h"
#include "file/digest.h"
#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

PeerLink read_peer(const Runtime& runtime, const std::vector<NodeGpu>& gpus, std::uint32_t from, std::uint32_t to) {
  const KfdLink link = read_kfd_link(sysfs_root(), gpus[from].pci_address, gpus[to].pci_address);
  PeerLink peer{.from = from,
                .to = to,
                .kind = link.kind,
                .lanes = link.lanes,
                .lane_bytes_per_second = link.lane_bytes_per_second};
  const int asking = static_cast<int>(to);
  const int asked = static_cast<int>(from);
  int answer = 0;
  peer.is_reachable = runtime.device_can_access_peer != nullptr &&
                      runtime.device_can_access_peer(&answer, asking, asked) == kSuccess && answer != 0;
  if (runtime.device_get_p2p_attribute != nullptr &&
      runtime.device_get_p2p_attribute(&answer, PeerAttribute::kNativeAtomicSupported, asking, asked) == kSuccess) {
    peer.has_atomics = answer != 0;
  }
  return peer;
}

NodeInfo read_hip_node(const Runtime& runtime) {
  NodeInfo info{.backend = "hip"};
  int count = 0;
  runtime.check(runtime.get_device_count(&count), "hipGetDeviceCount");
  check_device_count(count, "hipGetDeviceCount");
  count = std::min<int>(count, limits::kMaxNodeGpus);
  info.driver_version = read_amdgpu_version(sysfs_root()).value_or("");
  info.numa_nodes = node::read_numa_nodes(sysfs_root());
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    NodeGpu gpu{.spec = fmt::format("hip:{}", ordinal),
                .name = runtime.device_name(ordinal),
                .pci_address = runtime.pci_address(ordinal)};
    const auto serial = read_pci_attribute(sysfs_root(), gpu.pci_address, "unique_id");
    if (serial) gpu.id = digest(*serial);
    node::read_place(sysfs_root(), info.numa_nodes, std::nullopt, gpu);
    info.gpus.push_back(std::move(gpu));
  }
  for (std::uint32_t from = 0; from < info.gpus.size(); ++from) {
    for (std::uint32_t to = 0; to < info.gpus.size(); ++to) {
      if (from == to) continue;
      info.peers.push_back(read_peer(runtime, info.gpus, from, to));
    }
  }
  return info;
}

class HipLinkDriver : public node::LinkDriver {
 public:
  explicit HipLinkDriver(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}

  void require_functions() const override {
    const bool has_all = runtime_->stream_create != nullptr && runtime_->stream_destroy != nullptr &&
                         runtime_->event_create != nullptr && runtime_->event_record != nullptr &&
                         runtime_->event_elapsed_time != nullptr && runtime_->event_destroy != nullptr &&
                         runtime_->memcpy_htod_async != nullptr && runtime_->memcpy_dtoh_async != nullptr &&
                         runtime_->memcpy_peer_async != nullptr && runtime_->device_enable_peer_access != nullptr &&
                         runtime_->host_register != nullptr && runtime_->host_unregister != nullptr &&
                         runtime_->host_get_device_pointer != nullptr;
    if (!has_all) throw NotSupportedError("this HIP runtime is too old to measure links; install ROCm 5 or later");
  }

  std::unique_ptr<node::LinkGpu> open(std::size_t ordinal) override {
    return std::make_unique<HipLinkGpu>(runtime_, static_cast<int>(ordinal));
  }

  void reach(node::LinkGpu&, const node::LinkGpu& other) override {
    const Status status = runtime_->device_enable_peer_access(static_cast<const HipLinkGpu&>(other).ordinal(), 0);
    if (status != kErrorPeerAccessAlreadyEnabled) runtime_->check(status, "hipDeviceEnablePeerAccess");
  }

  std::unique_ptr<node::LinkGate> open_gate() override {
    auto gate = std::make_unique<SignalGate>(runtime_);
    if (gate->word() == nullptr) return nullptr;
    return gate;
  }

  node::LinkAddress lock(std::byte* memory, std::uint64_t bytes) override {
    constexpr unsigned kForAllGpus = 1 | 2;  // hipHostRegisterPortable, hipHostRegisterMapped
    runtime_->check(runtime_->host_register(memory, bytes, kForAllGpus), fmt::format("hipHostRegister({})", bytes));
    try {
      Pointer address = nullptr;
      runtime_->check(runtime_->host_get_device_pointer(&address, memory, 0), "hipHostGetDevicePointer");
      require_result(address, "hipHostGetDevicePointer");
      return reinterpret_cast<node::LinkAddress>(address);
    } catch (...) {
      unlock(memory);
      throw;
    }
  }
  void unlock(std::byte* memory) noexcept override {
    if (!has_faulted()) static_cast<void>(runtime_->host_unregister(memory));
  }

 private:
  std::shared_ptr<const Runtime> runtime_;
};

}  // namespace

std::unique_ptr<Links> open_hip_links() {
  const std::shared_ptr<const Runtime> runtime = Runtime::load();
  return node::run_links(std::make_unique<HipLinkDriver>(runtime), read_hip_node(*runtime));
}

}  // namespace gputopo::hip
