#include "support/trial.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cmath>
#include <optional>

#include "device/sim/sim_device.h"
#include "report/words/value_text.h"
#include "support/seeds.h"
#include "support/wide_machine.h"

namespace gputopo::truth {
namespace {

// CPU time of this thread, so that load from other processes does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr double kNanosecond = 1e-9;
  return static_cast<double>(now.tv_sec) + kNanosecond * static_cast<double>(now.tv_nsec);
}

// Whatever the truth is, a value outside its own interval means that one of them is wrong. truths.cpp checks only
// whether the interval holds the truth.
void expect_values_in_their_intervals(const Topology& topology, std::uint64_t seed) {
  // Values are rounded for readers, intervals are not.
  constexpr double kRounding = 0.05;
  constexpr double kRelativeRounding = 1e-3;
  for (const report::ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [name, attribute] : *group.attributes) {
      const std::optional<double> value = attribute.number();
      if (!value || !attribute.low || !attribute.high) continue;
      const double slack = kRounding + kRelativeRounding * std::abs(*value);
      EXPECT_TRUE(*attribute.low - slack <= *value && *value <= *attribute.high + slack) << fmt::format(
          "seed {}: {}.{} is {}, outside of [{}, {}]", seed, group.id, name, *value, *attribute.low, *attribute.high);
    }
  }
}

}  // namespace

Discovered discover_machine(sim::MachineSpec machine, std::uint64_t seed, DiscoverOptions wanted) {
  constexpr double kBudgetSeconds = 1e5;  // never reached: the result must not depend on host load
  wanted.budget_seconds = kBudgetSeconds;
  wanted.seed = seed;
  wanted.keep_samples = false;
  log_if_asked(seed, wanted);
  Topology topology = discover(*sim::make_sim_device(machine, seed, 1), wanted);
  expect_values_in_their_intervals(topology, seed);
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

Tally tally_wide_machines(std::uint64_t machines, const std::function<bool(const Truth&)>& is_asked) {
  Tally tally;
  const auto judged_values = [&](std::uint64_t seed) {
    const sim::MachineSpec machine = wide_machine(seed);
    std::vector<Truth> truths = truths_of(machine);
    std::erase_if(truths, [&](const Truth& truth) { return !is_asked(truth); });
    if (truths.empty()) return std::vector<Judged>();
    std::vector<Judged> values = try_machine(machine, seed, truths).values;
    for (Judged& judged : values) judged.text = fmt::format("seed {}: {}", seed, judged.text);
    return values;
  };
  const auto add = [&](const std::vector<Judged>& some) {
    for (const Judged& judged : some) {
      switch (judged.verdict) {
        case Verdict::kRight:
        case Verdict::kClose:
          ++tally.right;
          break;
        case Verdict::kFlagged:
          ++tally.flagged;
          break;
        case Verdict::kSilent:
        case Verdict::kRightlySilent:
          ++tally.silent;
          break;
        case Verdict::kConfidentlyWrong:
          ++tally.wrong;
          tally.text += judged.text + "\n";
          break;
      }
    }
  };
  judge_seeds(first_seed(), machines, judged_values, add);
  fmt::print("{} values are right, {} wrong, {} flagged, {} silent\n{}", tally.right, tally.wrong, tally.flagged,
             tally.silent, tally.text);
  return tally;
}

}  // namespace gputopo::truth
