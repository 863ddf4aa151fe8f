#include "discover/measure/context.h"

#include <utility>

#include "discover/measure/units.h"
#include "probe/bench/value_or_throw.h"
#include "probe/warps/banks.h"

namespace gputopo {

Context::Context(probe::DeviceSession& bench, Measure measure, std::function<void(const Progress&)> on_progress)
    : session_(bench),
      scheduler_(
          bench,
          [this, measure = std::move(measure)](ElementId element, AttributeId attribute) {
            return measure(*this, element, attribute);
          },
          std::move(on_progress)),
      code(bench),
      surveys(bench),
      caches(bench, surveys, code) {}

Context::~Context() = default;

const probe::ClusterSurvey& Context::clusters() {
  return clusters_.get([&] { return found_by(probe::survey_clusters); });
}

const probe::BankCurve& Context::bank_curve() {
  return bank_curve_.get([&] {
    probe::ProbeRunner own = runner();
    return probe::measure_bank_curve(own);
  });
}

const probe::BankFit& Context::bank_fit() {
  return bank_fit_.get([&] { return probe::value_or_throw(runner(), "shared", probe::decide_banks(bank_curve())); });
}

const Attribute& Context::schedulers() {
  return schedulers_.get([&] { return found_by(probe::measure_schedulers); });
}

const probe::RegisterFinding& Context::registers() {
  return registers_.get([&] {
    const Attribute* found = schedulers_.find([&] { return found_by(probe::measure_schedulers); });
    probe::ProbeRunner own = runner();
    return probe::measure_registers(own, found == nullptr ? std::nullopt : found->number());
  });
}

const probe::ClockFinding& Context::clocks() {
  return clocks_.get([&] { return found_by(probe::measure_clocks); });
}

const probe::DivergenceFinding& Context::sides() {
  return sides_.get([&] { return found_by(probe::measure_divergence); });
}

const std::vector<probe::PeakFinding>& Context::peaks() {
  return peaks_.get([&] {
    probe::ProbeRunner own = runner();
    return probe::measure_peaks(own, peak_operations(own.info()));
  });
}

}  // namespace gputopo
