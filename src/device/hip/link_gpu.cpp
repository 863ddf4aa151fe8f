#include "device/hip/link_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/driver/sysfs.h"
#include "device/hip/kfd_topology.h"
#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

constexpr std::uint64_t kRecordBytes = 64ull << 10;
constexpr unsigned kBlocksPerCu = 4;

Pointer pointer_of(node::LinkAddress address) { return reinterpret_cast<Pointer>(address); }
StreamHandle stream_of(node::LinkQueue& queue) { return static_cast<HipQueue&>(queue).stream(); }
int ordinal_of(const node::LinkEnd& end) { return static_cast<const HipLinkGpu&>(*end.gpu).ordinal(); }

}  // namespace

// ---- Gate and queue ----

SignalGate::SignalGate(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {
  constexpr unsigned kSignalMemory = 2;  // hipMallocSignalMemory
  constexpr std::size_t kBytes = 8;      // the size that the runtime uses
  if (runtime_->ext_malloc_with_flags == nullptr || runtime_->stream_wait_value == nullptr) return;
  if (runtime_->ext_malloc_with_flags(&memory_, kBytes, kSignalMemory) != kSuccess) memory_ = nullptr;
  if (memory_ != nullptr) *word() = 0;
}

SignalGate::~SignalGate() {
  if (memory_ != nullptr && !has_faulted()) static_cast<void>(runtime_->free(memory_));
}

HipQueue::HipQueue(std::shared_ptr<const Runtime> runtime, DeviceWait& wait)
    : runtime_(std::move(runtime)), wait_(wait) {
  constexpr unsigned kNonBlocking = 1;  // hipStreamNonBlocking
  runtime_->check(runtime_->stream_create(&stream_, kNonBlocking), "hipStreamCreateWithFlags");
  require_result(stream_, "hipStreamCreateWithFlags");
  for (EventHandle* event : {&begin_, &end_}) {
    runtime_->check(runtime_->event_create(event, 0), "hipEventCreateWithFlags");
    require_result(*event, "hipEventCreateWithFlags");
  }
}

HipQueue::~HipQueue() {
  if (has_faulted()) return;
  for (EventHandle event : {begin_, end_}) {
    if (event != nullptr) static_cast<void>(runtime_->event_destroy(event));
  }
  if (stream_ != nullptr) static_cast<void>(runtime_->stream_destroy(stream_));
}

bool HipQueue::hold(const node::LinkGate& gate, std::uint32_t ticket) {
  constexpr unsigned kAtLeast = 0;  // hipStreamWaitValueGte
  return runtime_->stream_wait_value(stream_, gate.word(), ticket, kAtLeast, UINT32_MAX) == kSuccess;
}

// Only the wait for the whole device ends when the GPU faults.
double HipQueue::seconds(const std::string& what) {
  runtime_->check(wait_(), what);
  return elapsed_seconds(begin_, end_);
}

double HipQueue::began_after(const node::LinkQueue& other) const {
  return elapsed_seconds(static_cast<const HipQueue&>(other).begin_, begin_);
}

double HipQueue::elapsed_seconds(EventHandle from, EventHandle to) const {
  constexpr double kMilli = 1e-3;
  float milliseconds = 0;
  runtime_->check(runtime_->event_elapsed_time(&milliseconds, from, to), "hipEventElapsedTime");
  return milliseconds * kMilli;
}

// ---- GPU ----

HipLinkGpu::HipLinkGpu(std::shared_ptr<const Runtime> runtime, int ordinal)
    : runtime_(std::move(runtime)), ordinal_(ordinal), wait_(runtime_, ordinal) {
  make_current();
  cus_ = std::clamp(attribute(DeviceAttribute::kSmCount), 1u, limits::kMaxSms);
  wall_clock_khz_ = attribute(DeviceAttribute::kWallClockKhz);
  has_host_atomics_ = attribute(DeviceAttribute::kHostNativeAtomicSupported) != 0;
  shape_.blocks = cus_ * kBlocksPerCu;
  const std::string target = require_kfd_node(sysfs_root(), runtime_->pci_address(ordinal)).gfx_name;
  const std::string source = generate_transfer_source(gfx_target(target), shape_);
  module_ = std::make_unique<Module>(runtime_, runtime_->compile(source, target));
  records_ = Memory(runtime_, kRecordBytes);
  // Code is loaded at its first launch, which may wait for everything in flight: forever, if that is held back.
  for (const char* kernel : {"read", "write"}) launch_stream(kernel, nullptr, records_.address(), 0, 1, 0);
  synchronize("transfer kernels");
}

std::uint32_t HipLinkGpu::attribute(DeviceAttribute attribute) const {
  int value = 0;
  if (runtime_->device_get_attribute(&value, attribute, ordinal_) != kSuccess) return 0;
  return static_cast<std::uint32_t>(std::max(value, 0));
}

void HipLinkGpu::reserve(std::uint64_t bytes) {
  memory_ = Memory();
  memory_ = Memory(runtime_, bytes);
}

void HipLinkGpu::upload(node::LinkAddress to, const void* from, std::uint64_t bytes) {
  runtime_->check(runtime_->memcpy_htod(pointer_of(to), const_cast<void*>(from), bytes),
                  fmt::format("hipMemcpyHtoD({})", bytes));
}

void HipLinkGpu::download(void* to, node::LinkAddress from, std::uint64_t bytes) {
  runtime_->check(runtime_->memcpy_dtoh(to, pointer_of(from), bytes), fmt::format("hipMemcpyDtoH({})", bytes));
}

node::LinkQueue& HipLinkGpu::queue(std::size_t index) {
  while (queues_.size() <= index) queues_.emplace_back(runtime_, wait_);
  return queues_[index];
}

void HipLinkGpu::queue_copy(node::LinkQueue& queue, const node::LinkEnd& to, const node::LinkEnd& from,
                            std::uint64_t bytes) {
  const StreamHandle stream = stream_of(queue);
  if (from.gpu == nullptr) {
    runtime_->check(runtime_->memcpy_htod_async(pointer_of(to.address), from.host, bytes, stream),
                    "hipMemcpyHtoDAsync");
  } else if (to.gpu == nullptr) {
    runtime_->check(runtime_->memcpy_dtoh_async(to.host, pointer_of(from.address), bytes, stream),
                    "hipMemcpyDtoHAsync");
  } else {
    runtime_->check(runtime_->memcpy_peer_async(pointer_of(to.address), ordinal_of(to), pointer_of(from.address),
                                                ordinal_of(from), bytes, stream),
                    "hipMemcpyPeerAsync");
  }
}

void HipLinkGpu::queue_read(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes,
                            std::uint32_t passes) {
  launch_stream("read", stream_of(queue), memory, bytes, passes, 0);
}

void HipLinkGpu::queue_write(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes,
                             std::uint32_t passes, std::uint32_t word) {
  launch_stream("write", stream_of(queue), memory, bytes, passes, word);
}

void HipLinkGpu::launch_stream(const char* kernel, StreamHandle stream, node::LinkAddress memory, std::uint64_t bytes,
                               std::uint32_t passes, std::uint32_t word) {
  std::uint64_t sink = records_.address();
  void* parameters[] = {&memory, &bytes, &passes, &word, &sink};
  runtime_->check(runtime_->launch_kernel(module_->function(kernel), shape_.blocks, 1, 1, shape_.threads, 1, 1, 0,
                                          stream, parameters, nullptr),
                  "hipModuleLaunchKernel(transfer)");
}

std::uint32_t HipLinkGpu::most_blocks() const { return kRecordBytes / sizeof(std::uint64_t); }

std::vector<double> HipLinkGpu::run_timed(const node::TimedLaunch& launch) {
  if (wall_clock_khz_ == 0) {
    throw NotSupportedError(
        "this HIP runtime does not report the frequency of the wall clock: install ROCm 5.7 or later");
  }
  const char* name = node::name_of(launch.kernel);
  node::LinkAddress memory = launch.memory;
  std::uint64_t span = launch.span;
  std::uint32_t warm = launch.warm;
  std::uint32_t count = launch.count;
  std::uint64_t records = records_.address();
  void* of_chase[] = {&memory, &span, &warm, &count, &records};
  void* of_store[] = {&memory, &span, &count, &records};
  void** const parameters = launch.kernel == node::LinkKernel::kStore ? of_store : of_chase;
  runtime_->check(runtime_->memset(pointer_of(records), 0, kRecordBytes), "hipMemset");
  runtime_->check(runtime_->launch_kernel(module_->function(name), launch.blocks, 1, 1, kWavefront, 1, 1, 0, nullptr,
                                          parameters, nullptr),
                  "hipModuleLaunchKernel(transfer)");
  synchronize(fmt::format("kernel {}", name));
  std::vector<std::uint64_t> ticks(launch.blocks);
  download(ticks.data(), records, launch.blocks * sizeof(std::uint64_t));
  constexpr double kNanosecondsOfKhz = 1e6;
  std::vector<double> nanoseconds;
  for (const std::uint64_t tick : ticks) {
    nanoseconds.push_back(static_cast<double>(tick) * kNanosecondsOfKhz / wall_clock_khz_);
  }
  return nanoseconds;
}

}  // namespace gputopo::hip
