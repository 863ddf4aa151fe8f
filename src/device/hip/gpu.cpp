#include "device/hip/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <thread>

#include "device/driver/info_check.h"
#include "device/driver/sysfs.h"
#include "device/hip/chase_source.h"
#include "device/hip/device_info.h"
#include "device/hip/gfx_target.h"
#include "device/launch/busy_warning.h"
#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::hip {
namespace {

using Clock = std::chrono::steady_clock;
using launch::Address;
using launch::BlockRecord;
using launch::kArenaAlignment;

// Measures the wall clock by the host's: readings at either end, the time between, and the largest relative error,
// which a launch that takes 100 us is far from.
constexpr int kClockReadings = 8;
constexpr std::chrono::milliseconds kClockTime{200};
constexpr double kMaxClockError = 0.005;
// Roll calls that find the CUs: blocks that stay until every CU has one, several times, because a block may be late.
constexpr std::uint64_t kRollCallNanoseconds = 200'000;
constexpr int kMaxRollCalls = 20;
// Blocks are dealt to the shader engines in turn, for any number of switched-on CUs, and a block whose engine is full
// holds up all behind it. A block for every CU that was built serves the CUs of the fullest engine. Room for a second
// block on each CU, which exits when it finds its CU taken, keeps engines from being full while every CU holds a block.
// This takes twice the blocks, or a CU might get two and another none.
constexpr std::uint32_t kBlocksToReachCu = 2;
// More under a mask: engines may have very different numbers of CUs left, and a surplus block exits at once.
constexpr std::uint32_t kBlocksOfMaskedCu = 4;

}  // namespace

Gpu::Gpu(int ordinal) : runtime_(Runtime::load()), ordinal_(ordinal), wait_(runtime_, ordinal) {
  int count = 0;
  runtime_->check(runtime_->get_device_count(&count), "hipGetDeviceCount");
  check_device_count(count, "hipGetDeviceCount");
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(fmt::format("there is no hip:{}: the runtime reports {} HIP device{}; see 'gputopo list'",
                                  ordinal, count, count == 1 ? "" : "s"));
  }
  const std::string pci_address = runtime_->pci_address(ordinal);
  const KfdNode node = require_kfd_node(sysfs_root(), pci_address);
  target_ = gfx_target(node.gfx_name);
  const auto busy = read_pci_attribute(sysfs_root(), pci_address, "gpu_busy_percent");
  busy_warning_ =
      launch::busy_warning(other_processes(sysfs_root(), node.gpu_id),
                           busy ? std::optional(static_cast<std::uint32_t>(std::atoi(busy->c_str()))) : std::nullopt);
  runtime_->check(runtime_->set_device(ordinal), fmt::format("hipSetDevice({})", ordinal));
  info_ = read_device_info(*runtime_, ordinal, pci_address, node, target_);
  check_reported_info(info_, "hipDeviceGetAttribute");
  read_wall_clock();
  read_physical_ids();
}

// ROCm reports the rate from 5.5 on. Before that, the host's clock tells: a block reads the wall clock at some time
// between the launch and its end, which is the error at either end of the measurement.
void Gpu::read_wall_clock() {
  if (const auto khz = device_attribute(*runtime_, ordinal_, DeviceAttribute::kWallClockKhz)) {
    wall_clock_khz_ = static_cast<double>(*khz);
    return;
  }
  struct Reading {
    Clock::time_point before;
    Clock::time_point after;
    std::uint64_t ticks = 0;
  };
  // Takes the most exact of several readings; the first loads the code.
  const auto read = [this] {
    Reading best;
    for (int i = 0; i < kClockReadings; ++i) {
      Reading reading{.before = Clock::now()};
      reading.ticks = spin(1, 0, 0).front().start_ns;
      reading.after = Clock::now();
      if (i == 0 || reading.after - reading.before < best.after - best.before) best = reading;
    }
    return best;
  };
  const auto milliseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  const Reading begin = read();
  std::this_thread::sleep_for(kClockTime);
  const Reading end = read();
  const auto ticks = static_cast<double>(end.ticks - begin.ticks);
  const double least_khz = ticks / milliseconds(end.after - begin.before);
  const double most_khz = ticks / milliseconds(end.before - begin.after);
  wall_clock_khz_ = (least_khz + most_khz) / 2;
  const double error = (most_khz - least_khz) / 2 / wall_clock_khz_;
  if (!(error <= kMaxClockError)) {
    throw DeviceError(fmt::format(
        "{} does not report the frequency of the GPU's wall clock, and the host is too busy to measure it: update ROCm "
        "to 5.5 or later, or try again",
        runtime_->version_text()));
  }
  wall_clock_warning_ = fmt::format(
      "{} does not report the frequency of the GPU's wall clock; according to the host's clock, the frequency is "
      "{:.2f} MHz with an error of up to {:.2f}%, so clocks, times in ns and bandwidths have at least this error",
      runtime_->version_text(), wall_clock_khz_ / 1e3, 100 * error);
}

std::set<std::uint32_t> Gpu::roll_call(StreamHandle stream, std::uint32_t cus, std::uint32_t blocks) {
  std::set<std::uint32_t> ids;
  const std::uint64_t shared_bytes = shared_bytes_to_reach_every_sm(0, 0);
  for (int call = 0; call < kMaxRollCalls && ids.size() < cus; ++call) {
    for (const BlockRecord& record : spin(blocks, shared_bytes, kRollCallNanoseconds, stream)) ids.insert(record.sm);
  }
  return ids;
}

// A block on each CU reports the CU's hardware id.
void Gpu::read_physical_ids() {
  const std::set<std::uint32_t> ids = roll_call(nullptr, info_.sm_count, blocks_to_reach_every_sm());
  cus_seen_ = static_cast<std::uint32_t>(ids.size());
  // Fewer if CUs are masked or another process holds them. Then SMs cannot be named.
  if (ids.size() != info_.sm_count) return;
  info_.physical_sm_ids.emplace(ids.begin(), ids.end());
  // Ids are in order, so the first and the last one show the first and the last die.
  if (die_of(target_, *ids.begin()) != die_of(target_, *ids.rbegin())) return;
  masks_.emplace(runtime_, *info_.physical_sm_ids, [this](StreamHandle stream, std::uint32_t cus) {
    return roll_call(stream, cus, kBlocksOfMaskedCu * cus);
  });
}

const Module& Gpu::chase_module() {
  if (!chase_module_) {
    const std::string code = runtime_->compile(generate_chase_source(target_), target_.name);
    chase_module_ = std::make_unique<Module>(runtime_, code);
  }
  return *chase_module_;
}

Address Gpu::reserve(std::uint64_t bytes) {
  if (bytes + kArenaAlignment > arena_.bytes()) {
    arena_ = Memory();  // the old one goes first, because both may not fit
    arena_ = Memory(runtime_, round_up(std::max(bytes, launch::kMinArenaBytes) + kArenaAlignment, kArenaAlignment));
  }
  return round_up(arena_.address(), kArenaAlignment);
}

void Gpu::upload(Address to, const void* from, std::uint64_t bytes) const {
  runtime_->check(runtime_->memcpy_htod(reinterpret_cast<Pointer>(to), const_cast<void*>(from), bytes),
                  fmt::format("hipMemcpyHtoD({})", bytes));
}

void Gpu::download(void* to, Address from, std::uint64_t bytes) const {
  runtime_->check(runtime_->memcpy_dtoh(to, reinterpret_cast<Pointer>(from), bytes),
                  fmt::format("hipMemcpyDtoH({})", bytes));
}

void Gpu::clear(Address address, std::uint64_t bytes) const {
  runtime_->check(runtime_->memset(reinterpret_cast<Pointer>(address), 0, bytes), fmt::format("hipMemset({})", bytes));
}

std::uint64_t Gpu::carve_out_for(std::uint64_t, std::uint64_t shared_bytes, std::uint32_t) const {
  const std::uint64_t most = info_.shared_bytes_per_block.value_or(0);
  if (shared_bytes > most) {
    throw NotSupportedError(fmt::format("a block would need {} bytes of LDS; this GPU allows {}", shared_bytes, most));
  }
  return 0;  // the LDS is a separate memory
}

std::uint64_t Gpu::shared_bytes_for_one_block(std::uint64_t, std::uint64_t shared_bytes) const {
  const std::uint64_t over_half = info_.shared_bytes_per_sm.value_or(0) / 2 + 256;
  return std::min(std::max(shared_bytes, over_half), info_.shared_bytes_per_block.value_or(over_half));
}

std::uint32_t Gpu::blocks_to_reach_every_sm() const {
  return kBlocksToReachCu * std::max(info_.sm_count, info_.sms_physical.value_or(0));
}

std::uint64_t Gpu::shared_bytes_to_reach_every_sm(std::uint64_t, std::uint64_t shared_bytes) const {
  const std::uint64_t no_third = info_.shared_bytes_per_sm.value_or(0) / (kBlocksToReachCu + 1) + 256;
  return std::max(shared_bytes, no_third);
}

void Gpu::launch_fill(Address tasks, std::uint32_t arrays, std::uint64_t most_elements) {
  std::uint32_t threads = 256;
  constexpr std::uint64_t kMaxBlocks = 1024;
  auto blocks =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((most_elements + threads - 1) / threads, 1, kMaxBlocks));
  run(chase_module().function("fill"), "fill", {.blocks = blocks, .blocks_y = arrays, .threads = threads},
      {&tasks, &blocks, &threads});
}

void Gpu::launch_chase(const launch::ChaseLaunch& launch) {
  Address tasks = launch.tasks;
  std::uint32_t count = launch.task_count;
  std::uint32_t by_block = launch.by_block ? 1 : 0;
  auto threads = static_cast<std::uint32_t>(round_up(launch.threads, kWavefront));
  run(chase_module().function("chase"), "chase",
      {.blocks = launch.blocks, .threads = threads, .shared_bytes = launch.shared_bytes, .sms = launch.wanted_sms},
      {&tasks, &count, &by_block, &threads});
}

void Gpu::check(const ChaseProgram& program) const {
  if (program.l2_fetch_bytes != 0) throw NotSupportedError("AMD GPUs cannot limit the L2 fetch granularity");
  for (const ChaseArray& array : program.arrays) check_space(array.space);
  for (const ChaseStep& step : program.steps) {
    if (step.kind == StepKind::kAtomic) throw NotSupportedError("gputopo runs chains of atomics only on NVIDIA GPUs");
  }
  const std::uint64_t max_warps = info_.max_threads_per_block.value_or(kTouchThreads) / kWavefront;
  for (const ChaseActor& actor : program.actors) {
    if (actor.warp >= max_warps) {
      throw NotSupportedError(
          fmt::format("there is no wavefront {}: a block on {} has {} wavefronts", actor.warp, info_.name, max_warps));
    }
  }
}

bool Gpu::may_run_beside_others(const ChaseProgram& program) const {
  return std::none_of(program.arrays.begin(), program.arrays.end(),
                      [](const ChaseArray& array) { return array.space == Space::kScalar; });
}

std::uint32_t Gpu::hardware_id_of(std::uint32_t sm) const {
  if (sm >= info_.sm_count)
    throw NotSupportedError(fmt::format("{} has no SM {}; it has {} SMs", info_.name, sm, info_.sm_count));
  if (!info_.physical_sm_ids) {
    throw NotSupportedError(fmt::format(
        "SM {} cannot be selected, because blocks did not run on all {} SMs (CUs); end other programs on this "
        "GPU, and do not mask its CUs",
        sm, info_.sm_count));
  }
  return info_.physical_sm_ids->at(sm);
}

std::uint32_t Gpu::sm_of(std::uint32_t hardware_id) const {
  if (!info_.physical_sm_ids) return hardware_id;
  const auto& ids = *info_.physical_sm_ids;
  return static_cast<std::uint32_t>(std::lower_bound(ids.begin(), ids.end(), hardware_id) - ids.begin());
}

void Gpu::run(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
              std::vector<void*> parameters) {
  launch::KernelLaunch masked = launch;
  masked.blocks = kBlocksOfMaskedCu * static_cast<std::uint32_t>(launch.sms.size());
  const bool few = !launch.sms.empty() && masked.blocks < launch.blocks;
  const StreamHandle stream = few && masks_ ? masks_->stream_of(launch.sms) : nullptr;
  if (stream != nullptr) ++masked_launches_;
  start(function, name, stream != nullptr ? masked : launch, parameters, stream);
}

void Gpu::start(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
                std::vector<void*>& parameters, StreamHandle stream) {
  before_launch();
  runtime_->check(
      runtime_->launch_kernel(function, launch.blocks, launch.blocks_y, 1, launch.threads, 1, 1,
                              static_cast<unsigned>(launch.shared_bytes), stream, parameters.data(), nullptr),
      fmt::format("hipModuleLaunchKernel({}, {} blocks of {} threads, {} bytes of LDS)", name,
                  std::uint64_t{launch.blocks} * launch.blocks_y, launch.threads, launch.shared_bytes));
  runtime_->check(wait_(), fmt::format("kernel {}", name));
  // The time says nothing of others: their kernels run beside ours, on free SMs.
  after_launch(std::chrono::nanoseconds{0});
}

void Gpu::stop_masking() {
  if (masks_) masks_->give_up();
}

std::uint32_t Gpu::resident_blocks(FunctionHandle function, const launch::KernelLaunch& launch,
                                   std::uint32_t wanted) const {
  int blocks = 0;
  runtime_->check(
      runtime_->occupancy_max_active_blocks(&blocks, function, static_cast<int>(launch.threads), launch.shared_bytes),
      "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::clamp(static_cast<std::uint32_t>(blocks), 1u, wanted);
}

std::uint64_t Gpu::nanoseconds(std::uint64_t ticks) const {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(ticks) * 1e6 / wall_clock_khz_));
}

std::vector<BlockRecord> Gpu::spin(std::uint32_t blocks, std::uint64_t shared_bytes, std::uint64_t nanoseconds_each,
                                   StreamHandle stream) {
  std::vector<BlockRecord> records(blocks);
  const std::uint64_t bytes = blocks * sizeof(BlockRecord);
  if (spin_records_.bytes() < bytes) spin_records_ = Memory(runtime_, bytes);
  Address address = spin_records_.address();
  auto ticks = static_cast<std::uint64_t>(static_cast<double>(nanoseconds_each) * wall_clock_khz_ / 1e6);
  std::vector<void*> parameters = {&address, &ticks};
  start(chase_module().function("spin"), "spin",
        {.blocks = blocks, .threads = kWavefront, .shared_bytes = shared_bytes}, parameters, stream);
  download(records.data(), address, bytes);
  return records;
}

BlockRecord Gpu::spin_all(std::uint64_t nanoseconds) {
  BlockRecord record = spin(info_.sm_count, 0, nanoseconds).front();
  record.sink = 0;  // these kernels do not detect being stopped
  return record;
}

std::vector<std::string> Gpu::warnings() const {
  std::vector<std::string> lines;
  if (!busy_warning_.empty()) lines.push_back(busy_warning_);
  if (!wall_clock_warning_.empty()) lines.push_back(wall_clock_warning_);
  if (cus_seen_ < info_.sm_count) {
    lines.push_back(fmt::format(
        "blocks ran on {} of the {} CUs: the others are masked or another process uses them; values that need specific "
        "CUs were not measured",
        cus_seen_, info_.sm_count));
  }
  // The driver reports the current clock, when the GPU may rest already. Its own clocks tell that of the last launch.
  const double mhz = clock_.mhz();
  if (mhz > 0 && mhz < launch::kMinClockShare * info_.sm_clock_max_mhz.value_or(0)) {
    const std::string cause = throttle_reason(sysfs_root(), info_.pci_address);
    lines.push_back(
        fmt::format("this GPU ran at {:.0f} of {:.0f} MHz{}: latencies in ns are longer, and bandwidths lower, than at "
                    "the full clock; see rocm-smi -a",
                    mhz, *info_.sm_clock_max_mhz, cause.empty() ? "" : ", limited by " + cause));
  }
  return lines;
}

}  // namespace gputopo::hip
