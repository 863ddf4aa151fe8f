// Simulated loads per second (items_per_second), by cache size, replacement and order; and the cost of a recording.
#include <benchmark/benchmark.h>

#include "device/replay/recording.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"

namespace gputopo {
namespace {

sim::MachineSpec machine_with(std::uint64_t size_bytes, std::uint32_t ways, sim::Replacement replacement) {
  sim::MachineSpec machine;
  machine.info.name = "benchmark";
  machine.info.memory_bytes = 1ull << 36;
  machine.noise = {.jitter_cycles = 1, .outlier_probability = 0.001, .outlier_cycles = 200};
  machine.caches = {{.id = "l1", .size_bytes = size_bytes, .ways = ways, .replacement = replacement}};
  machine.spaces[Space::kGlobal] = {{{.cache = "l1", .latency_cycles = 30}}, 500};
  return machine;
}

// Counted loads of a warm array whose size is `footprint_percent` of the cache size.
void simulated_loads(benchmark::State& state, sim::Replacement replacement, Order order) {
  const auto size_bytes = static_cast<std::uint64_t>(state.range(0));
  const auto ways = static_cast<std::uint32_t>(state.range(1));
  const auto footprint_percent = static_cast<std::uint64_t>(state.range(2));
  const auto device = make_sim_device(machine_with(size_bytes, ways, replacement), 1);
  ChaseProgram program;
  program.arrays = {{.bytes = size_bytes / 100 * footprint_percent, .stride_bytes = 128, .order = order}};
  program.actors = {{}};
  const std::uint64_t loads = std::max<std::uint64_t>(1 << 20, 4 * program.arrays[0].element_count());
  program.steps = {{.kind = StepKind::kTouch}, {.kind = StepKind::kCounted, .loads = loads}};
  for (auto unused : state) {
    ++program.timed_cap;  // otherwise the device would reuse its answer
    const Program one = program;
    benchmark::DoNotOptimize(device->run({&one, 1}));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(loads + program.arrays[0].element_count()));
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "ways", "percent"})->Unit(benchmark::kMillisecond);
  for (const std::int64_t percent : {50, 150}) {
    bench->Args({16 << 10, 4, percent})->Args({256 << 10, 128, percent})->Args({256 << 10, 0, percent});
    bench->Args({64 << 20, 16, percent});
  }
}

BENCHMARK_CAPTURE(simulated_loads, lru_sequential, sim::Replacement::kLru, Order::kSequential)->Apply(shapes);
BENCHMARK_CAPTURE(simulated_loads, lru_shuffled, sim::Replacement::kLru, Order::kShuffled)->Apply(shapes);
BENCHMARK_CAPTURE(simulated_loads, random_sequential, sim::Replacement::kRandom, Order::kSequential)->Apply(shapes);

// The gain from equal programs (copies), and from programs with an equal warm-up but a sample of their own. Skipped
// loads count as loads.
void programs_that_share(benchmark::State& state, bool copies) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const auto device = make_sim_device(machine_with(256 << 10, 128, sim::Replacement::kLru), 1);
  ChaseProgram program;
  program.arrays = {{.bytes = kBytes, .stride_bytes = 128, .second_order = Order::kShuffled}};
  program.actors = {{}};
  const std::uint64_t warm_loads = program.arrays[0].element_count();
  constexpr std::uint64_t kSample = 64;
  program.steps = {{.kind = StepKind::kWarm, .loads = warm_loads},
                   {.kind = StepKind::kCounted, .loads = kSample, .chain = 1}};
  for (auto unused : state) {
    if (!copies) ++program.arrays[0].seed;
    const Program one = program;
    benchmark::DoNotOptimize(device->run({&one, 1}));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(warm_loads + kSample));
}
BENCHMARK_CAPTURE(programs_that_share, equal, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(programs_that_share, equal_warm_up, false)->Unit(benchmark::kMicrosecond);

void parse_a_machine(benchmark::State& state) {
  const std::string text = *sim::builtin_machine("h200");
  for (auto unused : state) benchmark::DoNotOptimize(sim::parse_machine(text));
}
BENCHMARK(parse_a_machine)->Unit(benchmark::kMicrosecond);

void encode_and_decode_a_recording(benchmark::State& state) {
  Recording recording;
  recording.info.name = "benchmark";
  ChaseResult chase;
  chase.steps = {{.loads = 1024, .total_cycles = 40000, .latencies = std::vector<std::uint32_t>(1024, 38)}};
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const ChaseProgram program{.arrays = {{.bytes = 128 * i, .stride_bytes = 128}},
                               .actors = {{}},
                               .steps = {{.kind = StepKind::kTimed, .loads = 1024}}};
    recording.answers[to_text(program)].emplace_back(ProgramResult{.data = chase});
  }
  for (auto unused : state) benchmark::DoNotOptimize(decode_recording(encode_recording(recording)));
}
BENCHMARK(encode_and_decode_a_recording)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gputopo
