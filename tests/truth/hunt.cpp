// Looks for machines that fool gputopo: hunt MINUTES [FIRST_SEED [FOLDER]]. Draws machines from the extended prior. If
// a value is confidently wrong, simplifies the machine as long as the value stays wrong. Writes the result as a machine
// file, with the command that shows the error.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "support/machine_text.h"
#include "support/random_machine.h"
#include "support/trial.h"
#include "support/wide_machine.h"

namespace gputopo::truth {
namespace {

using Clock = std::chrono::steady_clock;
using sim::CacheSpec;
using sim::MachineSpec;

// ---- Ways to make a machine simpler ----

using Step = std::function<void(MachineSpec&)>;

Step for_each_cache(void (*change)(CacheSpec&)) {
  return [change](MachineSpec& machine) { std::ranges::for_each(machine.caches, change); };
}

void use_one_cache_for_all(MachineSpec& machine) {
  for (const Space space : {Space::kTexture, Space::kReadOnly}) {
    if (machine.spaces.contains(space)) machine.spaces[space] = machine.spaces.at(Space::kGlobal);
  }
}

void take_constant_l15(MachineSpec& machine) {
  if (!machine.spaces.contains(Space::kConstant)) return;
  std::erase_if(machine.spaces.at(Space::kConstant).path,
                [](const sim::PathStop& stop) { return stop.cache == "constant_l15"; });
}

void round_latencies(MachineSpec& machine) {
  for (auto& [space, spec] : machine.spaces) {
    for (sim::PathStop& stop : spec.path) {
      stop.latency_cycles = std::round(stop.latency_cycles);
      stop.far_latency_cycles = std::round(stop.far_latency_cycles);
    }
    spec.memory_latency_cycles = std::round(spec.memory_latency_cycles);
  }
}

std::vector<Step> steps_of(const MachineSpec& machine) {
  std::vector<Step> steps = {
      [](MachineSpec& m) { m.noise = {}; },
      [](MachineSpec& m) { m.noise.interference_probability = 0; },
      [](MachineSpec& m) { m.noise.drift_fraction = 0; },
      [](MachineSpec& m) { m.noise.outlier_probability = 0; },
      [](MachineSpec& m) { m.noise.jitter_cycles /= 2; },
      [](MachineSpec& m) { m.tlbs.clear(); },
      [](MachineSpec& m) { m.tlbs.resize(std::min<std::size_t>(m.tlbs.size(), 1)); },
      [](MachineSpec& m) { m.code.reset(); },
      [](MachineSpec& m) { m.banks.reset(); },
      [](MachineSpec& m) { m.loop_cycles = 0; },
      [](MachineSpec& m) { m.timer_cycles = 4; },
      take_partitions,
      use_one_cache_for_all,
      take_constant_l15,
      round_latencies,
      for_each_cache([](CacheSpec& cache) { cache.index = sim::IndexHash::kModulo; }),
      for_each_cache([](CacheSpec& cache) {
        cache.replacement = sim::Replacement::kLru;
        cache.victim_weights.clear();
      }),
      for_each_cache([](CacheSpec& cache) { cache.sector_bytes = cache.line_bytes; }),
      for_each_cache([](CacheSpec& cache) { cache.instances = 1; }),
      for_each_cache([](CacheSpec& cache) { cache.set_interleave_bytes = 0; }),
      for_each_cache([](CacheSpec& cache) {
        cache.write_policy.reset();
        cache.write_allocate.reset();
        cache.store_hit = sim::StoreHit::kUpdate;
      }),
  };
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {
    steps.push_back([i](MachineSpec& m) { m.caches[i].index = sim::IndexHash::kModulo; });
    steps.push_back([i](MachineSpec& m) {
      m.caches[i].replacement = sim::Replacement::kLru;
      m.caches[i].victim_weights.clear();
    });
    steps.push_back([i](MachineSpec& m) { m.caches[i].sector_bytes = m.caches[i].line_bytes; });
  }
  return steps;
}

// ---- The hunt ----

// The text of this value if it is still confidently wrong, otherwise empty.
std::string wrong_text(const MachineSpec& machine, std::uint64_t seed, const std::string& element,
                       const std::string& attribute) {
  std::vector<Truth> truths = truths_of(machine);
  std::erase_if(truths, [&](const Truth& truth) { return truth.element != element || truth.attribute != attribute; });
  if (truths.empty()) return "";
  const Judged judged = try_machine(machine, seed, truths).values.front();
  return judged.verdict == Verdict::kConfidentlyWrong ? judged.text : "";
}

struct Catch {
  MachineSpec machine;
  std::string text;
};

Catch shrink(Catch caught, std::uint64_t seed, const Truth& truth) {
  bool simpler = true;
  while (simpler) {
    simpler = false;
    for (const Step& step : steps_of(caught.machine)) {
      MachineSpec candidate = caught.machine;
      step(candidate);
      if (machine_text(candidate, "") == machine_text(caught.machine, "")) continue;
      try {
        std::string text = wrong_text(candidate, seed, truth.element, truth.attribute);
        if (text.empty()) continue;
        caught = {std::move(candidate), std::move(text)};
        simpler = true;
      } catch (const Error&) {
        continue;  // the candidate is not a valid machine
      }
    }
  }
  return caught;
}

class Hunter {
 public:
  Hunter(Clock::time_point end, std::uint64_t first_seed, std::filesystem::path folder)
      : end_(end), next_(first_seed), folder_(std::move(folder)) {}

  void run() {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([this] {
        while (Clock::now() < end_) hunt(next_++);
      });
    }
  }
  [[nodiscard]] int catches() const { return catches_; }

 private:
  void hunt(std::uint64_t seed) {
    const MachineSpec machine = extended_machine(seed);
    const Trial trial = try_machine(machine, seed, truths_of(machine));
    for (const Judged& judged : trial.values) {
      if (judged.verdict != Verdict::kConfidentlyWrong) continue;
      // The value may be right when measured alone. Then only the whole discovery shows the error.
      std::string alone = wrong_text(machine, seed, judged.truth.element, judged.truth.attribute);
      if (alone.empty()) {
        write(machine, seed, judged.truth, judged.text + " (with all else that is discovered)");
        continue;
      }
      const Catch caught = shrink({machine, std::move(alone)}, seed, judged.truth);
      write(caught.machine, seed, judged.truth, caught.text);
    }
  }

  void write(const MachineSpec& machine, std::uint64_t seed, const Truth& truth, const std::string& text) {
    const std::filesystem::path file = folder_ / fmt::format("{}_{}_{}.json", truth.element, truth.attribute, seed);
    const std::string command = fmt::format("gputopo --device sim:{} --seed {} --only {}.{}", file.string(), seed,
                                            truth.element, truth.attribute);
    const std::lock_guard lock(mutex_);
    write_file(file.string(), machine_text(machine, text + "; " + command));
    fmt::print("{}\n  {}\n", text, command);
    std::fflush(stdout);
    ++catches_;
  }

  Clock::time_point end_;
  std::atomic<std::uint64_t> next_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  int catches_ = 0;
};

int hunt(int argc, char** argv) {
  const double minutes = argc > 1 ? std::strtod(argv[1], nullptr) : 10;
  // Draws other machines each time, unless a seed is given.
  const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : now % 1'000'000'000;
  const std::filesystem::path folder = argc > 3 ? argv[3] : "build/hunt";
  std::filesystem::create_directories(folder);
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(60 * minutes));
  Hunter hunter(Clock::now() + limit, first, folder);
  hunter.run();
  fmt::print("{} confidently wrong values from seed {} on; the machines are in {}\n", hunter.catches(), first,
             folder.string());
  return hunter.catches() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gputopo::truth

int main(int argc, char** argv) { return gputopo::truth::hunt(argc, argv); }
