#include "support/trial.h"

#include <time.h>

#include "support/seeds.h"

namespace gputopo::truth {
namespace {

// Of this thread: what others take beside it does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr double kNanosecond = 1e-9;
  return static_cast<double>(now.tv_sec) + kNanosecond * static_cast<double>(now.tv_nsec);
}

}  // namespace

Discovered discover_machine(sim::MachineSpec machine, std::uint64_t seed, DiscoverOptions wanted) {
  constexpr double kBudgetSeconds = 600;  // of a run on a GPU: the simulator takes longer than what it plays
  wanted.budget_seconds = kBudgetSeconds;
  wanted.seed = seed;
  wanted.keep_samples = false;
  log_if_asked(seed, wanted);
  Topology topology = discover(*sim::make_sim_device(machine, seed, 1), wanted);
  return {seed, std::move(machine), std::move(topology)};
}

Trial try_machine(const sim::MachineSpec& machine, std::uint64_t seed, const std::vector<Truth>& truths) {
  DiscoverOptions options;
  options.elements = names_of(truths);
  const double begin = cpu_seconds();
  const Discovered found = discover_machine(machine, seed, std::move(options));
  Trial trial{.seconds = cpu_seconds() - begin};
  for (const Truth& truth : truths) trial.values.push_back(judge(truth, found.topology));
  return trial;
}

}  // namespace gputopo::truth
