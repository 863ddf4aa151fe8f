#include "device/cuda/cuda_links.h"

#include <fmt/format.h>

#include <utility>

#include "device/cuda/cuda_node.h"
#include "device/cuda/link_gpu.h"
#include "device/node/link_runner.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

constexpr Status kPeersAlready = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

class CudaLinkDriver : public node::LinkDriver {
 public:
  explicit CudaLinkDriver(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}

  void require_functions() const override {
    const bool has_all = driver_->memcpy_htod_async != nullptr && driver_->memcpy_peer_async != nullptr &&
                         driver_->ctx_enable_peer_access != nullptr && driver_->stream_create != nullptr &&
                         driver_->stream_synchronize != nullptr && driver_->stream_destroy != nullptr &&
                         driver_->event_create != nullptr && driver_->event_record != nullptr &&
                         driver_->event_elapsed_time != nullptr && driver_->event_destroy != nullptr &&
                         driver_->mem_host_register != nullptr && driver_->mem_host_unregister != nullptr &&
                         driver_->mem_host_get_device_pointer != nullptr;
    if (!has_all) throw NotSupportedError("this NVIDIA driver is too old to measure links; update it");
  }

  std::unique_ptr<node::LinkGpu> open(std::size_t ordinal) override {
    DeviceHandle handle = 0;
    driver_->check(driver_->device_get(&handle, static_cast<int>(ordinal)), fmt::format("cuDeviceGet({})", ordinal));
    return std::make_unique<CudaLinkGpu>(driver_, handle);
  }

  void reach(node::LinkGpu&, const node::LinkGpu& other) override {
    const ContextHandle context = static_cast<const CudaLinkGpu&>(other).context();
    const Status status = driver_->ctx_enable_peer_access(context, 0);
    if (status != kPeersAlready) driver_->check(status, "cuCtxEnablePeerAccess");
  }

  std::unique_ptr<node::LinkGate> open_gate() override {
    auto gate = std::make_unique<HostGate>(driver_);
    if (!gate->has_word()) return nullptr;
    return gate;
  }

  node::LinkAddress lock(std::byte* memory, std::uint64_t bytes) override {
    constexpr unsigned kForAllGpus = 1 | 2;  // CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP
    driver_->check(driver_->mem_host_register(memory, bytes, kForAllGpus), fmt::format("cuMemHostRegister({})", bytes));
    try {
      DevicePointer address = 0;
      driver_->check(driver_->mem_host_get_device_pointer(&address, memory, 0), "cuMemHostGetDevicePointer");
      require_result(address, "cuMemHostGetDevicePointer");
      return address;
    } catch (...) {
      unlock(memory);
      throw;
    }
  }
  void unlock(std::byte* memory) noexcept override { driver_->mem_host_unregister(memory); }

 private:
  std::shared_ptr<const Driver> driver_;
};

}  // namespace

std::unique_ptr<Links> open_cuda_links() {
  const std::shared_ptr<const Driver> driver = Driver::load();
  return node::run_links(std::make_unique<CudaLinkDriver>(driver), read_cuda_node(*driver));
}

}  // namespace gputopo::cuda
