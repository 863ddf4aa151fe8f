#include "device/cuda/link_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/cuda/transfer_ptx.h"
#include "file/limits.h"
#include "gputopo/program/transfer.h"

namespace gputopo::cuda {
namespace {

constexpr std::uint64_t kRecordBytes = 64ull << 10;

std::uint32_t attribute_of(const Driver& driver, DeviceHandle handle, DeviceAttribute attribute) {
  int value = 0;
  driver.check(driver.device_get_attribute(&value, attribute, handle), "cuDeviceGetAttribute");
  return static_cast<std::uint32_t>(std::max(value, 0));
}

PtxTarget target_of(const Driver& driver, DeviceHandle handle) {
  return choose_ptx_target(static_cast<int>(attribute_of(driver, handle, DeviceAttribute::kComputeCapabilityMajor)),
                           static_cast<int>(attribute_of(driver, handle, DeviceAttribute::kComputeCapabilityMinor)),
                           driver.version());
}

StreamHandle stream_of(node::LinkQueue& queue) { return static_cast<Queue&>(queue).stream(); }
ContextHandle context_of(const node::LinkEnd& end) { return static_cast<const CudaLinkGpu&>(*end.gpu).context(); }

}  // namespace

CudaLinkGpu::CudaLinkGpu(std::shared_ptr<const Driver> driver, DeviceHandle handle)
    : driver_(std::move(driver)),
      context_(driver_, handle),
      target_(target_of(*driver_, handle)),
      sms_(std::clamp(attribute_of(*driver_, handle, DeviceAttribute::kSmCount), 1u, limits::kMaxSms)),
      has_host_atomics_(attribute_of(*driver_, handle, DeviceAttribute::kHostNativeAtomicSupported) != 0),
      module_(driver_, generate_transfer_ptx(target_)),
      records_(driver_, kRecordBytes) {
  // Drivers load code at its first launch, and wait then for everything in flight: forever, if that is held back.
  for (const char* kernel : {"read", "write"}) launch_stream(kernel, nullptr, 0, 0, 1, 0);
  synchronize("transfer kernels");
}

void CudaLinkGpu::reserve(std::uint64_t bytes) {
  memory_ = Memory();
  memory_ = Memory(driver_, bytes);
}

void CudaLinkGpu::upload(node::LinkAddress to, const void* from, std::uint64_t bytes) {
  driver_->check(driver_->memcpy_htod(to, from, bytes), fmt::format("cuMemcpyHtoD({})", bytes));
}

void CudaLinkGpu::download(void* to, node::LinkAddress from, std::uint64_t bytes) {
  driver_->check(driver_->memcpy_dtoh(to, from, bytes), fmt::format("cuMemcpyDtoH({})", bytes));
}

void CudaLinkGpu::synchronize(const std::string& what) { driver_->check(driver_->ctx_synchronize(), what); }

node::LinkQueue& CudaLinkGpu::queue(std::size_t index) {
  while (queues_.size() <= index) queues_.emplace_back(driver_);
  return queues_[index];
}

void CudaLinkGpu::queue_copy(node::LinkQueue& queue, const node::LinkEnd& to, const node::LinkEnd& from,
                             std::uint64_t bytes) {
  const StreamHandle stream = stream_of(queue);
  if (from.gpu == nullptr) {
    driver_->check(driver_->memcpy_htod_async(to.address, from.host, bytes, stream), "cuMemcpyHtoDAsync");
  } else if (to.gpu == nullptr) {
    driver_->check(driver_->memcpy_dtoh_async(to.host, from.address, bytes, stream), "cuMemcpyDtoHAsync");
  } else {
    driver_->check(
        driver_->memcpy_peer_async(to.address, context_of(to), from.address, context_of(from), bytes, stream),
        "cuMemcpyPeerAsync");
  }
}

void CudaLinkGpu::queue_read(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes,
                             std::uint32_t passes) {
  launch_stream("read", stream_of(queue), memory, bytes, passes, 0);
}

void CudaLinkGpu::queue_write(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes,
                              std::uint32_t passes, std::uint32_t word) {
  launch_stream("write", stream_of(queue), memory, bytes, passes, word);
}

void CudaLinkGpu::launch_stream(const char* kernel, StreamHandle stream, node::LinkAddress memory, std::uint64_t bytes,
                                std::uint32_t passes, std::uint32_t word) {
  constexpr unsigned kThreads = 512;
  constexpr unsigned kBlocksPerSm = 4;
  DevicePointer sink = records_.address();
  void* parameters[] = {&memory, &bytes, &passes, &word, &sink};
  driver_->check(driver_->launch_kernel(module_.function(kernel), sms_ * kBlocksPerSm, 1, 1, kThreads, 1, 1, 0, stream,
                                        parameters, nullptr),
                 "cuLaunchKernel(transfer)");
}

std::uint32_t CudaLinkGpu::most_blocks() const { return kRecordBytes / sizeof(std::uint64_t); }

std::vector<double> CudaLinkGpu::run_timed(const node::TimedLaunch& launch) {
  const char* name = node::name_of(launch.kernel);
  node::LinkAddress memory = launch.memory;
  std::uint64_t span = launch.span;
  std::uint32_t warm = launch.warm;
  std::uint32_t count = launch.count;
  DevicePointer records = records_.address();
  void* of_chase[] = {&memory, &span, &warm, &count, &records};
  void* of_store[] = {&memory, &span, &count, &records};
  void** const parameters = launch.kernel == node::LinkKernel::kStore ? of_store : of_chase;
  driver_->check(driver_->memset_d8(records, 0, kRecordBytes), "cuMemsetD8");
  driver_->check(
      driver_->launch_kernel(module_.function(name), launch.blocks, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
      "cuLaunchKernel(transfer)");
  synchronize(fmt::format("kernel {}", name));
  std::vector<std::uint64_t> nanoseconds(launch.blocks);
  download(nanoseconds.data(), records, launch.blocks * sizeof(std::uint64_t));
  return {nanoseconds.begin(), nanoseconds.end()};
}

}  // namespace gputopo::cuda
