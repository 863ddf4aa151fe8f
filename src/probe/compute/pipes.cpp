// Two operations alternate in each warp, with two chains of each, on all warps of a block. A pair that needs one unit
// takes as long as both operations one after the other; a pair with two units takes as long as the slower operation.
//
// What fools it: operations as fast as their issue (a pair always takes twice that, and is left undecided); pairs in
// which one operation takes many times as long as the other (the same); operations that the compiler spreads over two
// units (they share a part of each, and are reported so).
#include "probe/compute/pipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"
#include "probe/compute/operation_trials.h"
#include "probe/compute/pipes_decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// One operation of each kind that has a unit on some GPU, with the field's name for that unit. The first of these that
// a unit executes names it.
struct Representative {
  OperationId operation;
  std::string_view unit;
};
constexpr Representative kRepresentatives[] = {
    {OperationId::kFmaF64, "fp64"},  {OperationId::kMmaF32F16, "tensor"}, {OperationId::kRsqrtF32, "xu"},
    {OperationId::kShflBfly, "lsu"}, {OperationId::kLop3B32, "alu"},      {OperationId::kFmaF32, "fma"},
    {OperationId::kMadS32, "imad"},  {OperationId::kAddF16, "fp16"},      {OperationId::kXorB32, "alu"},
    {OperationId::kMulF32, ""},      {OperationId::kMinF32, ""},          {OperationId::kMinS32, ""},
    {OperationId::kShfB32, ""},      {OperationId::kPrmtB32, ""},         {OperationId::kDp4aU32, ""},
    {OperationId::kMulHiU32, ""},    {OperationId::kPopcB32, ""},         {OperationId::kCvtS32F32, ""},
    {OperationId::kCvtF64F32, ""},   {OperationId::kCvtF16x2F32, ""},     {OperationId::kMatchAny, ""},
    {OperationId::kReduxAdd, ""},    {OperationId::kMmaS32S8, ""},        {OperationId::kMmaF64, ""},
};

constexpr std::uint32_t kFewPipeRounds = 2;
constexpr std::uint32_t kManyPipeRounds = 4;
constexpr std::uint32_t kStreams = 4;  // chains of a warp, two of each operation
// Twice as many warps take at least this many times as long if a unit is full, and the same time if not.
constexpr double kFull = 1.6;

OperationProgram program_of(OperationId one, std::optional<OperationId> other, std::uint32_t warps,
                            std::uint32_t rounds) {
  return {.operation = one, .beside = other, .streams = kStreams, .warps = warps, .rounds = rounds};
}

using Pair = std::pair<OperationId, std::optional<OperationId>>;

std::vector<Pair> singles() {
  std::vector<Pair> all;
  for (const Representative& one : kRepresentatives) all.emplace_back(one.operation, std::nullopt);
  return all;
}

std::vector<Pair> pairs_of(std::span<const Representative> operations) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (std::size_t j = i + 1; j < operations.size(); ++j) {
      pairs.emplace_back(operations[i].operation, operations[j].operation);
    }
  }
  return pairs;
}

// Cycles of a pair of operations on `warps` warps; empty if the device lacks one of them.
std::vector<std::optional<double>> times_of(ProbeRunner& runner, const std::vector<Pair>& pairs, std::uint32_t warps) {
  std::vector<OperationProgram> programs;
  for (const auto& [one, other] : pairs) {
    programs.push_back(program_of(one, other, warps, kFewPipeRounds));
    programs.push_back(program_of(one, other, warps, kManyPipeRounds));
  }
  const std::vector<OperationResult> results = runner.operation(programs);
  std::vector<std::optional<double>> times;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const OperationResult& few = results[2 * i];
    const OperationResult& many = results[2 * i + 1];
    if (!few.refusal.empty() || !many.refusal.empty()) {
      times.emplace_back();
      continue;
    }
    const double operations = operations_per_round(programs[2 * i]) * (kManyPipeRounds - kFewPipeRounds);
    times.emplace_back(2 * (many.cycles.front() - few.cycles.front()) / operations);
  }
  return times;
}

std::string names_of(const std::vector<std::size_t>& group, const std::vector<Representative>& operations) {
  std::string unit;
  std::string names;
  for (const std::size_t i : group) {
    if (unit.empty()) unit = operations[i].unit;
    names += fmt::format("{}{}", names.empty() ? "" : " ", to_string(operations[i].operation));
  }
  return unit.empty() ? names : fmt::format("{}: {}", unit, names);
}

std::vector<std::string> names_of(const std::vector<OperationPair>& pairs,
                                  const std::vector<Representative>& operations) {
  std::vector<std::string> names;
  for (const auto& [i, j] : pairs) {
    names.push_back(fmt::format("{} {}", to_string(operations[i].operation), to_string(operations[j].operation)));
  }
  return names;
}

// The operations that the device has and that fill a unit, and their times alone.
struct Alone {
  std::vector<Representative> operations;
  std::vector<double> times;
  std::vector<std::string> not_full;
};

Alone run_alone(ProbeRunner& runner, std::uint32_t warps) {
  const std::vector<Pair> asked = singles();
  const std::vector<std::optional<double>> of_all = times_of(runner, asked, warps);
  const std::vector<std::optional<double>> of_half = times_of(runner, asked, std::max(1u, warps / 2));
  Alone alone;
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    if (!of_all[i] || !of_half[i] || *of_half[i] <= 0) continue;
    if (warps > 1 && *of_all[i] < kFull * *of_half[i]) {
      alone.not_full.emplace_back(to_string(kRepresentatives[i].operation));
      continue;
    }
    alone.operations.push_back(kRepresentatives[i]);
    alone.times.push_back(*of_all[i] / 2);
  }
  return alone;
}

// As in PairTimes::mixed.
std::vector<std::vector<double>> run_mixed(ProbeRunner& runner, const std::vector<Representative>& operations,
                                           std::uint32_t warps) {
  const std::size_t count = operations.size();
  const std::vector<std::optional<double>> of_pairs = times_of(runner, pairs_of(operations), warps);
  std::vector<std::vector<double>> mixed(count, std::vector<double>(count, 0));
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) mixed[i][j] = of_pairs[next++].value_or(0);
  }
  return mixed;
}

SampleTable table_of(const Pipes& pipes) {
  SampleTable table =
      make_table("pairs", Plot::kMap,
                 {axis("first_operation", "first operation"), axis("second_operation", "second operation"),
                  values("shared_fraction", "shared fraction")});
  const std::size_t count = pipes.shared.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      table.data[0].push_back(static_cast<double>(i));
      table.data[1].push_back(static_cast<double>(j));
      table.data[2].push_back(i == j ? 1 : pipes.shared[std::min(i, j)][std::max(i, j)]);
    }
  }
  return table;
}

}  // namespace

std::vector<Program> expected_of_pipes() {
  std::vector<Pair> all = singles();
  std::ranges::copy(pairs_of(kRepresentatives), std::back_inserter(all));
  std::vector<Program> programs;
  for (const auto& [one, other] : all) programs.emplace_back(program_of(one, other, 1, kFewPipeRounds));
  return programs;
}

Attribute measure_pipes(ProbeRunner& runner) {
  const std::uint32_t warps = most_operation_warps(runner.info());
  const Alone alone = run_alone(runner, warps);
  if (alone.operations.size() < 2) {
    throw NotSupportedError("this device supports fewer than two tested operations that saturate an execution unit");
  }
  const Pipes pipes = decide_pipes({alone.times, run_mixed(runner, alone.operations, warps)});
  std::vector<std::string> units;
  std::vector<double> widths;
  const double lanes = static_cast<double>(warps) * runner.info().warp_size;
  for (const std::vector<std::size_t>& group : pipes.groups) {
    units.push_back(names_of(group, alone.operations));
    double least = alone.times[group.front()];
    for (const std::size_t i : group) least = std::min(least, alone.times[i]);
    widths.push_back(rounded(lanes / least));
  }
  std::vector<std::string> names;
  for (const Representative& operation : alone.operations) names.emplace_back(to_string(operation.operation));

  Attribute attribute = measured(runner.conditions(), units, "", std::nullopt, "pairs_of_operations");
  attribute.add_detail("lanes_per_clk", widths);
  if (!pipes.partly.empty()) attribute.add_detail("partly_shared_pairs", names_of(pipes.partly, alone.operations));
  if (!pipes.across.empty()) {
    attribute.add_detail("cross_unit_pairs", names_of(pipes.across, alone.operations));
    attribute.flags.emplace_back(
        "pairs_cross_units: some operations of different units slow each other down, although other operations of "
        "these units do not");
  }
  if (!pipes.undecided.empty()) attribute.add_detail("undecided_pairs", names_of(pipes.undecided, alone.operations));
  if (!alone.not_full.empty()) attribute.add_detail("below_unit_throughput", alone.not_full);
  attribute.add_detail("operations", names);
  if (runner.keep_samples()) attribute.samples.push_back(table_of(pipes));
  return attribute;
}

}  // namespace gputopo::probe
