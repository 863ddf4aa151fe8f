// Latency: one warp runs a sequence of the operation, each waiting for the one before; more rounds minus fewer, over
// their operations. Throughput: the same sequence on more and more warps, in a block on every SM. If the most warps of
// a block are still bound by latency, each runs four chains in turn. The maximum counts.
//
// What fools it: a compiler that merges operations into one instruction or drops them (the code size reveals this, and
// is reported); an operation that becomes several instructions (the same); operands for which an instruction takes
// another path (division by zero, denormals: the operands stay normal); the registers that an instruction reads (three
// different ones halve some rates: separate rows); a neighbor (programs are repeated). A changing clock does not,
// because all figures are in cycles.
#include "probe/compute/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"
#include "probe/compute/operation_decision.h"
#include "probe/compute/operation_outcome.h"
#include "probe/compute/operation_trials.h"

namespace gputopo::probe {
namespace {

// Keeps the rounded value within its interval.
Attribute rounded_attribute(const ProbeRunner& runner, double value, const PerOperation& found, const char* unit,
                            const char* method) {
  return measured(runner.conditions(), value, unit,
                  stats::Interval{std::min(found.interval.low, value), std::max(found.interval.high, value)}, method);
}

OperationTrial with_copies(OperationTrial trial, std::uint32_t copies) {
  trial.copies = copies;
  return trial;
}

// As many copies of `cycles` cycles each as do not take long.
std::uint32_t copies_within(double cycles) {
  constexpr double kMostCycles = 150e6;
  return static_cast<std::uint32_t>(
      std::clamp<double>(kMostCycles / std::max(cycles, 1.0), OperationTrial::kCopies, OperationTrial::kManyCopies));
}

// What is known about one operation so far.
class Operation {
 public:
  Operation(OperationId id, std::uint32_t lanes, const OperationParameters& parameters)
      : id_(id), lanes_(lanes), parameters_(parameters) {}

  void add(const OperationOutcome& outcome) {
    if (!outcome.first.refusal.empty()) {  // a refused trial of several chains changes nothing that is known
      if (!latency_.value && rates_.empty()) absent_ = unavailable(outcome.why_refused, outcome.first.refusal);
    } else if (!outcome.trial.every_sm) {
      latency_of_ = outcome;
      OperationParameters parameters = parameters_;
      if (warps_per_operation(info_of(id_).type) > 1) parameters.loop_cycles += parameters.wait_cycles;
      latency_ = decide_operation_latency(outcome.fewer, outcome.more, outcome.operations_per_round(), parameters);
    } else {
      const Decision<PerOperation> rate = outcome.throughput(lanes_, parameters_);
      if (rate.value) {
        add_rate(outcome, *rate.value);
      } else {
        undecided_.emplace_back(outcome.trial, outcome.cycles());
        why_no_rate_ = rate.why_not;
      }
    }
  }

  [[nodiscard]] bool lacks_latency() const { return !absent_ && !latency_.value; }

  // Whether the best rate is what this many warps reach when each waits for its own results.
  [[nodiscard]] bool is_bound_by_latency() const {
    if (!latency_.value || rates_.empty()) return false;
    const auto& [outcome, rate] = best();
    const double chains = static_cast<double>(outcome.trial.warps) * outcome.trial.streams * lanes_;
    return rate.value >= parameters_.latency_bound * chains / latency_.value->value;
  }

  // The maximum of many trials is too high whenever one of them was disturbed, and another trial may really be the
  // best. So trials of one copy that come near the maximum run again.
  [[nodiscard]] std::vector<OperationTrial> to_run_again() const {
    constexpr double kNear = 0.93;
    std::vector<OperationTrial> trials;
    for (const auto& [outcome, rate] : rates_) {
      if (outcome.trial.copies == OperationTrial::kCopies || rate.value < kNear * best().second.value) continue;
      trials.push_back(with_copies(outcome.trial, OperationTrial::kCopies));
    }
    return trials;
  }
  // If SMs differ by much, a few runs vary over time, so the best trial gets more copies. If they differ by very much
  // in any trial (fewer warps expose SMs that agree in the best by chance), so do trials near the best, whose runs may
  // all have been slow. Disturbed trials run again, too: they may exceed the best.
  [[nodiscard]] std::vector<OperationTrial> to_run_longer() const {
    constexpr double kUneven = 0.02;
    constexpr double kVeryUneven = 0.1;
    constexpr double kNear = 0.8;
    std::vector<OperationTrial> trials;
    for (const auto& [trial, cycles] : undecided()) trials.push_back(with_copies(trial, copies_within(cycles)));
    if (rates_.empty()) return trials;
    const auto unevenness = [](const Rate& rate) {
      return (rate.second.interval.high - rate.second.interval.low) / rate.second.value;
    };
    const bool is_very_uneven =
        std::ranges::any_of(rates_, [&](const Rate& rate) { return unevenness(rate) >= kVeryUneven; });
    if (!is_very_uneven && unevenness(best()) < kUneven) return trials;
    const double least = (is_very_uneven ? kNear : 1) * best().second.value;
    for (const auto& [outcome, rate] : rates_) {
      const std::uint32_t copies = copies_within(outcome.cycles());
      if (rate.value >= least && outcome.trial.copies < copies) trials.push_back(with_copies(outcome.trial, copies));
    }
    return trials;
  }
  // A disturbed outcome changes nothing that is known.
  void add_longer(const OperationOutcome& outcome) {
    const Decision<PerOperation> rate = outcome.throughput(lanes_, parameters_);
    if (!outcome.first.refusal.empty() || !rate.value) return;
    std::erase_if(undecided_, [&](const Undecided& known) { return known.first.is_same_way(outcome.trial); });
    forget_rate(outcome.trial);
    add_rate(outcome, *rate.value);
  }
  // A rate that does not appear again does not count.
  void add_again(const OperationOutcome& outcome) {
    forget_rate(outcome.trial);
    add(outcome);
  }

  [[nodiscard]] bool is_nearly_full() const {
    return !rates_.empty() && probe::is_nearly_full(id_, best().second.value);
  }

  [[nodiscard]] OperationFinding finding(const ProbeRunner& runner) const {
    if (absent_) return {*absent_, *absent_};
    return {latency(runner), throughput(runner)};
  }

 private:
  using Rate = std::pair<OperationOutcome, PerOperation>;
  using Undecided = std::pair<OperationTrial, double>;  // and the cycles of a copy

  void add_rate(const OperationOutcome& outcome, const PerOperation& rate) {
    // Merged chains count only if there is nothing else: the compiler merges some and leaves others apart.
    const bool counts =
        rates_.empty() || !outcome.is_merged(parameters_) || rates_.front().first.is_merged(parameters_);
    if (!counts) return;
    const auto order = [](const Rate& known) { return std::pair(known.first.trial.streams, known.first.trial.warps); };
    Rate known(outcome, rate);
    rates_.insert(std::ranges::upper_bound(rates_, order(known), {}, order), known);
  }
  void forget_rate(const OperationTrial& trial) {
    std::erase_if(rates_, [&](const Rate& known) { return known.first.trial.is_same_way(trial); });
  }

  [[nodiscard]] bool has_stopped_rising() const {
    std::vector<ChainRate> rates;
    for (const auto& [outcome, rate] : rates_) {
      rates.push_back({static_cast<double>(outcome.trial.chains()), rate.value});
    }
    return probe::has_stopped_rising(rates, parameters_);
  }

  [[nodiscard]] const Rate& best() const {
    return *std::ranges::max_element(rates_, {}, [](const Rate& rate) { return rate.second.value; });
  }

  // Disturbed trials that may do as much as the best.
  [[nodiscard]] std::vector<Undecided> undecided() const {
    std::vector<Undecided> trials = undecided_;
    if (rates_.empty()) return trials;
    const std::uint32_t most = best().first.trial.chains();
    std::erase_if(trials, [&](const Undecided& undecided) { return undecided.first.chains() < most; });
    return trials;
  }

  [[nodiscard]] Attribute latency(const ProbeRunner& runner) const {
    if (!latency_.value) return unavailable(Reason::kInconclusive, latency_.why_not);
    const double cycles = latency_.value->value;
    // Above a thousand cycles too, half a cycle shows.
    const double shown = cycles < 1000 ? four_digits(cycles) : std::round(10 * cycles) / 10;
    Attribute attribute = rounded_attribute(runner, shown, *latency_.value, "cycles", "chain_of_operations");
    latency_of_.add_code(parameters_, attribute);
    return attribute;
  }

  [[nodiscard]] Attribute throughput(const ProbeRunner& runner) const {
    if (rates_.empty()) return unavailable(Reason::kInconclusive, why_no_rate_);
    const auto& [outcome, rate] = best();
    Attribute attribute = rounded_attribute(runner, four_digits(rate.value), rate, "ops/clk", "chains_of_all_warps");
    attribute.add_detail("warps", static_cast<std::int64_t>(outcome.trial.warps));
    attribute.add_detail("chains_per_warp", static_cast<std::int64_t>(outcome.trial.streams));
    attribute.add_detail("arithmetic_per_lane", static_cast<std::int64_t>(info_of(id_).arithmetic));
    const double arithmetic = rate.value * info_of(id_).arithmetic * runner.info().sm_count;
    attribute.add_detail("peak_ops_per_second", four_digits(arithmetic * runner.conditions().sm_clock_mhz() * 1e6));
    add_warps(rate.value, attribute);
    outcome.add_code(parameters_, attribute);
    if (!undecided().empty()) {
      attribute.flags.push_back(
          fmt::format("disturbed: {} warps may reach a higher rate, but their measurement was inconclusive: {}",
                      undecided().back().first.warps, why_no_rate_));
    }
    if (is_bound_by_latency() && !has_stopped_rising()) {
      attribute.flags.emplace_back(
          "bound_by_latency: with this number of warps, operations still wait for earlier results; more warps may "
          "reach a higher rate");
    }
    return attribute;
  }

  // Adds the rates of one chain per warp.
  void add_warps(double most, Attribute& attribute) const {
    std::vector<double> warps;
    std::vector<double> rates;
    for (const auto& [outcome, rate] : rates_) {
      if (outcome.trial.streams != 1) continue;
      warps.push_back(outcome.trial.warps);
      rates.push_back(four_digits(rate.value));
    }
    const auto enough = std::ranges::find_if(rates, [&](double rate) { return rate >= parameters_.nearly_all * most; });
    if (enough != rates.end()) {
      attribute.add_detail("warps_for_90_percent",
                           static_cast<std::int64_t>(warps[static_cast<std::size_t>(enough - rates.begin())]));
    }
    attribute.add_detail("warps_tried", warps);
    attribute.add_detail("throughput_by_warps", rates);
  }

  OperationId id_;
  std::uint32_t lanes_;
  OperationParameters parameters_;
  std::optional<Attribute> absent_;  // if it was refused
  OperationOutcome latency_of_;
  Decision<PerOperation> latency_;
  std::vector<Rate> rates_;  // ordered by chains of a warp, then by warps
  std::vector<Undecided> undecided_;
  std::string why_no_rate_;  // of the last undecided trial
};

}  // namespace

std::vector<Attribute> measure_operation_latencies(ProbeRunner& runner, std::span<const OperationId> operations) {
  std::map<OperationId, Operation> found;
  std::vector<OperationTrial> trials;
  for (const OperationId id : operations) {
    found.emplace(id, Operation(id, runner.info().warp_size, {}));
    trials.push_back(latency_trial(id));
  }
  for (const OperationOutcome& outcome : run_trials(runner, trials)) found.at(outcome.trial.operation).add(outcome);
  trials.clear();
  for (const OperationId id : operations) {
    if (found.at(id).lacks_latency()) trials.push_back(longer_latency_trial(id));
  }
  for (const OperationOutcome& outcome : run_more_trials(runner, trials))
    found.at(outcome.trial.operation).add(outcome);
  std::vector<Attribute> latencies;
  for (const OperationId id : operations) latencies.push_back(found.at(id).finding(runner).latency);
  return latencies;
}

namespace {

void run_doubtful_again(ProbeRunner& runner, std::span<const OperationId> operations,
                        std::map<OperationId, Operation>& found) {
  std::vector<OperationTrial> trials;
  // If the maximum was a disturbance, other trials come near the new maximum.
  constexpr int kMostPasses = 3;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    trials.clear();
    for (const OperationId id : operations) {
      const std::vector<OperationTrial> again = found.at(id).to_run_again();
      trials.insert(trials.end(), again.begin(), again.end());
    }
    if (trials.empty()) break;
    for (const OperationOutcome& outcome : run_trials(runner, trials))
      found.at(outcome.trial.operation).add_again(outcome);
  }
  for (int pass = 0; pass < kMostPasses; ++pass) {
    trials.clear();
    for (const OperationId id : operations) {
      std::ranges::move(found.at(id).to_run_longer(), std::back_inserter(trials));
    }
    for (const OperationOutcome& outcome : run_more_trials(runner, trials))
      found.at(outcome.trial.operation).add_longer(outcome);
  }
}

}  // namespace

std::vector<OperationFinding> measure_operations(ProbeRunner& runner, std::span<const OperationId> operations) {
  const OperationParameters parameters;
  const std::uint32_t warps = most_operation_warps(runner.info());
  std::map<OperationId, Operation> found;
  std::vector<OperationTrial> trials;
  for (const OperationId id : operations) {
    found.emplace(id, Operation(id, runner.info().warp_size, parameters));
    const std::vector<OperationTrial> own = first_trials(id, warps);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  for (const OperationOutcome& outcome : run_trials(runner, trials)) found.at(outcome.trial.operation).add(outcome);
  trials.clear();
  for (const OperationId id : operations) {
    if (found.at(id).lacks_latency()) trials.push_back(longer_latency_trial(id));
    if (!found.at(id).is_bound_by_latency() || warps_per_operation(info_of(id).type) > 1) continue;
    const std::vector<OperationTrial> own = further_trials(id, warps);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  if (!trials.empty()) {
    for (const OperationOutcome& outcome : run_trials(runner, trials)) found.at(outcome.trial.operation).add(outcome);
  }
  trials.clear();
  for (const OperationId id : operations) {
    if (!found.at(id).is_nearly_full()) continue;
    const std::vector<OperationTrial> own = last_trials(id, warps);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  for (const OperationOutcome& outcome : run_more_trials(runner, trials))
    found.at(outcome.trial.operation).add(outcome);
  run_doubtful_again(runner, operations, found);
  std::vector<OperationFinding> findings;
  for (const OperationId id : operations) {
    findings.push_back(found.at(id).finding(runner));
    runner.log(fmt::format("{}: {} cycles, {} per clock", to_string(id), findings.back().latency.number().value_or(0),
                           findings.back().throughput.number().value_or(0)));
  }
  return findings;
}

}  // namespace gputopo::probe
