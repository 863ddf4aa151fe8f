#include "discover/context.h"

#include "discover/measure/step.h"
#include "probe/bench/settle.h"

namespace gputopo {

Context::Context(probe::Bench& bench, Attributes& attributes)
    : bench_(bench), attributes_(attributes), code(bench), caches(bench, attributes, code) {}

Context::~Context() = default;

const probe::ClusterSurvey& Context::clusters() {
  return clusters_.get([&] {
    probe::Lab own = lab();
    return probe::survey_clusters(own);
  });
}

const probe::BankCurve& Context::bank_curve() {
  return bank_curve_.get([&] {
    probe::Lab own = lab();
    return probe::measure_bank_curve(own);
  });
}

const probe::BankFit& Context::bank_fit() {
  return bank_fit_.get([&] { return probe::settle(lab(), "shared", probe::decide_banks(bank_curve())); });
}

const probe::RegisterFinding& Context::registers() {
  return registers_.get([&] {
    probe::Lab own = lab();
    return probe::measure_registers(own, attribute(ElementId::kRegisters, AttributeId::kSchedulers).number());
  });
}

const probe::ClockFinding& Context::clocks() {
  return clocks_.get([&] {
    probe::Lab own = lab();
    return probe::measure_clocks(own);
  });
}

const probe::SidesFinding& Context::sides() {
  return sides_.get([&] {
    probe::Lab own = lab();
    return probe::measure_sides(own);
  });
}

const std::vector<probe::PeakFinding>& Context::peaks() {
  return peaks_.get([&] {
    probe::Lab own = lab();
    return probe::measure_peaks(own, peak_operations(own.info()));
  });
}

}  // namespace gputopo
