#include "fleet/incomplete.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace gputopo::fleet {
namespace {

// Share of the common values that a GPU may lack.
constexpr double kMostLacked = 0.1;

struct Lacked {
  std::size_t values = 0;
  std::string example;
  bool is_essential = false;
};

bool is_essential(const Population& population) {
  return (population.kind.has(Aspect::kMemory) || population.kind.has(Aspect::kL2)) &&
         population.kind.better == Better::kHigher;
}

void add(const Population& population, std::uint32_t gpu, std::vector<Lacked>& lacked) {
  Lacked& of_gpu = lacked[gpu];
  ++of_gpu.values;
  if (of_gpu.example.empty() || (is_essential(population) && !of_gpu.is_essential)) of_gpu.example = population.path;
  of_gpu.is_essential = of_gpu.is_essential || is_essential(population);
}

PartOfGpu part_of(std::uint32_t gpu, std::string text) {
  PartOfGpu part{.gpu = gpu, .value = {.path = "report.complete", .basis = Basis::kVerdict}};
  part.value.text = std::move(text);
  return part;
}

// What each GPU lacks of the values that most GPUs have.
struct LackedValues {
  std::size_t common = 0;
  std::vector<Lacked> lacked;
};

// Adds a value that most GPUs have.
void add_common(const Population& population, LackedValues& table) {
  ++table.common;
  std::vector<bool> has(table.lacked.size());
  for (const NumberCell& cell : population.numbers) has[cell.gpu] = true;
  for (const NumberCell& cell : population.texts) has[cell.gpu] = true;
  for (std::uint32_t gpu = 0; gpu < has.size(); ++gpu) {
    if (!has[gpu]) add(population, gpu, table.lacked);
  }
}

// Adds a value that must be known, whatever the others lack.
void add_essential(const Store& store, const Population& population, LackedValues& table) {
  for (const NumberCell& cell : population.absent) {
    if (store.text(cell.reading->reason) != "not_supported") add(population, cell.gpu, table.lacked);
  }
}

LackedValues lacked_values(const Store& store, std::size_t gpus, const std::vector<Population>& populations,
                           const JudgeParameters& parameters) {
  LackedValues table{.lacked = std::vector<Lacked>(gpus)};
  if (gpus < parameters.least_gpus_for_exact) return table;
  const double least = parameters.min_majority * static_cast<double>(gpus);
  for (const Population& population : populations) {
    if (!population.kind.is_compared || !population.kind.link.empty()) continue;
    if (static_cast<double>(population.numbers.size() + population.texts.size()) >= least) {
      add_common(population, table);
    } else if (is_essential(population)) {
      add_essential(store, population, table);
    }
  }
  return table;
}

void add_incomplete_reports(const Store& store, const std::vector<Population>& populations,
                            std::vector<PartOfGpu>& result) {
  for (const Population& population : populations) {
    if (population.path != "report.complete") continue;
    for (const NumberCell& cell : population.texts) {
      if (store.text(cell.reading->text) == "yes") continue;
      result.push_back(part_of(cell.gpu, "its report is incomplete: measure again"));
    }
  }
}

// A GPU of which only the name is known.
void add_empty(std::size_t gpus, const std::vector<Population>& populations, std::vector<PartOfGpu>& result) {
  std::vector<bool> has(gpus);
  for (const Population& population : populations) {
    const bool is_of_driver = !population.kind.link.empty() && !population.kind.is_verdict;  // kinds and lanes
    if (population.path == "device.name" || is_of_driver) continue;
    for (const auto* cells : {&population.numbers, &population.texts}) {
      for (const NumberCell& cell : *cells) has[cell.gpu] = true;
    }
  }
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    if (!has[gpu]) result.push_back(part_of(gpu, "its newest run has no values: measure again"));
  }
}

}  // namespace

std::vector<PartOfGpu> incomplete_gpus(const Store& store, const Members& members,
                                       const std::vector<Population>& populations, const JudgeParameters& parameters) {
  std::vector<PartOfGpu> result;
  add_incomplete_reports(store, populations, result);
  add_empty(members.gpus.size(), populations, result);
  const LackedValues table = lacked_values(store, members.gpus.size(), populations, parameters);
  for (std::uint32_t gpu = 0; gpu < table.lacked.size(); ++gpu) {
    const Lacked& lacked = table.lacked[gpu];
    const bool lacks_many = static_cast<double>(lacked.values) > kMostLacked * static_cast<double>(table.common);
    if (!lacks_many && !lacked.is_essential) continue;
    result.push_back(
        part_of(gpu, fmt::format("lacks {} of {} values that most GPUs of its model have: {}{}; measure again with "
                                 "the same options",
                                 lacked.values, table.common, lacked.example, lacked.values > 1 ? ", ..." : "")));
  }
  return result;
}

}  // namespace gputopo::fleet
