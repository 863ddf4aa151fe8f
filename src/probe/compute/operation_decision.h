// What an operation of a chain takes, from plain numbers.
#pragma once

#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct OperationParameters {
  // What a round adds beyond its operations at most, in cycles of a warp: a count, a comparison and a branch that is
  // taken (18 on an H200). Half of it is taken off, the interval has all of it. More: wider intervals of latencies.
  double loop_cycles = 24;
  // What waiting once a round for asynchronous operations adds beside that at most (39 on an H100). As with the loop.
  double wait_cycles = 72;
  // Copies of one program differ by less than this share, or something disturbed them. More: what is wrong passes.
  double steady = 0.05;
  // From this share of a machine instruction for each operation on the compiler has left none out. More: an operation
  // that is one instruction may seem to be less.
  double least_instructions = 0.9;
  // To so many instructions the size of a round is known: kernels are padded.
  double padding_instructions = 8;
  // SMs do one program in times that differ by less than this share: they supply instructions by turns. More: what is
  // wrong passes.
  double steady_sms = 0.15;
  // The same of the quickest of more copies, which nothing disturbed: what SMs share some have more of than others
  // (membar.sys on H200s: 10 to 16%).
  double steady_sms_of_more = 0.25;
  // Of the cycles of the fewer rounds, the share that is not theirs: what comes before and after. Outside of these the
  // fewer and the more rounds did not run alike, or their clocks say so (an H200 has -0.1 to 0.4). Wider: what is wrong
  // passes.
  double least_beginning = -0.3;
  double most_beginning = 0.5;
  // From this share on of what the warps' latencies let them do it is these that bound it. Less: more trials.
  double latency_bound = 0.7;
  // This share of the most is nearly all.
  double nearly_all = 0.9;
};

// Cycles of blocks that ran so many rounds each; of programs that were alike, or of the SMs of one.
struct RoundTimes {
  double rounds = 0;
  std::vector<double> cycles;
};

struct PerOperation {
  double value = 0;
  stats::Interval interval;
};

// Cycles from one operation of a chain to the next: what more rounds took longer. The costs of the beginning and the
// end are in both; of those of the loop the middle is taken off.
[[nodiscard]] Decision<PerOperation> decide_operation_latency(const RoundTimes& fewer, const RoundTimes& more,
                                                              double operations_per_round,
                                                              const OperationParameters& parameters = {});

// Operations of lanes in a cycle, of an SM on which so many lanes ran all of a round's operations.
[[nodiscard]] Decision<PerOperation> decide_operation_throughput(const RoundTimes& fewer, const RoundTimes& more,
                                                                 double operations_per_round, double lanes,
                                                                 const OperationParameters& parameters = {});

// Four significant digits: an SM does a sixteenth of one operation a clock, or hundreds.
[[nodiscard]] double four_digits(double value);

struct SustainedParameters {
  double seconds = 2;  // that the same is done for
  // What comes before is not counted: a GPU takes some time to lower its clock. More: fewer launches count.
  double settle_seconds = 1;
};

// One of launches that follow each other at once.
struct SustainedLaunch {
  double per_second = 0;  // operations of arithmetic
  double seconds = 0;
  double joules = 0;  // that were counted meanwhile, as often as the counter is renewed
};

struct Sustained {
  double per_second = 0;
  stats::Interval interval;  // of launches
  double seconds = 0;        // of those that count
  double watts = 0;          // mean of these; 0: nobody tells
};

[[nodiscard]] Decision<Sustained> decide_sustained(std::span<const SustainedLaunch> launches,
                                                   const SustainedParameters& parameters = {});

}  // namespace gputopo::probe
