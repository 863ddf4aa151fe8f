#include "device/cuda/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include "device/cuda/chase_ptx.h"
#include "device/cuda/context_limits.h"
#include "device/cuda/device_info.h"
#include "device/cuda/mps.h"
#include "device/cuda/nvml_health.h"
#include "device/driver/info_check.h"
#include "device/driver/kernel_log.h"
#include "model/round_up.h"

namespace gputopo::cuda {
namespace {

using launch::kArenaAlignment;

// A larger need allocates all usable memory at once. Allocation takes 0.4 ms for each GiB on an H200, but 6 ms if the
// memory was freed before, because the driver clears it first. Growing step by step to 94 GiB took 2.2 s.
constexpr std::uint64_t kLargeArenaBytes = 2ull << 30;
// Results up to this size arrive with the end of their launch; larger ones are fetched on request.
constexpr std::uint64_t kMaxExpectedBytes = 1ull << 20;
constexpr std::uint64_t kPinnedBytes = 2ull << 20;
// Writing so few links takes a negligible time (10 us), so the chase may be queued behind the fill. This fails if they
// lie on many pages, which miss the TLBs: beside a chase over gigabytes, the fill looked like another process.
constexpr std::uint64_t kQuickFillElements = 1ull << 17;
constexpr std::uint64_t kQuickFillBytes = 128ull << 20;

// A launch in the form of the driver's extensible interface.
struct ClusterLaunch {
  explicit ClusterLaunch(const launch::KernelLaunch& launch) {
    dimension.x = launch.cluster_size;
    config.grid[0] = launch.blocks;
    config.grid[1] = launch.blocks_y;
    config.block[0] = launch.threads;
    config.shared_bytes = static_cast<unsigned>(launch.shared_bytes);
    config.attributes = &dimension;
    config.attribute_count = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  ClusterDimension dimension;
  LaunchConfig config;
};

// Whether the status is a driver's answer to a cluster that it cannot launch.
bool is_wrong_cluster(Status status) { return status == kErrorInvalidClusterSize || status == kErrorInvalidValue; }

}  // namespace

Gpu::Gpu(int ordinal) : driver_(Driver::load()) {
  int count = 0;
  driver_->check(driver_->device_get_count(&count), "cuDeviceGetCount");
  check_device_count(count, "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(fmt::format("there is no cuda:{}: the driver reports {} CUDA device{}; see 'gputopo list'",
                                  ordinal, count, count == 1 ? "" : "s"));
  }
  DeviceHandle device = 0;
  driver_->check(driver_->device_get(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal));
  const auto attribute = [&](DeviceAttribute which) { return device_attribute(*driver_, device, which); };
  const auto major = static_cast<int>(attribute(DeviceAttribute::kComputeCapabilityMajor).value_or(0));
  const auto minor = static_cast<int>(attribute(DeviceAttribute::kComputeCapabilityMinor).value_or(0));
  target_ = choose_ptx_target(major, minor, driver_->version());
  const std::string pci_address = driver_->pci_address(device);
  busy_warning_ = busy_warning(pci_address);
  const std::optional<std::uint32_t> mps_clients = count_mps_clients(pci_address);
  NvmlReader nvml(pci_address);
  context_ = std::make_shared<Context>(driver_, device);
  compiler_.emplace(driver_, context_);
  timer_.emplace(driver_);
  pinned_.emplace(driver_, kPinnedBytes);
  info_ = read_device_info(*driver_, device, pci_address, nvml.get());
  const auto mps = attribute(DeviceAttribute::kMpsEnabled);  // unknown to drivers before CUDA 12.2
  info_.mps_enabled = mps ? *mps != 0 : has_mps_control();
  // NVML counts this process, too, as soon as it has initialized the driver.
  if (*info_.mps_enabled && mps_clients) info_.mps_clients = std::max(*mps_clients, 1u) - 1;
  max_linear_texels_ = attribute(DeviceAttribute::kMaxLinearTexels).value_or(1u << 27);
  check_reported_info(info_, "cuDeviceGetAttribute");
}

void Gpu::begin_metering() {
  if (!throttle_reasons_) throttle_reasons_ = read_throttle_reasons(info_.pci_address);
}

std::optional<std::uint64_t> Gpu::throttle_reasons() const {
  return throttle_reasons_ ? throttle_reasons_ : read_throttle_reasons(info_.pci_address);
}

std::vector<std::string> Gpu::warnings() const {
  std::vector<std::string> lines;
  for (const std::string& line : {busy_warning_, throttle_warning(throttle_reasons().value_or(0))}) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

DeviceHealth Gpu::health() const {
  DeviceHealth health = read_nvml_health(info_.pci_address, throttle_reasons());
  health.xids = read_xids(info_.pci_address);
  return health;
}

const Module& Gpu::chase_module() {
  if (!chase_module_) chase_module_ = std::make_unique<Module>(driver_, generate_chase_ptx(target_));
  return *chase_module_;
}

const Module& Gpu::chase_module(std::uint64_t local_bytes) {
  return local_bytes == 0 ? chase_module() : local_modules_.module(*compiler_, target_, local_bytes);
}

void Gpu::prepare_local(std::uint64_t local_bytes) {
  require_room_for_frames(info_, local_bytes);
  if (arena_.bytes() > kLargeArenaBytes) arena_ = Memory();  // it may hold all the memory
}

DevicePointer Gpu::reserve(std::uint64_t bytes) {
  // Aligned to a quarter of its size if there is room: pages from anywhere fill a TLB with a hashed index unevenly.
  const std::uint64_t room = info_.max_array_bytes > bytes ? info_.max_array_bytes - bytes : 0;
  std::uint64_t alignment = std::max(kArenaAlignment, std::bit_floor(std::min(bytes / 4, room)));
  if (bytes + alignment > arena_.bytes()) allocate_arena(bytes, alignment);
  reserved_bytes_ = bytes;
  return round_up(arena_.address(), alignment);
}

void Gpu::allocate_arena(std::uint64_t bytes, std::uint64_t& alignment) {
  const std::uint64_t needed = bytes + alignment;
  const std::uint64_t roomy = needed > kLargeArenaBytes ? info_.max_array_bytes + kArenaAlignment
                                                        : std::max(launch::kMinArenaBytes, 2 * arena_.bytes());
  arena_ = Memory();  // the old one goes first, because both may not fit
  // Others may have taken part of the free memory.
  for (const std::uint64_t attempt : {std::max(roomy, needed), needed}) {
    try {
      arena_ = Memory(driver_, round_up(attempt, kArenaAlignment));
      return;
    } catch (const DeviceMemoryError&) {
      if (attempt == needed && alignment == kArenaAlignment) throw;
    }
  }
  alignment = kArenaAlignment;
  arena_ = Memory(driver_, round_up(bytes + alignment, kArenaAlignment));
}

std::uint64_t Gpu::carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes, std::uint32_t blocks) const {
  const std::uint64_t most =
      std::max(info_.shared_bytes_per_block_opt_in.value_or(0), info_.shared_bytes_per_block.value_or(0));
  if (shared_bytes > most) {
    throw NotSupportedError(
        fmt::format("a block would need {} bytes of shared memory; this GPU allows {}", shared_bytes, most));
  }
  if (info_.carve_outs_bytes.empty()) return 0;
  const std::uint64_t needed = (shared_bytes + info_.shared_reserved_bytes_per_block.value_or(0)) * blocks;
  for (const std::uint64_t carve_out : info_.carve_outs_bytes) {
    if (carve_out >= std::max(wanted_bytes, needed)) return carve_out;
  }
  // The request exceeds the largest carve-out, or fewer than `blocks` blocks fit at a time.
  return info_.carve_outs_bytes.back();
}

std::uint64_t Gpu::shared_bytes_for_one_block(std::uint64_t carve_out_bytes, std::uint64_t shared_bytes) const {
  const std::uint64_t reserved = info_.shared_reserved_bytes_per_block.value_or(0);
  const std::uint64_t over_half = carve_out_bytes / 2 + 256;
  return over_half > reserved ? std::max(shared_bytes, over_half - reserved) : shared_bytes;
}

void Gpu::set_attribute(FunctionHandle function, FunctionAttribute attribute, int value, const char* name) const {
  const auto found = attributes_.find({function, attribute});
  if (found != attributes_.end() && found->second == value) return;
  driver_->check(driver_->func_set_attribute(function, attribute, value),
                 fmt::format("cuFuncSetAttribute({}, {})", name, value));
  attributes_[{function, attribute}] = value;
}

void Gpu::set_bank_mode(FunctionHandle function, std::uint32_t bytes) const {
  constexpr int kKepler = 3;
  if (*info_.compute_capability_major != kKepler || driver_->func_set_shared_config == nullptr) {
    if (bytes == 0) return;
    throw NotSupportedError("the shared memory of this GPU has only one bank mode");
  }
  const SharedConfig config = bytes == 0   ? SharedConfig::kDefault
                              : bytes == 4 ? SharedConfig::kFourByteBanks
                                           : SharedConfig::kEightByteBanks;
  driver_->check(driver_->func_set_shared_config(function, config), "cuFuncSetSharedMemConfig");
}

void Gpu::set_carve_out(FunctionHandle function, const launch::KernelLaunch& launch) const {
  if (driver_->func_set_attribute == nullptr || *info_.compute_capability_major < 7) {
    const CacheConfig config = launch.carve_out_bytes <= 16 * 1024   ? CacheConfig::kPreferL1
                               : launch.carve_out_bytes <= 32 * 1024 ? CacheConfig::kPreferEqual
                                                                     : CacheConfig::kPreferShared;
    driver_->check(driver_->func_set_cache_config(function, config), "cuFuncSetCacheConfig");
    return;
  }
  set_attribute(function, FunctionAttribute::kMaxDynamicSharedBytes, static_cast<int>(launch.shared_bytes),
                "MAX_DYNAMIC_SHARED_SIZE_BYTES");
  // The attribute is a percentage of the largest carve-out. The driver takes the next carve-out that holds as many
  // blocks as the percentage calls for, rounded up (on an H200, 28% of 228 KiB with blocks of 31.25 KiB gave 100 KiB,
  // not 64). So this asks for the size of the whole blocks within the wanted carve-out.
  const std::uint64_t block_bytes = launch.shared_bytes;
  const std::uint64_t asked_bytes = block_bytes == 0 || block_bytes > launch.carve_out_bytes
                                        ? launch.carve_out_bytes
                                        : launch.carve_out_bytes / block_bytes * block_bytes;
  const auto percent =
      static_cast<int>(100 * asked_bytes / std::max<std::uint64_t>(1, info_.shared_bytes_per_sm.value_or(0)));
  set_attribute(function, FunctionAttribute::kPreferredSharedCarveOut, std::min(percent, 100),
                "PREFERRED_SHARED_MEMORY_CARVEOUT");
}

Status Gpu::start(FunctionHandle function, const launch::KernelLaunch& launch, void** parameters) const {
  const auto shared_bytes = static_cast<unsigned>(launch.shared_bytes);
  if (launch.cluster_size == 0) {
    return driver_->launch_kernel(function, launch.blocks, launch.blocks_y, 1, launch.threads, 1, 1, shared_bytes,
                                  nullptr, parameters, nullptr);
  }
  const ClusterLaunch cluster(launch);
  return driver_->launch_kernel_ex(&cluster.config, function, parameters, nullptr);
}

void Gpu::run(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
              std::vector<void*> parameters) {
  queue(function, name, launch, std::move(parameters));
  if (!holds_) finish();
}

void Gpu::queue(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
                std::vector<void*> parameters) {
  before_launch();
  fetched_ = {};
  set_carve_out(function, launch);
  timer_->begin(nullptr);
  const Status status = start(function, launch, parameters.data());
  timer_->end(nullptr);
  // The call itself may load code. From here on, only the GPU takes time.
  if (!holds_ || queued_.empty()) queued_at_ = std::chrono::steady_clock::now();
  if (launch.cluster_size != 0 && is_wrong_cluster(status)) {
    throw NotSupportedError(fmt::format("the driver cannot launch a cluster of {} blocks", launch.cluster_size));
  }
  driver_->check(status,
                 fmt::format("cuLaunchKernel({}, {} blocks of {} threads, {} bytes of shared memory{})", name,
                             std::uint64_t{launch.blocks} * launch.blocks_y, launch.threads, launch.shared_bytes,
                             launch.cluster_size == 0 ? "" : fmt::format(", clusters of {}", launch.cluster_size)));
  if (std::ranges::find(queued_, name) == queued_.end()) queued_.push_back(name);
}

void Gpu::finish() {
  const Part expected = std::exchange(expected_, {});
  const std::vector<std::string> kernels = std::exchange(queued_, {});
  const std::string call = fmt::format("kernel {}", fmt::join(kernels, " and "));
  const bool fetches = expected.bytes > 0 && expected.bytes <= std::min(kMaxExpectedBytes, pinned_->bytes());
  if (fetches) {
    driver_->check(driver_->memcpy_dtoh_async(pinned_->data(), expected.from, expected.bytes, nullptr), call);
  }
  driver_->check(driver_->ctx_synchronize(), call);
  after_launch(std::chrono::steady_clock::now() - queued_at_);
  timer_->collect();
  if (fetches) fetched_ = expected;
}

void Gpu::require_clusters() const {
  if (driver_->launch_kernel_ex == nullptr || driver_->occupancy_max_active_clusters == nullptr ||
      driver_->occupancy_max_cluster_size == nullptr || driver_->func_set_attribute == nullptr) {
    throw NotSupportedError("this NVIDIA driver cannot launch clusters; update it");
  }
}

ClusterRoom Gpu::cluster_room(FunctionHandle function, const launch::KernelLaunch& launch) const {
  set_carve_out(function, launch);
  driver_->check(driver_->func_set_attribute(function, FunctionAttribute::kNonPortableClusterSizeAllowed, 1),
                 "cuFuncSetAttribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED)");
  const ClusterLaunch cluster(launch);
  int clusters = 0;
  int largest = 0;
  const Status status = driver_->occupancy_max_active_clusters(&clusters, function, &cluster.config);
  if (is_wrong_cluster(status) || (status == kSuccess && clusters < 1)) {
    throw NotSupportedError(
        fmt::format("the driver cannot place a cluster of {} blocks on separate SMs", launch.cluster_size));
  }
  driver_->check(status, fmt::format("cuOccupancyMaxActiveClusters({})", launch.cluster_size));
  driver_->check(driver_->occupancy_max_cluster_size(&largest, function, &cluster.config),
                 "cuOccupancyMaxPotentialClusterSize");
  return {static_cast<std::uint32_t>(clusters), static_cast<std::uint32_t>(std::max(largest, 0))};
}

void Gpu::launch_fill(launch::Address tasks, std::uint32_t arrays, std::uint64_t most_elements) {
  constexpr std::uint32_t kThreads = 256;
  constexpr std::uint64_t kMaxBlocks = 1024;
  const auto blocks =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((most_elements + kThreads - 1) / kThreads, 1, kMaxBlocks));
  queue(chase_module().function("fill"), "fill", {.blocks = blocks, .blocks_y = arrays, .threads = kThreads}, {&tasks});
  if (most_elements * arrays > kQuickFillElements || reserved_bytes_ > kQuickFillBytes) finish();
}

void Gpu::launch_chase(const launch::ChaseLaunch& launch) {
  DevicePointer tasks = launch.tasks;
  std::uint32_t stride = launch.by_block ? sizeof(ChaseTask) : 0;
  std::uint32_t tasks_to_look_through = launch.by_block ? 1 : launch.task_count;
  const L2FetchLimit limit(*driver_, launch.l2_fetch_bytes, info_.l2_fetch_limit_bytes.value_or(0));
  run(chase_module(launch.local_bytes).function("chase"), "chase",
      {.blocks = launch.blocks,
       .threads = launch.threads,
       .shared_bytes = launch.shared_bytes,
       .carve_out_bytes = launch.carve_out_bytes},
      {&tasks, &stride, &tasks_to_look_through});
}

launch::TextureView Gpu::make_texture(launch::Address address, std::uint64_t bytes, std::uint32_t channels) {
  const std::uint64_t texels = bytes / (sizeof(std::uint32_t) * channels);
  if (texels > max_linear_texels_) {
    throw NotSupportedError(fmt::format("a texture of {} texels exceeds this GPU's limit for linear textures ({})",
                                        texels, max_linear_texels_));
  }
  const auto texture = std::make_shared<Texture>(driver_, address, bytes, channels);
  return {texture->handle(), texture};
}

void Gpu::set_constants(launch::Address image, std::uint64_t local_bytes) {
  copy_to_bank(chase_module(local_bytes), image, kConstantBankBytes);
}

void Gpu::copy_to_bank(const Module& module, launch::Address image, std::uint64_t bytes) const {
  driver_->check(driver_->memcpy_dtod(module.global("constant_bank"), image, bytes), "cuMemcpyDtoD(constant bank)");
}

void Gpu::check(const ChaseProgram& program) const {
  if (program.l2_fetch_bytes != 0 && !info_.l2_fetch_limit_bytes) {
    throw NotSupportedError("this GPU or its driver cannot limit the L2 fetch granularity");
  }
  for (const ChaseArray& array : program.arrays) {
    if (std::find(std::begin(kCudaSpaces), std::end(kCudaSpaces), array.space) == std::end(kCudaSpaces)) {
      throw NotSupportedError(fmt::format("NVIDIA GPUs have no {} memory space", to_string(array.space)));
    }
    if (array.space == Space::kTexture && array.bytes / 4 > max_linear_texels_) {
      throw NotSupportedError(
          fmt::format("a texture of {} bytes exceeds this GPU's limit for linear textures ({} bytes)", array.bytes,
                      max_linear_texels_ * 4));
    }
  }
}

std::uint32_t Gpu::resident_blocks(FunctionHandle function, const launch::KernelLaunch& launch,
                                   std::uint32_t wanted) const {
  if (driver_->occupancy_max_active_blocks == nullptr) return wanted;
  set_carve_out(function, launch);
  int blocks = 0;
  driver_->check(
      driver_->occupancy_max_active_blocks(&blocks, function, static_cast<int>(launch.threads), launch.shared_bytes),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::clamp(static_cast<std::uint32_t>(blocks), 1u, wanted);
}

void Gpu::upload(DevicePointer to, const void* from, std::uint64_t bytes) const {
  fetched_ = {};
  driver_->check(driver_->memcpy_htod(to, from, bytes), fmt::format("cuMemcpyHtoD({})", bytes));
}

void Gpu::download(void* to, DevicePointer from, std::uint64_t bytes) const {
  if (fetched_.holds(from, bytes)) {
    std::memcpy(to, pinned_->data() + (from - fetched_.from), bytes);
    return;
  }
  fetched_ = {};
  // A copy to pinned memory and on from there is faster than the driver's copy to memory that is not pinned.
  const bool fits = bytes <= pinned_->bytes();
  void* const target = fits ? pinned_->data() : to;
  driver_->check(driver_->memcpy_dtoh(target, from, bytes), fmt::format("cuMemcpyDtoH({})", bytes));
  if (fits) std::memcpy(to, target, bytes);
}

void Gpu::clear(DevicePointer address, std::uint64_t bytes) const {
  fetched_ = {};
  driver_->check(driver_->memset_d8(address, 0, bytes), fmt::format("cuMemsetD8({})", bytes));
}

BlockRecord Gpu::spin_all(std::uint64_t nanoseconds) {
  BlockRecord record{};
  if (spin_record_.bytes() == 0) spin_record_ = Memory(driver_, sizeof(record));
  DevicePointer address = spin_record_.address();
  expect_download(address, sizeof(record));
  run(chase_module().function("spin"), "spin", {.blocks = info_.sm_count, .threads = 32}, {&address, &nanoseconds});
  download(&record, address, sizeof(record));
  return record;
}

}  // namespace gputopo::cuda
