// The context of steps: where programs run, findings, and other steps' attributes. Findings use no attributes.
#pragma once

#include <functional>

#include "discover/findings/caches.h"
#include "discover/findings/code_findings.h"
#include "discover/findings/memo.h"
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

  Context(probe::Bench& bench, Measure measure, std::function<void(const Progress&)> on_progress);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  [[nodiscard]] probe::Bench& bench() const { return bench_; }
  [[nodiscard]] const DeviceInfo& info() const { return bench_.info(); }
  [[nodiscard]] Vendor vendor() const { return vendor_of(info().vendor); }
  [[nodiscard]] bool keep_samples() const { return bench_.options().keep_samples; }
  [[nodiscard]] probe::Lab lab() const { return probe::Lab(bench_); }
  // Calls a probe with its own lab.
  template <typename Found>
  [[nodiscard]] Found found_by(Found (*probe)(probe::Lab&)) const {
    probe::Lab own = lab();
    return probe(own);
  }
  // The attribute of another step, which is measured now if necessary.
  [[nodiscard]] const Attribute& attribute(ElementId element, AttributeId attribute) {
    return scheduler_.attribute(element, attribute);
  }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  // Throws NotSupportedError if programs cannot use the space on this device.
  void require_space(Space space) const { bench_.require_space(space); }

  [[nodiscard]] const probe::ClusterSurvey& clusters();
  [[nodiscard]] const probe::BankCurve& bank_curve();
  [[nodiscard]] const probe::BankFit& bank_fit();
  // Throws what measure_schedulers() throws.
  [[nodiscard]] const Attribute& schedulers();
  [[nodiscard]] const probe::RegisterFinding& registers();
  [[nodiscard]] const probe::ClockFinding& clocks();
  [[nodiscard]] const probe::SidesFinding& sides();
  [[nodiscard]] const std::vector<probe::PeakFinding>& peaks();

 private:
  probe::Bench& bench_;
  Scheduler scheduler_;
  Once<probe::ClusterSurvey> clusters_;
  Once<probe::BankCurve> bank_curve_;
  Once<probe::BankFit> bank_fit_;
  Once<Attribute> schedulers_;
  Once<probe::RegisterFinding> registers_;
  Once<probe::ClockFinding> clocks_;
  Once<probe::SidesFinding> sides_;
  Once<std::vector<probe::PeakFinding>> peaks_;

 public:
  CodeFindings code;
  SurveyFindings surveys;
  CacheFindings caches;
};

}  // namespace gputopo
