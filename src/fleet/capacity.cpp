#include "fleet/capacity.h"

#include "node/link_capacity.h"

namespace gputopo::fleet {

CapacityJudgement judge_capacities(const Store& store, const std::vector<Population>& populations) {
  CapacityJudgement judgement;
  for (const Population& population : populations) {
    const std::optional<double> least = node::least_healthy_fraction(population.link_kind);
    if (!population.kind.is_of_capacity || !least) continue;
    for (const NumberCell& cell : population.numbers) {
      judgement.gpus.push_back(cell.gpu);
      // If other traffic disturbed some runs, the fastest run shows what the link carries.
      const bool may_be_healthy = static_cast<double>(cell.reading->high) >= *least;
      if (cell.reading->value >= *least || may_be_healthy) continue;
      OutlierValue value{.path = store.text(cell.reading->path), .unit = population.unit, .basis = Basis::kCapacity};
      value.value = cell.reading->value;
      value.usual = *least;
      value.worse = 1;
      value.decides = true;
      judgement.shortfalls.push_back({cell.gpu, std::move(value)});
    }
  }
  return judgement;
}

}  // namespace gputopo::fleet
