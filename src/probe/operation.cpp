// Latency: one warp runs a straight line of the operation, each of which waits for the one before; what more rounds of
// it take longer, by their operations. Throughput: the same line of more and more warps, a block on every SM. Where as
// many as a block may have are still bound by the latency, each runs four lines that take turns. The most of all
// counts.
//
// What fools it: a compiler that merges two operations into one instruction or leaves them out (the size of the code
// tells, and is told), an operation that becomes several instructions (the same), numbers for which an instruction
// takes another way (division by zero, denormal numbers: the operands stay normal), registers that an instruction reads
// (three different ones halve some rates: rows of their own), a neighbour (its programs are repeated). A clock that
// changes does not: all is counted in cycles.
#include "probe/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gputopo/error.h"
#include "operation/capability.h"
#include "probe/evidence.h"
#include "probe/intervals.h"
#include "probe/operation_decision.h"
#include "probe/operation_trials.h"

namespace gputopo::probe {
namespace {

// What a device answered.
struct Outcome {
  OperationTrial trial;
  RoundTimes fewer;
  RoundTimes more;
  OperationResult first;
  Reason why_refused = Reason::kNotSupported;

  [[nodiscard]] double operations_per_round() const { return gputopo::operations_per_round(trial.program(1)); }
  // Of each operation; nothing where the device does not tell.
  [[nodiscard]] std::optional<double> instructions() const {
    if (first.code_bytes <= 0 || first.instruction_bytes <= 0) return std::nullopt;
    return first.code_bytes / first.instruction_bytes / operations_per_round();
  }
};

// Of all blocks of some answers.
RoundTimes times_of_all(std::span<const OperationResult> results, std::uint32_t rounds) {
  RoundTimes times{.rounds = static_cast<double>(rounds)};
  for (const OperationResult& result : results) {
    times.cycles.insert(times.cycles.end(), result.cycles.begin(), result.cycles.end());
  }
  return times;
}

// Of each SM the quickest of its answers. What two units do together may fall into one of two rhythms, and an SM of
// the same launch into another than its neighbour (64-bit additions on an H200: 67.6 a clock or 63.4).
RoundTimes times_of_quickest(std::span<const OperationResult> results, std::uint32_t rounds) {
  std::map<std::uint32_t, double> by_sm;
  for (const OperationResult& result : results) {
    for (std::size_t i = 0; i < result.cycles.size(); ++i) {
      const auto [known, is_new] = by_sm.try_emplace(result.sms.at(i), result.cycles[i]);
      known->second = std::min(known->second, result.cycles[i]);
    }
  }
  RoundTimes times{.rounds = static_cast<double>(rounds)};
  for (const auto& [sm, cycles] : by_sm) times.cycles.push_back(cycles);
  return times;
}

std::vector<Outcome> run_together(Lab& lab, const std::vector<OperationTrial>& trials) {
  // What no GPU of its kind has is not asked for: recordings hold nothing of it.
  const auto refusal_of = [&info = lab.info()](OperationId id) {
    return refusal_by_capability(info.compute_capability_major, info.compute_capability_minor, info_of(id));
  };
  std::vector<OperationProgram> programs;
  for (const OperationTrial& trial : trials) {
    if (!refusal_of(trial.operation).empty()) continue;
    programs.insert(programs.end(), trial.copies, trial.program(trial.few_rounds()));
    programs.insert(programs.end(), trial.copies, trial.program(trial.many_rounds()));
  }
  const std::vector<OperationResult> results = lab.operation(programs);
  std::vector<Outcome> outcomes;
  std::size_t next = 0;
  for (const OperationTrial& trial : trials) {
    if (std::string refusal = refusal_of(trial.operation); !refusal.empty()) {
      outcomes.push_back({trial, {}, {}, {.refusal = std::move(refusal)}});
      continue;
    }
    const auto own = std::span(results).subspan(next, 2 * trial.copies);
    const auto times_of = trial.every_sm ? times_of_quickest : times_of_all;
    outcomes.push_back({trial, times_of(own.first(trial.copies), trial.few_rounds()),
                        times_of(own.subspan(trial.copies), trial.many_rounds()), own.front()});
    next += own.size();
  }
  return outcomes;
}

// A recording that was made before some operations were there holds the others: then each is run by itself.
std::vector<Outcome> run(Lab& lab, const std::vector<OperationTrial>& trials) {
  try {
    return run_together(lab, trials);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceMemoryError&) {
    throw;
  } catch (const DeviceError& error) {
    std::map<OperationId, std::vector<OperationTrial>> apart;
    for (const OperationTrial& trial : trials) apart[trial.operation].push_back(trial);
    std::vector<Outcome> outcomes;
    for (const auto& [id, own] : apart) {
      if (apart.size() > 1) {
        std::ranges::move(run(lab, own), std::back_inserter(outcomes));
        continue;
      }
      const bool is_word = dynamic_cast<const NotSupportedError*>(&error) != nullptr;  // of the device
      const Reason reason = is_word ? Reason::kNotSupported : Reason::kDeviceError;
      for (const OperationTrial& trial : own) outcomes.push_back({trial, {}, {}, {.refusal = error.what()}, reason});
    }
    return outcomes;
  }
}

// Trials that may add to what is known already: a device that cannot run them takes nothing from it.
std::vector<Outcome> run_more(Lab& lab, const std::vector<OperationTrial>& trials) {
  if (trials.empty()) return {};
  try {
    return run_together(lab, trials);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    lab.log(fmt::format("without trials of more chains: {}", error.what()));
    return {};
  }
}

// Rounding is to leave it within its interval.
Attribute rounded_attribute(const Lab& lab, const PerOperation& found, const char* unit, const char* method) {
  const double value = four_digits(found.value);
  return measured(lab.conditions(), value, unit,
                  stats::Interval{std::min(found.interval.low, value), std::max(found.interval.high, value)}, method);
}

// Whether the compiler made fewer instructions than there are operations.
bool is_merged(const Outcome& outcome, const OperationParameters& parameters) {
  const double padding = parameters.padding_instructions / outcome.operations_per_round();
  return outcome.instructions().value_or(INFINITY) + padding < parameters.least_instructions;
}

void add_code(const Outcome& outcome, const OperationParameters& parameters, Attribute& attribute) {
  const std::optional<double> instructions = outcome.instructions();
  if (!instructions) return;
  attribute.add_detail("machine_instructions", rounded(*instructions));
  if (is_merged(outcome, parameters)) {
    attribute.flags.push_back(fmt::format(
        "operations_merged: the compiler made {:.2f} instructions of each, so it is no operation's", *instructions));
  }
}

Decision<PerOperation> throughput_of(const Outcome& outcome, std::uint32_t warp_lanes,
                                     const OperationParameters& parameters) {
  return decide_operation_throughput(outcome.fewer, outcome.more, outcome.operations_per_round(),
                                     static_cast<double>(outcome.trial.warps) * warp_lanes, parameters);
}

// The power of two that units are so wide as to come near to what was measured; 0: it is near none, and the width not
// known. The interval of a throughput may reach a little beyond it.
double width_of(double per_clk) {
  constexpr double kLeastShare = 0.88;
  constexpr double kBeyond = 1.01;
  const double width = std::exp2(std::ceil(std::log2(per_clk / kBeyond)));
  return per_clk >= kLeastShare * width ? width : 0;
}

// Whether more chains may get more of a unit: it is nearly full, and there are registers for them, and chains at all.
bool is_nearly_full(OperationId operation, double per_clk) {
  constexpr double kFull = 0.98;
  const OperandType type = info_of(operation).type;
  return registers_of(type) == 1 && warps_together(type) == 1 && per_clk < kFull * width_of(per_clk);
}

// What was found of one operation so far.
class Operation {
 public:
  Operation(OperationId id, std::uint32_t lanes, const OperationParameters& parameters)
      : id_(id), lanes_(lanes), parameters_(parameters) {}

  void add(const Outcome& outcome) {
    if (!outcome.first.refusal.empty()) {  // of chains that take turns it takes nothing from what is known
      if (!latency_.value && rates_.empty()) absent_ = unavailable(outcome.why_refused, outcome.first.refusal);
    } else if (!outcome.trial.every_sm) {
      latency_of_ = outcome;
      OperationParameters parameters = parameters_;
      if (warps_together(info_of(id_).type) > 1) parameters.loop_cycles += parameters.wait_cycles;
      latency_ = decide_operation_latency(outcome.fewer, outcome.more, outcome.operations_per_round(), parameters);
    } else {
      Decision<PerOperation> rate = throughput_of(outcome, lanes_, parameters_);
      if (!rate.value) why_no_rate_ = rate.why_not;
      // Of some chains the compiler may make one where it leaves others apart: those count only where there is nothing
      // else.
      const bool counts =
          rates_.empty() || !is_merged(outcome, parameters_) || is_merged(rates_.front().first, parameters_);
      if (rate.value && counts) rates_.emplace_back(outcome, *rate.value);
    }
  }

  [[nodiscard]] bool lacks_latency() const { return !absent_ && !latency_.value; }

  // Whether the most that was seen is what so many warps do that wait for their own results.
  [[nodiscard]] bool is_bound_by_latency() const {
    if (!latency_.value || rates_.empty()) return false;
    const auto& [outcome, rate] = best();
    const double chains = static_cast<double>(outcome.trial.warps) * outcome.trial.streams * lanes_;
    return rate.value >= parameters_.latency_bound * chains / latency_.value->value;
  }

  // The most of many trials is too much as often as one of them was disturbed, and another may be as much at its best:
  // those of one copy that come near are run again.
  [[nodiscard]] std::vector<OperationTrial> to_run_again() const {
    constexpr double kNear = 0.93;
    std::vector<OperationTrial> trials;
    for (const auto& [outcome, rate] : rates_) {
      if (outcome.trial.copies == OperationTrial::kCopies || rate.value < kNear * best().second.value) continue;
      trials.push_back(outcome.trial);
      trials.back().copies = OperationTrial::kCopies;
    }
    return trials;
  }
  // Where SMs differ by much, the median of a few runs does from time to time: those of the most, more often.
  [[nodiscard]] std::optional<OperationTrial> to_run_longer() const {
    constexpr double kUneven = 0.02;
    constexpr std::uint32_t kManyCopies = 16;
    if (rates_.empty()) return std::nullopt;
    const auto& [outcome, rate] = best();
    if (rate.interval.high - rate.interval.low < kUneven * rate.value) return std::nullopt;
    if (outcome.trial.copies == kManyCopies) return std::nullopt;
    OperationTrial trial = outcome.trial;
    trial.copies = kManyCopies;
    return trial;
  }
  // One that was disturbed takes nothing from what is known.
  void add_longer(const Outcome& outcome) {
    const Decision<PerOperation> rate = throughput_of(outcome, lanes_, parameters_);
    const auto known = rate_of(outcome.trial);
    if (known != rates_.end() && outcome.first.refusal.empty() && rate.value) *known = {outcome, *rate.value};
  }
  void add_again(const Outcome& outcome) {
    const std::size_t before = rates_.size();
    const std::ptrdiff_t place = rate_of(outcome.trial) - rates_.begin();
    add(outcome);
    // What was seen once and not again does not count.
    if (rates_.size() > before) std::swap(rates_[static_cast<std::size_t>(place)], rates_.back());
    rates_.erase(rates_.size() > before ? rates_.end() - 1 : rates_.begin() + place);
  }

  [[nodiscard]] bool is_nearly_full() const {
    return !rates_.empty() && probe::is_nearly_full(id_, best().second.value);
  }

  [[nodiscard]] OperationFinding finding(const Lab& lab) const {
    if (absent_) return {*absent_, *absent_};
    return {latency(lab), throughput(lab)};
  }

 private:
  using Rate = std::pair<Outcome, PerOperation>;

  [[nodiscard]] std::vector<Rate>::iterator rate_of(const OperationTrial& trial) {
    return std::ranges::find_if(rates_, [&](const Rate& rate) {
      return rate.first.trial.warps == trial.warps && rate.first.trial.streams == trial.streams;
    });
  }
  [[nodiscard]] const Rate& best() const {
    return *std::ranges::max_element(rates_, {}, [](const Rate& rate) { return rate.second.value; });
  }

  [[nodiscard]] Attribute latency(const Lab& lab) const {
    if (!latency_.value) return unavailable(Reason::kInconclusive, latency_.why_not);
    Attribute attribute = rounded_attribute(lab, *latency_.value, "cycles", "chain_of_operations");
    add_code(latency_of_, parameters_, attribute);
    return attribute;
  }

  [[nodiscard]] Attribute throughput(const Lab& lab) const {
    if (rates_.empty()) return unavailable(Reason::kInconclusive, why_no_rate_);
    const auto& [outcome, rate] = best();
    Attribute attribute = rounded_attribute(lab, rate, "ops/clk", "chains_of_all_warps");
    attribute.add_detail("warps", static_cast<std::int64_t>(outcome.trial.warps));
    attribute.add_detail("chains_per_warp", static_cast<std::int64_t>(outcome.trial.streams));
    attribute.add_detail("arithmetic_per_lane", static_cast<std::int64_t>(info_of(id_).arithmetic));
    const double arithmetic = rate.value * info_of(id_).arithmetic * lab.info().sm_count;
    attribute.add_detail("peak_ops_per_second", four_digits(arithmetic * lab.conditions().sm_clock_mhz() * 1e6));
    add_warps(rate.value, attribute);
    add_code(outcome, parameters_, attribute);
    if (is_bound_by_latency()) {
      attribute.flags.emplace_back("bound_by_latency: so many warps wait for their own results; more may do more");
    }
    return attribute;
  }

  // Of one chain in each warp.
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
      attribute.add_detail("warps_that_do_90_percent",
                           static_cast<std::int64_t>(warps[static_cast<std::size_t>(enough - rates.begin())]));
    }
    attribute.add_detail("warps_tried", warps);
    attribute.add_detail("throughput_by_warps", rates);
  }

  OperationId id_;
  std::uint32_t lanes_;
  OperationParameters parameters_;
  std::optional<Attribute> absent_;  // where it was refused
  Outcome latency_of_;
  Decision<PerOperation> latency_;
  std::vector<Rate> rates_;
  std::string why_no_rate_;
};

// Of a burst that is just long enough to tell the clock it ran at: a launch of less than 200 us is said to have had
// that of the one before, which may have been of matrices; in a longer one these lower it more. Nothing where the
// device cannot run it.
std::optional<Conditions> clock_of_burst(const Lab& lab, const OperationTrial& trial, double per_clk) {
  constexpr double kBurstSeconds = 220e-6;
  if (per_clk <= 0) return std::nullopt;
  const double cycles = kBurstSeconds * lab.conditions().sm_clock_mhz() * 1e6;
  OperationProgram program = trial.program(1);
  const double of_round =
      operations_per_round(program) * static_cast<double>(trial.warps) * lab.info().warp_size / per_clk;
  program.rounds = static_cast<std::uint32_t>(std::clamp<double>(std::ceil(cycles / of_round), 1, kMaxOperationRounds));
  Lab own = lab.another();
  try {
    static_cast<void>(own.operation({program}));
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    lab.log(fmt::format("without a clock of its own: {}", error.what()));
    return std::nullopt;
  }
  return own.conditions();
}

void set_peak(const Lab& lab, const Conditions& conditions, const Outcome& outcome,
              const OperationParameters& parameters, PeakFinding& finding) {
  if (!outcome.first.refusal.empty()) {
    finding.peak = unavailable(outcome.why_refused, outcome.first.refusal);
    return;
  }
  const Decision<PerOperation> rate = throughput_of(outcome, lab.info().warp_size, parameters);
  if (!rate.value) {
    finding.peak = unavailable(Reason::kInconclusive, rate.why_not);
    return;
  }
  const double arithmetic = info_of(finding.operation).arithmetic;
  const double a_second = arithmetic * lab.info().sm_count * conditions.sm_clock_mhz() * 1e6;
  const double value = four_digits(rate.value->value * a_second);
  finding.arithmetic_per_clk = rate.value->value * arithmetic;
  finding.peak = measured(conditions, value, "",
                          stats::Interval{std::min(value, rate.value->interval.low * a_second),
                                          std::max(value, rate.value->interval.high * a_second)},
                          "chains_of_all_warps");
  finding.peak.add_detail("operation", std::string(to_string(finding.operation)));
  finding.peak.add_detail("arithmetic_per_clk", four_digits(finding.arithmetic_per_clk));
  if (const double width = width_of(finding.arithmetic_per_clk); width > 0) {
    finding.peak.add_detail("width_per_clk", width);
    finding.peak.add_detail("percent_of_width", four_digits(100 * finding.arithmetic_per_clk / width));
  }
  add_code(outcome, parameters, finding.peak);
}

}  // namespace

std::vector<PeakFinding> measure_peaks(Lab& lab, std::span<const OperationId> operations) {
  const OperationParameters parameters;
  const std::vector<OperationTrial> trials = peak_trials(lab.info(), operations);
  std::map<OperationId, std::pair<OperationTrial, double>> best;
  std::vector<PeakFinding> findings;
  const auto take = [&](const Outcome& outcome) {
    const Decision<PerOperation> rate = throughput_of(outcome, lab.info().warp_size, parameters);
    const bool counts = outcome.first.refusal.empty() && rate.value && !is_merged(outcome, parameters);
    const double value = counts ? rate.value->value : 0;
    const auto [known, is_new] = best.try_emplace(outcome.trial.operation, outcome.trial, value);
    if (value > known->second.second) known->second = {outcome.trial, value};
  };
  for (const Outcome& outcome : run(lab, trials)) take(outcome);
  std::vector<OperationTrial> more;
  for (const auto& [id, trial_and_rate] : best) {
    if (!is_nearly_full(id, trial_and_rate.second)) continue;
    const std::vector<OperationTrial> own = last_trials(id, most_operation_warps(lab.info()));
    more.insert(more.end(), own.begin(), own.end());
  }
  for (const Outcome& outcome : run_more(lab, more)) take(outcome);
  // Again, each with conditions of its own: matrix units lower the clock.
  for (const auto& [id, trial_and_rate] : best) {
    Lab own = lab.another();
    findings.push_back({id, trial_and_rate.first.program(1), 0, {}});
    const Outcome outcome = run(own, {trial_and_rate.first}).front();
    const std::optional<Conditions> burst = clock_of_burst(own, trial_and_rate.first, trial_and_rate.second);
    set_peak(own, burst ? own.conditions().at_clock_of(*burst) : own.conditions(), outcome, parameters,
             findings.back());
  }
  return findings;
}

std::vector<Attribute> measure_operation_latencies(Lab& lab, std::span<const OperationId> operations) {
  std::map<OperationId, Operation> found;
  std::vector<OperationTrial> trials;
  for (const OperationId id : operations) {
    found.emplace(id, Operation(id, lab.info().warp_size, {}));
    trials.push_back(latency_trial(id));
  }
  for (const Outcome& outcome : run(lab, trials)) found.at(outcome.trial.operation).add(outcome);
  // What disturbed its few runs is gone by now, as a rule.
  std::erase_if(trials, [&](const OperationTrial& trial) { return !found.at(trial.operation).lacks_latency(); });
  if (!trials.empty()) {
    for (const Outcome& outcome : run(lab, trials)) found.at(outcome.trial.operation).add(outcome);
  }
  std::vector<Attribute> latencies;
  for (const OperationId id : operations) latencies.push_back(found.at(id).finding(lab).latency);
  return latencies;
}

namespace {

void run_doubtful_again(Lab& lab, std::span<const OperationId> operations, std::map<OperationId, Operation>& found) {
  std::vector<OperationTrial> trials;
  // Where the most was a disturbance, what comes near to the most is others.
  constexpr int kMostPasses = 3;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    trials.clear();
    for (const OperationId id : operations) {
      const std::vector<OperationTrial> again = found.at(id).to_run_again();
      trials.insert(trials.end(), again.begin(), again.end());
    }
    if (trials.empty()) break;
    for (const Outcome& outcome : run(lab, trials)) found.at(outcome.trial.operation).add_again(outcome);
  }
  for (int pass = 0; pass < kMostPasses; ++pass) {
    trials.clear();
    for (const OperationId id : operations) {
      if (const auto longer = found.at(id).to_run_longer()) trials.push_back(*longer);
    }
    for (const Outcome& outcome : run_more(lab, trials)) found.at(outcome.trial.operation).add_longer(outcome);
  }
}

}  // namespace

std::vector<OperationFinding> measure_operations(Lab& lab, std::span<const OperationId> operations) {
  const OperationParameters parameters;
  const std::uint32_t warps = most_operation_warps(lab.info());
  std::map<OperationId, Operation> found;
  std::vector<OperationTrial> trials;
  for (const OperationId id : operations) {
    found.emplace(id, Operation(id, lab.info().warp_size, parameters));
    const std::vector<OperationTrial> own = first_trials(id, warps);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  for (const Outcome& outcome : run(lab, trials)) found.at(outcome.trial.operation).add(outcome);
  trials.clear();
  for (const OperationId id : operations) {
    // What disturbed its few runs is gone by now, as a rule.
    if (found.at(id).lacks_latency()) trials.push_back(latency_trial(id));
    if (!found.at(id).is_bound_by_latency() || warps_together(info_of(id).type) > 1) continue;
    const std::vector<OperationTrial> own = further_trials(id, warps);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  if (!trials.empty()) {
    for (const Outcome& outcome : run(lab, trials)) found.at(outcome.trial.operation).add(outcome);
  }
  trials.clear();
  for (const OperationId id : operations) {
    if (!found.at(id).is_nearly_full()) continue;
    const std::vector<OperationTrial> own = last_trials(id, warps);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  for (const Outcome& outcome : run_more(lab, trials)) found.at(outcome.trial.operation).add(outcome);
  run_doubtful_again(lab, operations, found);
  std::vector<OperationFinding> findings;
  for (const OperationId id : operations) {
    findings.push_back(found.at(id).finding(lab));
    lab.log(fmt::format("{}: {} cycles, {} a clock", to_string(id), findings.back().latency.number().value_or(0),
                        findings.back().throughput.number().value_or(0)));
  }
  return findings;
}

}  // namespace gputopo::probe
