// The context of steps: where programs run, findings, and other steps' attributes. Findings use no attributes.
#pragma once

#include <functional>

#include "discover/findings/caches.h"
#include "discover/findings/code_findings.h"
#include "discover/findings/lazy_result.h"
#include "discover/findings/surveys.h"
#include "discover/measure/scheduler.h"
#include "probe/cluster/survey.h"
#include "probe/compute/control.h"
#include "probe/compute/operation_peaks.h"
#include "probe/compute/sm_resources.h"
#include "probe/tlb/tlb.h"
#include "probe/warps/banks_decision.h"

namespace gputopo {

class Context {
 public:
  // Throws what probes and devices throw.
  using Measure = std::function<Attribute(Context&, ElementId, AttributeId)>;

  Context(probe::DeviceSession& bench, Measure measure, std::function<void(const Progress&)> on_progress);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  [[nodiscard]] probe::DeviceSession& bench() const { return session_; }
  [[nodiscard]] const DeviceInfo& info() const { return session_.info(); }
  [[nodiscard]] Vendor vendor() const { return vendor_of(info().vendor); }
  [[nodiscard]] bool keep_samples() const { return session_.options().keep_samples; }
  [[nodiscard]] probe::ProbeRunner runner() const { return probe::ProbeRunner(session_); }
  // Calls a probe with its own ProbeRunner.
  template <typename Found>
  [[nodiscard]] Found found_by(Found (*probe)(probe::ProbeRunner&)) const {
    probe::ProbeRunner own = runner();
    return probe(own);
  }
  // The attribute of another step, which is measured now if necessary.
  [[nodiscard]] const Attribute& attribute(ElementId element, AttributeId attribute) {
    return scheduler_.attribute(element, attribute);
  }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  // Throws NotSupportedError if programs cannot use the space on this device.
  void require_space(Space space) const { session_.require_space(space); }

  [[nodiscard]] const probe::ClusterSurvey& clusters();
  [[nodiscard]] const probe::BankCurve& bank_curve();
  [[nodiscard]] const probe::BankFit& bank_fit();
  // Throws what measure_schedulers() throws.
  [[nodiscard]] const Attribute& schedulers();
  [[nodiscard]] const probe::RegisterFinding& registers();
  [[nodiscard]] const probe::ClockFinding& clocks();
  [[nodiscard]] const probe::DivergenceFinding& sides();
  [[nodiscard]] const std::vector<probe::PeakFinding>& peaks();

 private:
  probe::DeviceSession& session_;
  Scheduler scheduler_;
  LazyResult<probe::ClusterSurvey> clusters_;
  LazyResult<probe::BankCurve> bank_curve_;
  LazyResult<probe::BankFit> bank_fit_;
  LazyResult<Attribute> schedulers_;
  LazyResult<probe::RegisterFinding> registers_;
  LazyResult<probe::ClockFinding> clocks_;
  LazyResult<probe::DivergenceFinding> sides_;
  LazyResult<std::vector<probe::PeakFinding>> peaks_;

 public:
  CodeFindings code;
  SurveyFindings surveys;
  CacheFindings caches;
};

}  // namespace gputopo
