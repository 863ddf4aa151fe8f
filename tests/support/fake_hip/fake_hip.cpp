// A fake HIP runtime and compiler for tests. Its GPU has the memory of a simulated machine (GPUTOPO_FAKE_HIP_MACHINE,
// default mi210), runs the tasks that the host passes to the kernels, and misbehaves as GPUTOPO_FAKE_HIP says:
//   no_device, no_driver                      hipGetDeviceCount or hipInit fails
//   version=N                                 hipRuntimeGetVersion returns N; default 60443484
//   bad_source                                the compiler refuses every source, with a log
//   out_of_memory=N                           the N-th allocation (from 1) fails
//   launch_failed, illegal_address            every kernel ends with this error
//   lost_after=N                              the N-th kernel and all calls after it report a lost device
//   memory_fault=N                            the N-th kernel faults: the handler of system events is called, or the
//                                             process ends; neither that kernel nor any later call returns
//   no_clocks                                 the runtime reports neither clocks nor the width of the memory bus
//   no_wall_clock                             the runtime does not report the rate of the wall clock (the host's)
//   slow                                      the GPU runs at half its maximum clock
//   stopped                                   the clock that kernels read runs at a thousandth of its rate
//   masked                                    no block ever runs on the last CU
//   one_block                                 the second block of an instruction program never runs
//   apart                                     the blocks of an access program do not start together
//   dealt                                     blocks go to the shader engines in turn, however many CUs each has; a
//                                             block whose engine is full holds up all blocks behind it
//   tlbs                                      each CU has a TLB of 32 entries, each die one of 512
//   partition=N                               the GPU is partition N (from 0); each partition is one die
//   mask_refused, mask_ignored                creating a stream with a CU mask fails, or the mask has no effect
//   gpus=N                                    N GPUs with peer access
//   bent_link                                 copies from one GPU to another do not arrive
//   no_gate                                   streams cannot wait for a word of memory
//   mask_wrong=N                              from the N-th stream (from 1) on, a mask selects the next CU instead
// The bits of a stream's CU mask go to the shader engines in turn, as in the kernel driver. The fake interprets the
// tasks, not the machine code; tests/unit/hip_code_test.cpp tests the code.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device/hip/gfx_target.h"
#include "device/hip/runtime_api.h"
#include "device/launch/access_kernels.h"
#include "device/launch/kernel_layout.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/memory/hierarchy.h"
#include "device/sim/programs/access.h"
#include "device/sim/programs/code_simulator.h"
#include "gputopo/program/transfer.h"
#include "support/by_ends.h"
#include "support/fake_hip/counts.h"
#include "support/hostile_call.h"

namespace {

using namespace gputopo;
using namespace gputopo::hip;
using namespace gputopo::launch;

constexpr std::uint64_t kWallClockKhz = 100'000;
constexpr double kStreamBytesPerSecond = 1e12;
constexpr std::size_t kMemoryBytes = 8ull << 30;
constexpr char kPciDevice[] = "0000:C1:00.";
constexpr char kCodeMagic[] = "fake code object: ";

std::string setting(const std::string& name) {
  const char* text = std::getenv("GPUTOPO_FAKE_HIP");
  const std::string settings = text == nullptr ? "" : text;
  if (settings.rfind(name, 0) != 0) return {};
  if (settings.size() == name.size()) return "1";
  return settings[name.size()] == '=' ? settings.substr(name.size() + 1) : "";
}

bool is(const std::string& name) { return !setting(name).empty(); }

int gpu_count() {
  if (is("gpus")) return std::stoi(setting("gpus"));
  return is("bent_link") ? 2 : 1;
}

// Small if there are several GPUs: measurements of their links use all memory that is free.
std::size_t most_bytes() {
  constexpr std::size_t kLittle = 96u << 20;
  return gpu_count() > 1 ? kLittle : kMemoryBytes;
}

sim::MachineSpec machine_of_test() {
  const char* name = std::getenv("GPUTOPO_FAKE_HIP_MACHINE");
  sim::MachineSpec machine =
      sim::parse_machine(*sim::builtin_machine(name == nullptr || *name == '\0' ? "mi210" : name));
  if (is("lds")) machine.info.shared_bytes_per_block = std::stoull(setting("lds"));
  if (is("tlbs")) {
    machine.tlbs = {{.entries = 32, .miss_cycles = 60, .scope = sim::Scope::kSm},
                    {.entries = 512, .ways = 8, .miss_cycles = 200, .scope = sim::Scope::kXcd}};
  }
  if (is("partition")) {
    DeviceInfo& info = machine.info;
    info.sm_count /= info.xcd_count.value();
    info.xcd_count = 1;
    info.physical_sm_ids->resize(info.sm_count);
    std::erase_if(machine.sm_groups, [&](const auto& group) { return group.back() >= info.sm_count; });
  }
  return machine;
}

struct FakeModule {
  std::string source;
};

struct FakeFunction {
  FakeModule* module;
  std::string name;
};

struct FakeProgram {
  std::string source;
  std::string log;
  std::string code;
};

// A stream with the CUs that its mask allows.
struct FakeStream {
  std::set<std::uint32_t> cus;
  bool is_masked = true;
  bool is_captured = false;
  std::uint32_t captured = 0;  // launches
};

// The launches that a stream captured; also serves as the executable graph.
struct FakeGraph {
  std::uint32_t launches = 0;
};

// The time of the recording in ticks of the wall clock.
struct FakeEvent {
  std::uint64_t tick = 0;
};

struct State {
  sim::MachineSpec machine = machine_of_test();
  sim::Hierarchy hierarchy{machine};  // cleared for every launch; faster than building another L3
  std::map<std::uint64_t, std::size_t> allocations;
  std::vector<std::unique_ptr<FakeModule>> modules;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  std::map<FakeStream*, std::unique_ptr<FakeStream>> streams;
  std::map<FakeEvent*, std::unique_ptr<FakeEvent>> events;
  std::map<FakeGraph*, std::unique_ptr<FakeGraph>> graphs;
  std::set<std::uint32_t> allowed;  // CUs that the current launch may use
  test::FakeHipCounts counts;
  int allocation_count = 0;
  int launch_count = 0;
  std::uint64_t ticks = 1;  // wall clock
  Status pending = kSuccess;

  [[nodiscard]] double clock_mhz() const { return *machine.info.sm_clock_max_mhz * (is("slow") ? 0.5 : 1); }
  [[nodiscard]] std::uint64_t cycles_at(std::uint64_t tick) const {
    return static_cast<std::uint64_t>(static_cast<double>(tick) * clock_mhz() * 1e3 / kWallClockKhz);
  }
};

// Belongs to the process: it survives hipInit, which clears the other state.
struct EventHandler {
  int (*call)(const SystemEvent*, void*) = nullptr;
  void* data = nullptr;
};
EventHandler event_handler;
std::atomic<bool> faulted = false;

void hang_if_faulted() {
  while (faulted) pause();
}

[[noreturn]] void fault() {
  faulted = true;
  std::thread([] {
    const SystemEvent event{SystemEventType::kMemoryFault, 0, 0xdead0000, 1};
    if (event_handler.call == nullptr || event_handler.call(&event, event_handler.data) != 0) std::abort();
  }).detach();
  while (true) pause();
}

// The real runtime may also hang at exit after a fault.
struct AtTheEnd {
  ~AtTheEnd() { hang_if_faulted(); }
} at_the_end;

std::uint64_t host_ticks() {
  const std::chrono::duration<double, std::milli> now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(now.count() * kWallClockKhz);
}

std::optional<State>& instance() {
  static std::optional<State> state;
  return state;
}

State& state() {
  if (!instance()) instance().emplace();
  return *instance();
}

// Returns null for an unknown handle.
template <typename Made, typename Handle>
Made* known(const std::map<Made*, std::unique_ptr<Made>>& made, Handle handle) {
  const auto found = made.find(reinterpret_cast<Made*>(handle));
  return found == made.end() ? nullptr : found->second.get();
}

template <typename T>
T& at(std::uint64_t address) {
  return *reinterpret_cast<T*>(address);
}

// ---- the dispatcher ----

// Returns the CU of each block. `stay` returns how long a block occupies its CU; kForever: until the kernel ends.
// Blocks without a free place get no CU.
constexpr std::uint64_t kForever = UINT64_MAX;
constexpr std::uint64_t kProgram = 1'000'000;  // longer than the patience of the other blocks

constexpr std::uint32_t kEngineShift = 4;  // a CU's physical ID holds the engine above the CU's number

// The CUs in the order of the mask bits: the first CU of each engine, then the second of each engine that has one.
[[maybe_unused]] std::vector<std::uint32_t> cus_of_mask_bits() {
  const auto& ids = *state().machine.info.physical_sm_ids;
  std::map<std::uint32_t, std::vector<std::uint32_t>> engines;
  for (std::uint32_t cu = 0; cu < ids.size(); ++cu) engines[ids[cu] >> kEngineShift].push_back(cu);
  std::vector<std::uint32_t> order;
  for (std::size_t rank = 0; order.size() < ids.size(); ++rank) {
    for (const auto& [engine, cus] : engines) {
      if (rank < cus.size()) order.push_back(cus[rank]);
    }
  }
  return order;
}

template <typename Stay>
std::vector<std::uint32_t> place_blocks(std::uint32_t blocks, std::uint64_t shared_bytes, const Stay& stay) {
  const DeviceInfo& info = state().machine.info;
  std::vector<std::uint32_t> cus;
  if (!is("dealt")) {
    std::vector<std::uint32_t> used(state().allowed.begin(), state().allowed.end());
    if (is("masked")) used.pop_back();
    for (std::uint32_t block = 0; block < blocks; ++block) {
      cus.push_back(used[block % used.size()]);
      static_cast<void>(stay(cus.back()));
    }
    return cus;
  }
  struct Place {
    std::uint32_t cu;
    std::uint64_t free_at;
  };
  const std::uint64_t most = shared_bytes == 0
                                 ? info.max_blocks_per_sm.value_or(32)
                                 : std::min<std::uint64_t>(32, *info.shared_bytes_per_block / shared_bytes);
  std::map<std::uint32_t, std::vector<Place>> places;
  for (const std::uint32_t cu : state().allowed) {
    auto& engine = places[info.physical_sm_ids->at(cu) >> kEngineShift];
    for (std::uint64_t i = 0; i < most; ++i) engine.push_back({cu, 0});
  }
  std::vector<std::uint32_t> had(info.sm_count);
  std::uint64_t now = 0;
  auto engine = places.begin();
  while (cus.size() < blocks) {
    // Among the engine's CUs with a free place, choose the one that had the fewest blocks.
    std::uint64_t free_at = kForever;
    for (const Place& place : engine->second) free_at = std::min(free_at, place.free_at);
    if (free_at == kForever) break;
    now = std::max(now, free_at);
    Place* chosen = nullptr;
    for (Place& place : engine->second) {
      if (place.free_at <= now && (chosen == nullptr || had[place.cu] < had[chosen->cu])) chosen = &place;
    }
    const std::uint64_t time = stay(chosen->cu);
    chosen->free_at = time == kForever ? kForever : now + time;
    ++had[chosen->cu];
    cus.push_back(chosen->cu);
    if (++engine == places.end()) engine = places.begin();
  }
  return cus;
}

// ---- fill ----

std::uint64_t place_of(const FillTask& task, std::uint32_t chain, std::uint32_t position) {
  std::uint64_t element = task.reversed[chain] != 0 ? task.count - 1 - position : position;
  if (task.tables[chain] != 0) element = at<std::uint32_t>(task.tables[chain] + 4ull * position);
  return element * task.stride_bytes + (2 * element >= task.count ? task.skew_bytes : 0) +
         ((element * task.stagger_bytes) & task.stagger_mask) + 8ull * chain;
}

void fill(std::uint64_t tasks, std::uint32_t arrays) {
  for (std::uint32_t i = 0; i < arrays; ++i) {
    const FillTask& task = at<FillTask>(tasks + i * sizeof(FillTask));
    for (std::uint32_t chain = 0; chain < 2; ++chain) {
      for (std::uint32_t position = 0; position < task.visited[chain]; ++position) {
        const std::uint64_t link = task.link_base + place_of(task, chain, (position + 1) % task.visited[chain]);
        const std::uint64_t address = task.address + place_of(task, chain, position);
        if (task.form == LinkForm::kPointer) {
          at<std::uint64_t>(address) = link;
        } else {
          at<std::uint32_t>(address) = static_cast<std::uint32_t>(link);
        }
      }
    }
  }
}

// ---- chase ----

class Chase {
 public:
  Chase() : hierarchy_(state().hierarchy) { hierarchy_.start_program(0, 1); }

  // Starts the task in a block on CU `cu`.
  void begin(const ChaseTask& task, std::uint32_t cu) {
    BlockRecord& record = at<BlockRecord>(task.result);
    record.claimed = 1;
    record.sm = state().machine.info.physical_sm_ids->at(cu);
    record.start_ns = state().ticks;
    record.start_cycles = state().cycles_at(state().ticks);
  }

  void take_step(const ChaseTask& task, std::uint32_t cu, std::uint32_t index) {
    const StepTask& step = at<StepTask>(task.steps + index * sizeof(StepTask));
    const auto space = static_cast<Space>(step.code / kStepCodes);
    const auto kind = static_cast<StepCode>(step.code % kStepCodes);
    double cycles = 0;
    if (kind == StepCode::kTouch) {
      cycles = touch(step, space, cu);
    } else if (kind == StepCode::kStore) {
      cycles = store(step, space, cu);
    } else {
      cycles = follow(task, step, space, kind, cu);
    }
    at<StepRecord>(step.result).cycles =
        static_cast<std::uint64_t>(std::llround(is("stopped") ? cycles / 1000 : cycles));
    state().ticks += static_cast<std::uint64_t>(cycles * kWallClockKhz / (state().clock_mhz() * 1e3)) + 1;
  }

  static void end(const ChaseTask& task) {
    BlockRecord& record = at<BlockRecord>(task.result);
    record.end_ns = state().ticks;
    record.end_cycles = state().cycles_at(state().ticks);
  }

 private:
  double touch(const StepTask& step, Space space, std::uint32_t cu) {
    std::vector<sim::Path> paths;
    for (std::uint32_t wavefront = 0; wavefront < kTouchThreads / kWavefront; ++wavefront) {
      paths.push_back(hierarchy_.path_of(space, wavefront, cu));
    }
    double cycles = 0;
    std::array<std::uint64_t, kWavefront> addresses;
    std::array<double, kWavefront> latencies;
    for (std::uint64_t first = 0; first < step.loads; first += kWavefront) {
      const std::uint64_t count = std::min<std::uint64_t>(kWavefront, step.loads - first);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t place = first + i;
        const std::uint64_t element =
            step.table == 0 ? place : at<std::uint32_t>(step.table + place * sizeof(std::uint32_t));
        addresses[i] = step.base + element * step.stride_bytes + (2 * element >= step.loads ? step.skew_bytes : 0) +
                       ((element * step.stagger_bytes) & step.stagger_mask);
      }
      const sim::Path& path = paths[first % kTouchThreads / kWavefront];
      hierarchy_.load(path, std::span(addresses).first(count), latencies.data());
      for (std::uint64_t i = 0; i < count; ++i) cycles += latencies[i] / kTouchThreads;
    }
    return cycles;
  }

  double follow(const ChaseTask& task, const StepTask& step, Space space, StepCode kind, std::uint32_t cu) {
    const sim::Path path = hierarchy_.path_of(space, step.thread / kWavefront, cu);
    auto* const histogram = reinterpret_cast<std::uint32_t*>(step.result + sizeof(StepRecord));
    const bool counts = kind == StepCode::kTimed || kind == StepCode::kPaired;
    if (counts) std::fill_n(histogram, kHistogramBins, 0u);
    const std::size_t per_link = kind == StepCode::kPaired ? 2 : 1;
    std::array<std::uint64_t, 2 * kWavefront> addresses;
    std::array<double, 2 * kWavefront> latencies;
    double cycles = 0;
    std::uint64_t link = step.start;
    for (std::uint32_t first = 0; first < step.loads; first += kWavefront) {
      const std::uint32_t count = std::min(kWavefront, step.loads - first);
      for (std::uint32_t i = 0; i < count; ++i) {
        std::fill_n(&addresses[i * per_link], per_link, link);
        // Links of shared arrays are offsets into the image that the block copied.
        link = space == Space::kShared ? at<std::uint32_t>(task.shared_image + link) : at<std::uint64_t>(link);
      }
      hierarchy_.load(path, std::span(addresses).first(count * per_link), latencies.data());
      for (std::uint32_t i = 0; i < count; ++i) {
        double shown = latencies[i * per_link] + state().machine.timer_cycles;
        cycles += latencies[i * per_link];
        if (kind == StepCode::kPaired) {
          cycles += latencies[2 * i + 1];
          shown = latencies[2 * i] - latencies[2 * i + 1] + kPairedZeroCycles;
        }
        if (!counts) continue;
        const auto raw = static_cast<std::uint32_t>(std::llround(shown));
        ++histogram[std::min(raw / kHistogramBinCycles, kHistogramBins - 1)];
        if (first + i < step.cap) histogram[kHistogramBins + first + i] = raw;
      }
    }
    return cycles;
  }

  double store(const StepTask& step, Space space, std::uint32_t cu) {
    const sim::Path path = hierarchy_.path_of(space, step.thread / kWavefront, cu);
    double cycles = 0;
    for (std::uint64_t i = 0; i < step.loads; ++i) {
      const auto link = [&](std::uint64_t element) { return step.base + element % step.elements * step.stride_bytes; };
      cycles += hierarchy_.store(path, link(i));
      at<std::uint64_t>(link(i)) = link(i + 1);
      at<std::uint64_t>(link(i) + 8) = link(i + step.elements - 1) + 8;
    }
    return cycles;
  }

  sim::Hierarchy& hierarchy_;
};

void chase(std::uint64_t tasks, std::uint32_t count, bool by_block, std::uint32_t blocks, std::uint64_t shared_bytes) {
  Chase run;
  struct Claimed {
    const ChaseTask* task;
    std::uint32_t cu;
  };
  std::vector<Claimed> claimed;
  std::uint32_t next = 0;
  place_blocks(blocks, shared_bytes, [&](std::uint32_t cu) -> std::uint64_t {
    const std::uint32_t block = next++;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ChaseTask& task = at<ChaseTask>(tasks + i * sizeof(ChaseTask));
      const bool mine = by_block ? i == block : task.wanted_sm == state().machine.info.physical_sm_ids->at(cu);
      if (!mine) continue;
      if (at<BlockRecord>(task.result).claimed != 0) return 0;
      run.begin(task, cu);
      claimed.push_back({&task, cu});
      return task.turn == 0 ? kProgram : kForever;  // blocks that take turns wait for one another
    }
    return at<ChaseTask>(tasks).patience_cycles;
  });
  for (const Claimed& block : claimed) {
    if (block.task->turn != 0) continue;
    for (std::uint32_t step = 0; step < block.task->step_count; ++step) run.take_step(*block.task, block.cu, step);
  }
  for (std::uint32_t step = 0; !claimed.empty() && step < claimed.front().task->step_count; ++step) {
    for (const Claimed& block : claimed) {
      const bool turns =
          block.task->turn != 0 && at<StepTask>(block.task->steps + step * sizeof(StepTask)).slot == block.task->slot;
      if (turns) run.take_step(*block.task, block.cu, step);
    }
  }
  for (const Claimed& block : claimed) Chase::end(*block.task);
}

// ---- spin, stream ----

void record_block(std::uint64_t records, std::uint32_t block, std::uint32_t cu, std::uint64_t begin,
                  std::uint64_t end) {
  BlockRecord& record = at<BlockRecord>(records + block * sizeof(BlockRecord));
  record.start_ns = begin;
  record.end_ns = end;
  record.start_cycles = state().cycles_at(begin);
  record.end_cycles = state().cycles_at(end);
  record.sm = state().machine.info.physical_sm_ids->at(cu);
}

// Records blocks on these CUs that run for `ticks`.
void spend(std::uint64_t records, const std::vector<std::uint32_t>& cus, std::uint64_t ticks) {
  const std::uint64_t begin = state().ticks;
  state().ticks += std::max<std::uint64_t>(1, ticks);
  for (std::uint32_t block = 0; block < cus.size(); ++block) {
    record_block(records, block, cus[block], begin, state().ticks);
  }
}

void spend(std::uint64_t records, std::uint32_t blocks, std::uint64_t shared_bytes, std::uint64_t ticks) {
  spend(records, place_blocks(blocks, shared_bytes, [&](std::uint32_t) { return std::max<std::uint64_t>(1, ticks); }),
        ticks);
}

template <typename T>
T argument(void** parameters, std::size_t index) {
  return *static_cast<T*>(parameters[index]);
}

// The value of a constant in the source: "kInFlight = 4u;".
std::uint64_t constant_of(const std::string& source, const std::string& name) {
  const std::size_t found = source.find(name + " = ");
  return found == std::string::npos ? 0 : std::strtoull(source.c_str() + found + name.size() + 3, nullptr, 10);
}

void stream(const FakeFunction& function, unsigned blocks, void** parameters) {
  const std::string& source = function.module->source;
  const auto tiles = argument<std::uint64_t>(parameters, 4);
  const auto passes = argument<std::uint32_t>(parameters, 5);
  const auto threads = argument<std::uint32_t>(parameters, 6);
  const std::uint64_t units = constant_of(source, "kOfWavefronts") != 0 ? threads / kWavefront : threads;
  const double bytes = static_cast<double>(units * constant_of(source, "kVectorBytes") *
                                           constant_of(source, "kInFlight") * constant_of(source, "kArrays")) *
                       static_cast<double>(tiles * passes) *
                       (argument<std::uint64_t>(parameters, 3) != 0 ? static_cast<double>(blocks) : 1.0);
  spend(argument<std::uint64_t>(parameters, 2), blocks, 0,
        static_cast<std::uint64_t>(bytes / kStreamBytesPerSecond * kWallClockKhz * 1e3));
}

// ---- accesses ----

void fill_links(const AccessParameters& p) {
  std::uint64_t target = p.hop_bytes % p.bytes;
  for (std::uint64_t offset = 0; offset < p.bytes; offset += sizeof(std::uint64_t)) {
    at<std::uint64_t>(p.working_set + offset) = p.working_set + target;
    target += sizeof(std::uint64_t);
    if (target >= p.bytes) target -= p.bytes;
  }
}

// Whether the links of a lane lead to the right addresses.
bool follows(const AccessParameters& p, std::uint32_t lane) {
  std::uint64_t offset = std::uint64_t{lane} * p.lane_stride % p.bytes;
  std::uint64_t link = p.working_set + offset;
  for (std::uint32_t i = 0; i < p.rounds; ++i) {
    link = at<std::uint64_t>(link);
    offset = (offset + p.hop_bytes) % p.bytes;
    if (link != p.working_set + offset) return false;
  }
  return true;
}

// The CUs of the blocks that take part and wait for one another. The other blocks of the `grid` exit.
std::vector<std::uint32_t> claimed_by(std::uint64_t claims, std::uint32_t grid, std::uint32_t blocks,
                                      std::uint64_t shared_bytes) {
  std::vector<std::uint32_t> cus;
  place_blocks(grid, shared_bytes, [&](std::uint32_t cu) -> std::uint64_t {
    if (claims != 0) {
      auto& taken = at<std::uint32_t>(claims + 4ull * (1 + state().machine.info.physical_sm_ids->at(cu)));
      if (taken != 0 || cus.size() == blocks) return 0;
      taken = 1;
    }
    cus.push_back(cu);
    return kForever;
  });
  return cus;
}

// `grid` is the number of launched blocks; `blocks` of them take part.
Status access(const AccessKernel& kernel, const AccessParameters& p, std::uint32_t grid, std::uint32_t blocks,
              std::uint32_t threads, std::uint64_t shared_bytes) {
  const std::vector<std::uint32_t> cus = claimed_by(p.claims, grid, blocks, shared_bytes);
  const bool together = cus.size() == blocks && !is("apart");
  const std::uint32_t warps = threads / kWavefront;
  const AccessProgram program{.op = kernel.op,
                              .space = kernel.space,
                              .bytes = p.bytes,
                              .lane_stride_bytes = p.lane_stride,
                              .warp_stride_bytes = p.warp_stride,
                              .hop_bytes = p.hop_bytes,
                              .warps = warps,
                              .every_sm = blocks > 1,
                              .accesses = p.rounds * kAccessUnroll};
  AccessResult result;
  try {
    sim::Noise silence({}, 1, 1);
    result = sim::simulate_access(state().machine, program, 0, state().clock_mhz(), silence);
  } catch (const Error&) {
    return kErrorLaunchFailure;
  }
  const double cycles = result.mean_cycles * program.accesses;
  const std::uint64_t start = state().cycles_at(state().ticks);
  const auto timer = static_cast<std::uint64_t>(state().machine.timer_cycles);
  for (std::uint32_t warp = 0; warp < blocks * warps; ++warp) {
    at<WarpRecord>(p.warp_records + warp * sizeof(WarpRecord)) = {
        start, start + timer + static_cast<std::uint64_t>(std::llround(cycles)), timer};
  }
  spend(p.records, cus, static_cast<std::uint64_t>(cycles * kWallClockKhz / (state().clock_mhz() * 1e3)));
  at<BlockRecord>(p.records).error = together ? 0 : kStartedApart;
  if (kernel.has_pointers() && !follows(p, kWavefront - 1)) at<BlockRecord>(p.records).error = kChainLost;
  return kSuccess;
}

// ---- operations ----

// Assumes 4 cycles for each operation, as for a wavefront on 16 lanes, and four units per CU for all operations.
void operation(const OperationParameters& p, std::uint32_t grid, std::uint32_t blocks, std::uint32_t threads,
               std::uint64_t shared_bytes) {
  constexpr double kCycles = 4;
  constexpr std::uint32_t kUnits = 4;
  const std::vector<std::uint32_t> cus = claimed_by(p.claims, grid, blocks, shared_bytes);
  const std::uint32_t warps = threads / kWavefront;
  const double cycles = kCycles * ((warps + kUnits - 1) / kUnits) * operations_per_round({}) * p.rounds;
  const std::uint64_t start = state().cycles_at(state().ticks);
  const auto timer = static_cast<std::uint64_t>(state().machine.timer_cycles);
  for (std::uint32_t warp = 0; warp < blocks * warps; ++warp) {
    at<WarpRecord>(p.warp_records + warp * sizeof(WarpRecord)) = {
        start, start + timer + static_cast<std::uint64_t>(std::llround(cycles)), timer};
  }
  spend(p.records, cus, static_cast<std::uint64_t>(cycles * kWallClockKhz / (state().clock_mhz() * 1e3)));
  at<BlockRecord>(p.records).error = cus.size() == blocks && !is("apart") ? 0 : kStartedApart;
}

// ---- blocks that stay ----

// As many blocks start at once as fit; the next start when those end. `registers`: per thread; 0: few.
void occupancy(const OccupancyParameters& p, std::uint32_t registers, std::uint32_t grid, std::uint32_t threads,
               std::uint64_t shared_bytes) {
  constexpr std::uint32_t kSharedUnit = 512;
  constexpr std::uint64_t kClockRead = 40;
  constexpr std::uint32_t kRegisterUnit = 8;
  constexpr std::uint32_t kRegistersOfSimd = 512;  // per lane
  constexpr std::uint32_t kSimds = 4;
  const DeviceInfo& info = state().machine.info;
  std::uint64_t fit = std::min(*info.max_blocks_per_sm, *info.max_threads_per_sm / threads);
  if (registers > 0) {
    const std::uint32_t given = (registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    fit = std::min<std::uint64_t>(fit, kSimds * (kRegistersOfSimd / given) / (threads / kWavefront));
  }
  if (shared_bytes > 0) {
    fit = std::min(fit, *info.shared_bytes_per_block / ((shared_bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit));
  }
  const auto ticks = static_cast<std::uint64_t>(p.stay_cycles * kWallClockKhz / (state().clock_mhz() * 1e3)) + 1;
  const std::uint64_t begin = state().ticks;
  std::vector<std::uint32_t> had(info.sm_count);
  const std::vector<std::uint32_t> cus = place_blocks(grid, 0, [&](std::uint32_t) { return ticks; });
  for (std::uint32_t block = 0; block < grid; ++block) {
    const std::uint64_t start = begin + had[cus[block]]++ / fit * ticks;
    record_block(p.records, block, cus[block], start, start + ticks);
    at<ClockRecord>(p.clock_records + block * sizeof(ClockRecord)) = {.timer = start + ticks,
                                                                      .cycles = state().cycles_at(start + ticks),
                                                                      .timer_step = 1,
                                                                      .clock_read = kClockRead,
                                                                      .clock_bits = 0xff};
    state().ticks = std::max(state().ticks, start + ticks);
  }
}

// ---- code ----

void code_sizes(std::uint64_t result) {
  at<std::uint32_t>(result) = kMaxCodeInstructions * state().machine.code->bytes_per_instruction;
  at<std::uint32_t>(result + sizeof(std::uint32_t)) = 256;
}

// The program from which the tasks were made.
InstructionProgram program_of(const CodeParameters& p) {
  const auto& ids = *state().machine.info.physical_sm_ids;
  InstructionProgram program;
  for (std::uint32_t i = 0; i < p.step_count; ++i) {
    const CodeStepTask& task = at<CodeStepTask>(p.steps + i * sizeof(CodeStepTask));
    CodeActor actor{.warp = task.thread / kWavefront};
    if (p.wanted_sm[0] != kAnySm) {
      actor.sm = static_cast<std::uint32_t>(std::find(ids.begin(), ids.end(), p.wanted_sm[task.slot]) - ids.begin());
    }
    const std::uint32_t first = task.begin * kCodeEntryInstructions;
    program.steps.push_back({.actor = i,
                             .first = first,
                             .count = (task.end + 1) * kCodeBlockInstructions - first,
                             .passes = task.passes,
                             .lead = task.lead});
    program.actors.push_back(actor);
  }
  return program;
}

Status code(const CodeParameters& p, std::uint32_t blocks, std::uint64_t shared_bytes) {
  if (!state().machine.code) return kErrorLaunchFailure;
  const InstructionProgram program = program_of(p);
  sim::Noise silence({}, 1, 1);
  const sim::CodeSpec& code = *state().machine.code;
  const sim::CodeBehaviour behaviour = sim::code_behaviour(code, state().hierarchy, program, 0, 1);
  const InstructionResult result = sim::code_result(code, program, behaviour, silence);
  std::uint64_t cycles = 0;
  for (std::uint32_t i = 0; i < p.step_count; ++i) {
    std::uint64_t place = at<CodeStepTask>(p.steps + i * sizeof(CodeStepTask)).result;
    for (const std::uint64_t pass : result.pass_cycles[i]) {
      at<std::uint64_t>(place) = pass;
      place += sizeof(std::uint64_t);
      cycles += pass;
    }
  }
  const auto ticks =
      static_cast<std::uint64_t>(static_cast<double>(cycles) * kWallClockKhz / (state().clock_mhz() * 1e3));
  const std::uint32_t slots = p.wanted_sm[0] == p.wanted_sm[1] ? 1 : 2;
  spend(p.records, slots, 0, ticks);
  const bool named = p.wanted_sm[0] != kAnySm;
  place_blocks(blocks, shared_bytes, [&](std::uint32_t cu) -> std::uint64_t {
    const std::uint32_t sm = state().machine.info.physical_sm_ids->at(cu);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      if (named && p.wanted_sm[slot] != sm) continue;
      BlockRecord& record = at<BlockRecord>(p.records + slot * sizeof(BlockRecord));
      if (record.claimed != 0) return 0;
      record.claimed = is("one_block") && slot == 1 ? 0 : 1;
      record.sm = sm;
      return kForever;
    }
    return p.patience_cycles;
  });
  return kSuccess;
}

Status copy(void* to, const void* from, std::size_t bytes) {
  if (state().pending != kSuccess) return state().pending;
  std::memcpy(to, from, bytes);
  return kSuccess;
}

// ---- transfers ----

constexpr double kBytesPerTick = 500;  // 50 GB/s
constexpr std::uint64_t kTicksOfCopy = 100;
constexpr std::uint64_t kTicksOfAccess = 80;

void move_bytes(std::uint64_t bytes) {
  state().ticks += kTicksOfCopy + static_cast<std::uint64_t>(static_cast<double>(bytes) / kBytesPerTick);
}

// Follows a chain of pointers.
void follow(std::uint64_t link, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) link = at<std::uint64_t>(link);
}

void transfer(const std::string& kernel, unsigned grid, unsigned threads, void** parameters) {
  const auto memory = argument<std::uint64_t>(parameters, 0);
  if (kernel == "read" || kernel == "write") {
    const auto bytes = argument<std::uint64_t>(parameters, 1);
    if (grid * threads == 0 || bytes % 16 != 0) state().pending = kErrorLaunchFailure;
    const auto word = argument<std::uint32_t>(parameters, 3);
    if (kernel == "write") {
      gputopo::test::by_ends(bytes, [&](std::uint64_t begin, std::uint64_t count) {
        std::fill_n(&at<std::uint32_t>(memory + begin), count / sizeof(word), word);
      });
    }
    move_bytes(bytes * argument<std::uint32_t>(parameters, 2));
  } else if (kernel == "load" || kernel == "atomic" || kernel == "atomic_of_gpu") {
    const auto count = argument<std::uint32_t>(parameters, 3);
    for (unsigned block = 0; block < grid; ++block) {
      follow(memory + block * argument<std::uint64_t>(parameters, 1), argument<std::uint32_t>(parameters, 2) + count);
      at<std::uint64_t>(argument<std::uint64_t>(parameters, 4) + 8 * block) = count * kTicksOfAccess;
    }
  } else if (kernel == "store") {
    const auto count = argument<std::uint32_t>(parameters, 2);
    const auto lines = argument<std::uint64_t>(parameters, 1);
    for (std::uint64_t i = 0; i < count; ++i) at<std::uint64_t>(memory + i % lines * kTransferStride) = 1;
    at<std::uint64_t>(argument<std::uint64_t>(parameters, 3)) = count * kTicksOfAccess;
  }
}

Status queued_copy(void* to, const void* from, std::size_t bytes) {
  if (state().pending != kSuccess) return state().pending;
  gputopo::test::by_ends(bytes, [&](std::uint64_t begin, std::uint64_t count) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, count);
  });
  move_bytes(bytes);
  return kSuccess;
}

}  // namespace

extern "C" {

// Clears the state, as a new process would, so that errors of one test do not reach the next.
Status hipInit(unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  instance().emplace();
  return is("no_driver") ? kErrorNotInitialized : kSuccess;
}
Status hipRuntimeGetVersion(int* version) {
  GPUTOPO_MAY_BE_HOSTILE(version);
  *version = is("version") ? std::stoi(setting("version")) : 60'443'484;
  return kSuccess;
}
const char* hipGetErrorName(Status status) {
  switch (status) {
    case kErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case kErrorNotInitialized:
      return "hipErrorNotInitialized";
    case kErrorNoDevice:
      return "hipErrorNoDevice";
    case kErrorIllegalAddress:
      return "hipErrorIllegalAddress";
    case kErrorLaunchFailure:
      return "hipErrorLaunchFailure";
    default:
      return "hipErrorUnknown";
  }
}
const char* hipGetErrorString(Status) { return "what the runtime says of it"; }
Status hipGetDeviceCount(int* count) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  *count = is("no_device") ? 0 : gpu_count();
  return is("no_device") ? kErrorNoDevice : kSuccess;
}
Status hipSetDevice(int) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
Status hipDeviceGetName(char* name, int bytes, int) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{name, static_cast<std::size_t>(bytes)});
  std::strncpy(name, state().machine.info.name.c_str(), static_cast<std::size_t>(bytes) - 1);
  return kSuccess;
}
Status hipDeviceGetPCIBusId(char* address, int bytes, int) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{address, static_cast<std::size_t>(bytes)});
  const std::string text = kPciDevice + (is("partition") ? setting("partition") : "0");
  std::strncpy(address, text.c_str(), static_cast<std::size_t>(bytes) - 1);
  return kSuccess;
}
Status hipDeviceGetAttribute(int* value, DeviceAttribute attribute, int) {
  GPUTOPO_MAY_BE_HOSTILE(value);
  const DeviceInfo& info = state().machine.info;
  const auto answer = [value](std::uint64_t number) {
    *value = static_cast<int>(number);
    return kSuccess;
  };
  const bool of_clocks = attribute == DeviceAttribute::kClockKhz || attribute == DeviceAttribute::kMemoryClockKhz ||
                         attribute == DeviceAttribute::kMemoryBusBits;
  if (is("no_clocks") && of_clocks) return kErrorUnknown;
  switch (attribute) {
    case DeviceAttribute::kClockKhz:
      return answer(static_cast<std::uint64_t>(*info.sm_clock_max_mhz * 1e3));
    case DeviceAttribute::kL2Bytes:
      return answer(*info.l2_bytes);
    case DeviceAttribute::kMaxThreadsPerBlock:
      return answer(*info.max_threads_per_block);
    case DeviceAttribute::kMaxThreadsPerSm:
      return answer(*info.max_threads_per_sm);
    case DeviceAttribute::kMemoryBusBits:
      return answer(*info.memory_bus_bits);
    case DeviceAttribute::kMemoryClockKhz:
      return answer(1'600'000);
    case DeviceAttribute::kSmCount:
      return answer(info.sm_count);
    case DeviceAttribute::kRegistersPerBlock:
    case DeviceAttribute::kRegistersPerSm:
      return answer(65536);
    case DeviceAttribute::kSharedBytesPerBlock:
      return answer(*info.shared_bytes_per_block);
    case DeviceAttribute::kSharedBytesPerSm:
      return answer(*info.shared_bytes_per_block * info.sm_count);  // some versions report the sum over all SMs
    case DeviceAttribute::kWarpSize:
      return answer(kWavefront);
    case DeviceAttribute::kWallClockKhz:
      return is("no_wall_clock") ? kErrorUnknown : answer(kWallClockKhz);
    case DeviceAttribute::kHostNativeAtomicSupported:
    case DeviceAttribute::kIntegrated:
      return answer(0);
    case DeviceAttribute::kXccCount:
      return answer(*info.xcd_count);
  }
  return kErrorUnknown;
}
Status hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  GPUTOPO_MAY_BE_HOSTILE(free_bytes, total_bytes);
  *total_bytes = kMemoryBytes;
  *free_bytes = kMemoryBytes - (1ull << 30);
  return kSuccess;
}
Status hipMalloc(Pointer* address, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE(address);
  if (state().pending != kSuccess) return state().pending;
  const bool is_refused = setting("out_of_memory") == std::to_string(++state().allocation_count);
  if (is_refused || bytes > most_bytes()) return kErrorOutOfMemory;
  void* found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return kErrorOutOfMemory;
  state().allocations[reinterpret_cast<std::uint64_t>(found)] = bytes;
  *address = found;
  return kSuccess;
}
Status hipFree(Pointer address) {
  GPUTOPO_MAY_BE_HOSTILE();
  hang_if_faulted();
  const auto found = state().allocations.find(reinterpret_cast<std::uint64_t>(address));
  if (found == state().allocations.end()) return kErrorIllegalAddress;
  munmap(address, found->second);
  state().allocations.erase(found);
  return kSuccess;
}
Status hipMemcpyHtoD(Pointer to, void* from, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE();
  return copy(to, from, bytes);
}
Status hipMemcpyDtoH(void* to, Pointer from, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{static_cast<char*>(to), bytes});
  return copy(to, from, bytes);
}
Status hipMemset(Pointer address, int value, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (state().pending != kSuccess) return state().pending;
  std::memset(address, value, bytes);
  return kSuccess;
}
Status hipModuleLoadData(ModuleHandle* module, const void* image) {
  GPUTOPO_MAY_BE_HOSTILE(module);
  const std::string text = static_cast<const char*>(image);
  if (text.rfind(kCodeMagic, 0) != 0) return kErrorNoBinaryForGpu;
  state().modules.push_back(std::make_unique<FakeModule>(FakeModule{text.substr(std::strlen(kCodeMagic))}));
  *module = reinterpret_cast<ModuleHandle>(state().modules.back().get());
  return kSuccess;
}
Status hipModuleUnload(ModuleHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  hang_if_faulted();
  return kSuccess;
}
Status hipModuleGetFunction(FunctionHandle* function, ModuleHandle handle, const char* name) {
  GPUTOPO_MAY_BE_HOSTILE(function);
  auto* const module = reinterpret_cast<FakeModule*>(handle);
  const auto has = [&](const char* before) {
    return module->source.find(std::string(before) + " void " + name + "(") != std::string::npos;
  };
  if (!has("KERNEL") && !has(")))")) return kErrorUnknown;
  state().functions.push_back(std::make_unique<FakeFunction>(FakeFunction{module, name}));
  *function = reinterpret_cast<FunctionHandle>(state().functions.back().get());
  return kSuccess;
}
Status hipExtStreamCreateWithCUMask(StreamHandle* stream, std::uint32_t words, const std::uint32_t* mask) {
  GPUTOPO_MAY_BE_HOSTILE(stream);
  if (state().pending != kSuccess) return state().pending;
  if (is("mask_refused")) return kErrorUnknown;
  const std::vector<std::uint32_t> order = cus_of_mask_bits();
  const std::string wrong = setting("mask_wrong");
  const bool shifted = !wrong.empty() && state().counts.streams_made + 1 >= std::stoul(wrong);
  auto made = std::make_unique<FakeStream>();
  for (std::uint32_t bit = 0; bit < order.size(); ++bit) {
    const bool left = bit / 32 < words && (mask[bit / 32] >> bit % 32 & 1) != 0;
    if (left || is("mask_ignored")) made->cus.insert(order[(bit + (shifted ? 1 : 0)) % order.size()]);
  }
  *stream = reinterpret_cast<StreamHandle>(made.get());
  ++state().counts.streams_made;
  state().streams[made.get()] = std::move(made);
  state().counts.most_streams =
      std::max(state().counts.most_streams, static_cast<std::uint32_t>(state().streams.size()));
  return kSuccess;
}
Status hipStreamDestroy(StreamHandle stream) {
  GPUTOPO_MAY_BE_HOSTILE();
  hang_if_faulted();
  const FakeStream* const made = known(state().streams, stream);
  if (made == nullptr || made->is_captured) return kErrorUnknown;
  return state().streams.erase(reinterpret_cast<FakeStream*>(stream)) == 1 ? kSuccess : kErrorUnknown;
}
Status hipStreamCreateWithFlags(StreamHandle* stream, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(stream);
  if (state().pending != kSuccess) return state().pending;
  auto made = std::make_unique<FakeStream>();
  made->is_masked = false;
  for (std::uint32_t cu = 0; cu < state().machine.info.sm_count; ++cu) made->cus.insert(cu);
  *stream = reinterpret_cast<StreamHandle>(made.get());
  state().streams[made.get()] = std::move(made);
  return kSuccess;
}
// Queued work runs at once, whatever the gate says.
Status hipStreamWaitValue32(StreamHandle, void*, std::uint32_t, unsigned, std::uint32_t) {
  GPUTOPO_MAY_BE_HOSTILE();
  return is("no_gate") ? kErrorUnknown : state().pending;
}
Status hipExtMallocWithFlags(Pointer* address, std::size_t bytes, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(address);
  return is("no_gate") ? kErrorOutOfMemory : hipMalloc(address, bytes);
}
Status hipEventCreateWithFlags(EventHandle* event, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(event);
  auto made = std::make_unique<FakeEvent>();
  *event = reinterpret_cast<EventHandle>(made.get());
  state().events[made.get()] = std::move(made);
  return kSuccess;
}
Status hipEventRecord(EventHandle event, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  state().events.at(reinterpret_cast<FakeEvent*>(event))->tick = state().ticks;
  return state().pending;
}
Status hipEventElapsedTime(float* milliseconds, EventHandle from, EventHandle to) {
  GPUTOPO_MAY_BE_HOSTILE(milliseconds);
  const auto tick = [](EventHandle event) {
    return static_cast<double>(state().events.at(reinterpret_cast<FakeEvent*>(event))->tick);
  };
  *milliseconds = static_cast<float>((tick(to) - tick(from)) / kWallClockKhz);
  return kSuccess;
}
Status hipEventDestroy(EventHandle event) {
  GPUTOPO_MAY_BE_HOSTILE();
  return state().events.erase(reinterpret_cast<FakeEvent*>(event)) == 1 ? kSuccess : kErrorUnknown;
}
Status hipMemcpyHtoDAsync(Pointer to, void* from, std::size_t bytes, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return queued_copy(to, from, bytes);
}
Status hipMemcpyDtoHAsync(void* to, Pointer from, std::size_t bytes, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return queued_copy(to, from, bytes);
}
Status hipMemcpyPeerAsync(Pointer to, int, const void* from, int, std::size_t bytes, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (!is("bent_link")) return queued_copy(to, from, bytes);
  move_bytes(bytes);
  return state().pending;
}
Status hipHostRegister(void*, std::size_t bytes, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  return bytes > most_bytes() ? kErrorOutOfMemory : state().pending;
}
Status hipHostUnregister(void*) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
Status hipHostGetDevicePointer(Pointer* address, void* host, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(address);
  *address = host;
  return kSuccess;
}
Status hipDeviceCanAccessPeer(int* answer, int, int) {
  GPUTOPO_MAY_BE_HOSTILE(answer);
  *answer = 1;
  return kSuccess;
}
Status hipDeviceEnablePeerAccess(int, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
Status hipDeviceGetP2PAttribute(int* value, PeerAttribute, int, int) {
  GPUTOPO_MAY_BE_HOSTILE(value);
  *value = 1;
  return kSuccess;
}
Status hipStreamBeginCapture(StreamHandle stream, int) {
  GPUTOPO_MAY_BE_HOSTILE();
  FakeStream* const captured = known(state().streams, stream);
  if (captured == nullptr) return kErrorUnknown;
  captured->is_captured = true;
  captured->captured = 0;
  return state().pending;
}
Status hipStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  GPUTOPO_MAY_BE_HOSTILE(graph);
  FakeStream* const captured = known(state().streams, stream);
  if (captured == nullptr || !captured->is_captured) return kErrorUnknown;
  captured->is_captured = false;
  auto made = std::make_unique<FakeGraph>(FakeGraph{captured->captured});
  *graph = reinterpret_cast<GraphHandle>(made.get());
  state().graphs[made.get()] = std::move(made);
  return state().pending;
}
Status hipGraphInstantiate(GraphExecHandle* executable, GraphHandle graph, GraphNodeHandle*, char*, std::size_t) {
  GPUTOPO_MAY_BE_HOSTILE(executable);
  const FakeGraph* const captured = known(state().graphs, graph);
  if (captured == nullptr) return kErrorUnknown;
  auto made = std::make_unique<FakeGraph>(*captured);
  *executable = reinterpret_cast<GraphExecHandle>(made.get());
  state().graphs[made.get()] = std::move(made);
  return state().pending;
}
Status hipGraphLaunch(GraphExecHandle executable, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  const FakeGraph* const graph = known(state().graphs, executable);
  if (graph == nullptr) return kErrorUnknown;
  state().ticks += graph->launches;
  return state().pending;
}
Status hipGraphExecDestroy(GraphExecHandle executable) {
  GPUTOPO_MAY_BE_HOSTILE();
  hang_if_faulted();
  return state().graphs.erase(reinterpret_cast<FakeGraph*>(executable)) == 1 ? kSuccess : kErrorUnknown;
}
Status hipGraphDestroy(GraphHandle graph) {
  GPUTOPO_MAY_BE_HOSTILE();
  hang_if_faulted();
  return state().graphs.erase(reinterpret_cast<FakeGraph*>(graph)) == 1 ? kSuccess : kErrorUnknown;
}
Status hipModuleLaunchKernel(FunctionHandle handle, unsigned grid_x, unsigned grid_y, unsigned, unsigned block_x,
                             unsigned, unsigned, unsigned shared_bytes, StreamHandle on, void** parameters, void**) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (state().pending != kSuccess) return state().pending;
  if (block_x > 1024 || block_x % kWavefront != 0 || shared_bytes > *state().machine.info.shared_bytes_per_block)
    return kErrorLaunchFailure;
  ++state().launch_count;
  if (setting("lost_after") == std::to_string(state().launch_count)) state().pending = kErrorUnknown;
  if (is("launch_failed")) state().pending = kErrorLaunchFailure;
  if (is("illegal_address")) state().pending = kErrorIllegalAddress;
  if (state().pending != kSuccess) return kSuccess;  // the synchronization reports it
  const auto& function = *reinterpret_cast<FakeFunction*>(handle);
  FakeStream* const stream_of_launch = on == nullptr ? nullptr : known(state().streams, on);
  if (on != nullptr && stream_of_launch == nullptr) return kErrorUnknown;
  if (stream_of_launch != nullptr && stream_of_launch->is_captured) {
    ++stream_of_launch->captured;
    return kSuccess;
  }
  state().allowed.clear();
  if (stream_of_launch != nullptr) {
    state().allowed = stream_of_launch->cus;
    if (stream_of_launch->is_masked) ++state().counts.masked_launches;
  } else {
    for (std::uint32_t cu = 0; cu < state().machine.info.sm_count; ++cu) state().allowed.insert(cu);
  }
  state().counts.blocks = grid_x * grid_y;
  if (function.name == "fill") fill(argument<std::uint64_t>(parameters, 0), grid_y);
  if (function.name == "chase") {
    chase(argument<std::uint64_t>(parameters, 0), argument<std::uint32_t>(parameters, 1),
          argument<std::uint32_t>(parameters, 2) != 0, grid_x, shared_bytes);
  }
  if (is("no_wall_clock")) state().ticks = std::max(state().ticks, host_ticks());
  if (function.name == "spin")
    spend(argument<std::uint64_t>(parameters, 0), grid_x, shared_bytes, argument<std::uint64_t>(parameters, 1));
  if (function.name == "stream") stream(function, grid_x, parameters);
  if (constexpr std::string_view kName = "occupancy_"; function.name.starts_with(kName)) {
    const auto registers = static_cast<std::uint32_t>(std::stoul(function.name.substr(kName.size())));
    occupancy(argument<OccupancyParameters>(parameters, 0), registers, grid_x, block_x, shared_bytes);
  }
  if (function.name == "code_sizes") code_sizes(argument<std::uint64_t>(parameters, 0));
  if (function.name == "code") state().pending = code(argument<CodeParameters>(parameters, 0), grid_x, shared_bytes);
  if (function.name.starts_with("operation_")) {
    operation(argument<OperationParameters>(parameters, 0), grid_x, argument<std::uint32_t>(parameters, 1),
              argument<std::uint32_t>(parameters, 2), shared_bytes);
  }
  transfer(function.name, grid_x, block_x, parameters);
  if (function.name == "fill_links") fill_links(argument<AccessParameters>(parameters, 0));
  for (const AccessKernel& kernel : kAccessKernels) {
    if (function.name == kernel.name()) {
      state().pending = access(kernel, argument<AccessParameters>(parameters, 0), grid_x,
                               argument<std::uint32_t>(parameters, 1), block_x, shared_bytes);
    }
  }
  return kSuccess;
}
Status hipDeviceSynchronize() {
  GPUTOPO_MAY_BE_HOSTILE();
  if (setting("memory_fault") == std::to_string(state().launch_count)) fault();
  return state().pending;
}
int hsa_amd_register_system_event_handler(int (*call)(const SystemEvent*, void*), void* data) {
  GPUTOPO_MAY_BE_HOSTILE();
  event_handler = {call, data};
  return 0;
}
const test::FakeHipCounts* fake_hip_counts() { return &state().counts; }
Status hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int threads, std::size_t) {
  GPUTOPO_MAY_BE_HOSTILE(blocks);
  *blocks = 2048 / threads;
  return kSuccess;
}

// ---- the compiler ----

CompileStatus hiprtcCreateProgram(ProgramHandle* program, const char* source, const char*, int, const char* const*,
                                  const char* const*) {
  GPUTOPO_MAY_BE_HOSTILE(program);
  *program = reinterpret_cast<ProgramHandle>(new FakeProgram{source, {}, {}});
  return 0;
}
CompileStatus hiprtcCompileProgram(ProgramHandle handle, int count, const char* const* options) {
  GPUTOPO_MAY_BE_HOSTILE();
  auto& program = *reinterpret_cast<FakeProgram*>(handle);
  const bool has_target = std::any_of(options, options + count, [](const char* option) {
    return std::string(option).rfind("--offload-arch=gfx9", 0) == 0;
  });
  if (is("bad_source") || !has_target) {
    program.log = "gputopo.hip:1:1: error: what the compiler says\n";
    return 6;
  }
  program.code = kCodeMagic + program.source;
  return 0;
}
CompileStatus hiprtcGetProgramLogSize(ProgramHandle handle, std::size_t* bytes) {
  GPUTOPO_MAY_BE_HOSTILE(bytes);
  *bytes = reinterpret_cast<FakeProgram*>(handle)->log.size() + 1;
  return 0;
}
CompileStatus hiprtcGetProgramLog(ProgramHandle handle, char* log) {
  GPUTOPO_MAY_BE_HOSTILE();
  std::strcpy(log, reinterpret_cast<FakeProgram*>(handle)->log.c_str());
  return 0;
}
CompileStatus hiprtcGetCodeSize(ProgramHandle handle, std::size_t* bytes) {
  GPUTOPO_MAY_BE_HOSTILE(bytes);
  *bytes = reinterpret_cast<FakeProgram*>(handle)->code.size() + 1;
  return 0;
}
CompileStatus hiprtcGetCode(ProgramHandle handle, char* code) {
  GPUTOPO_MAY_BE_HOSTILE();
  std::strcpy(code, reinterpret_cast<FakeProgram*>(handle)->code.c_str());
  return 0;
}
CompileStatus hiprtcDestroyProgram(ProgramHandle* handle) {
  GPUTOPO_MAY_BE_HOSTILE();
  delete reinterpret_cast<FakeProgram*>(*handle);
  *handle = nullptr;
  return 0;
}
const char* hiprtcGetErrorString(CompileStatus) { return "HIPRTC_ERROR_COMPILATION"; }

}  // extern "C"
