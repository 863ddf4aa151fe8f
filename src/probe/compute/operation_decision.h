// The latency and throughput of an operation, from plain numbers.
#pragma once

#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct OperationParameters {
  // Most cycles that the loop adds to a round of a warp: a counter, a comparison and a taken branch (18 on an H200).
  // Half of it is subtracted; the interval covers all of it. Larger values widen the intervals of latencies.
  double loop_cycles = 24;
  // Most cycles that a wait per round for asynchronous operations adds to that (39 on an H100); treated likewise.
  double wait_cycles = 72;
  // Copies of one program that differ by more than this share were disturbed. Larger values accept wrong results.
  double steady = 0.05;
  // With at least this many machine instructions per operation, the compiler dropped none. Larger values may flag an
  // operation that is one instruction as merged.
  double least_instructions = 0.9;
  // Uncertainty of the instructions of a round, because kernels are padded.
  double padding_instructions = 8;
  // Times of SMs that run one program differ by less than this share, because SMs receive instructions in turn. Larger
  // values accept wrong results.
  double steady_sms = 0.15;
  // The same for the fastest of more copies, which nothing disturbed. Some SMs get more of a shared resource than
  // others (membar.sys on H200s: 10 to 16%).
  double steady_sms_of_more = 0.25;
  // Part of the fewer rounds' cycles that comes before and after the rounds. Outside of these limits, the fewer and
  // the more rounds, or their clocks, ran differently (-0.1 to 0.4 on an H200). Wider limits accept wrong results.
  double least_beginning = -0.3;
  double most_beginning = 0.5;
  // From this share of what the warps' latencies allow, latency bounds the rate. Smaller values cause more trials.
  double latency_bound = 0.7;
  // Share of the maximum that counts as nearly all.
  double nearly_all = 0.9;
  // The rate no longer rises with the chains if this many times as many chains reach no more than this share beyond the
  // fewer. Smaller values of `more_chains` compare rates that differ by noise alone.
  double more_chains = 1.5;
  double flat_part = 0.03;
};

// Cycles of blocks that each ran `rounds` rounds: of programs that are alike, or of the SMs of one program.
struct RoundTimes {
  double rounds = 0;
  std::vector<double> cycles;
};

struct PerOperation {
  double value = 0;
  stats::Interval interval;
};

// Cycles from one operation of a chain to the next: more rounds minus fewer rounds, which cancels the costs of the
// start and the end, minus half of the greatest loop cost.
[[nodiscard]] Decision<PerOperation> decide_operation_latency(const RoundTimes& fewer, const RoundTimes& more,
                                                              double operations_per_round,
                                                              const OperationParameters& parameters = {});

// Operations of lanes per cycle of an SM, on which `lanes` lanes each run all operations of a round.
[[nodiscard]] Decision<PerOperation> decide_operation_throughput(const RoundTimes& fewer, const RoundTimes& more,
                                                                 double operations_per_round, double lanes,
                                                                 const OperationParameters& parameters = {});

// The rate of chains on an SM.
struct ChainRate {
  double chains = 0;
  double per_clk = 0;
};
// Whether more chains, of which this many at once were tried, reached no higher rate than fewer ones: then something
// else than latency limits the best rate.
[[nodiscard]] bool has_stopped_rising(std::span<const ChainRate> rates, const OperationParameters& parameters = {});

// Rounds to four significant digits: an SM does between a sixteenth of an operation per clock and hundreds.
[[nodiscard]] double four_digits(double value);

struct SustainedParameters {
  double seconds = 2;  // duration of the whole run
  // Launches in this first time do not count, because a GPU takes time to lower its clock. Larger values count fewer.
  double settle_seconds = 1;
};

// One of the launches that follow each other without a pause.
struct SustainedLaunch {
  double per_second = 0;  // arithmetic operations
  double seconds = 0;
  double joules = 0;  // counted meanwhile, as often as the counter is updated
};

struct Sustained {
  double per_second = 0;
  stats::Interval interval;  // over the launches
  double seconds = 0;        // of the launches that count
  double watts = 0;          // their mean; 0: unknown
};

[[nodiscard]] Decision<Sustained> decide_sustained(std::span<const SustainedLaunch> launches,
                                                   const SustainedParameters& parameters = {});

}  // namespace gputopo::probe
