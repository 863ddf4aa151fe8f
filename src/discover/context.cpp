#include "discover/context.h"

#include "probe/settle.h"

namespace gputopo {

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

}  // namespace gputopo
