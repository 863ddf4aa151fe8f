#include "device/hip/hip_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/hip/kfd_topology.h"
#include "device/hip/runtime_api.h"
#include "device/info_check.h"
#include "device/node/host_numa.h"
#include "device/sysfs.h"
#include "file/digest.h"
#include "file/limits.h"

namespace gputopo::hip {
namespace {

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
    node::read_place(sysfs_root(), info.numa_nodes, gpu);
    info.gpus.push_back(std::move(gpu));
  }
  for (std::uint32_t from = 0; from < info.gpus.size(); ++from) {
    for (std::uint32_t to = 0; to < info.gpus.size(); ++to) {
      if (from == to) continue;
      info.peers.push_back(
          {.from = from,
           .to = to,
           .kind = read_link_kind(sysfs_root(), info.gpus[from].pci_address, info.gpus[to].pci_address)});
    }
  }
  return info;
}

class HipLinks : public Links {
 public:
  explicit HipLinks(NodeInfo info) : info_(std::move(info)) {}
  [[nodiscard]] const NodeInfo& info() const override { return info_; }
  [[nodiscard]] TransferResult run(const TransferProgram& program) override {
    validate(program);
    throw NotSupportedError("links of AMD GPUs are not measured yet");
  }

 private:
  NodeInfo info_;
};

}  // namespace

std::unique_ptr<Links> open_hip_links() { return std::make_unique<HipLinks>(read_hip_node(*Runtime::load())); }

}  // namespace gputopo::hip
