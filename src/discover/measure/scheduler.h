// Runs the steps of a discovery, each once and only on request. A failure costs the step's own attribute and those
// that rest on the same finding. What ends the discovery (the user, the budget, a lost device) is the reason of all
// later attributes. Knows no attribute.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discover/findings/lazy_result.h"
#include "gputopo/catalogue.h"
#include "gputopo/discover.h"
#include "probe/bench/probe_runner.h"

namespace gputopo {

class Scheduler {
 public:
  // Throws what probes and devices throw.
  using Measure = std::function<Attribute(ElementId, AttributeId)>;

  Scheduler(probe::DeviceSession& bench, Measure measure, std::function<void(const Progress&)> on_progress)
      : session_(bench), measure_(std::move(measure)), on_progress_(std::move(on_progress)) {}

  // For progress: the number of steps to come, and that one of them is done.
  void expect(std::size_t total) { total_ = total; }
  void count_done() { ++done_; }
  void report_end() { report_progress(""); }
  // Runs no more programs, because the device does not respond.
  void give_up(const std::string& why) { static_cast<void>(end(Reason::kDeviceError, why)); }

  // The attribute, measured now if necessary. The reference stays valid. An attribute that depends on itself has no
  // value; the reason names the attributes in between.
  const Attribute& attribute(ElementId element, AttributeId attribute);

  // Runs a step that no other step asks for. Returns the reason if it found nothing.
  [[nodiscard]] std::optional<MissingReason> step(const std::string& name, const std::function<void()>& measure);

  [[nodiscard]] bool complete() const { return !ended_; }
  [[nodiscard]] const std::vector<ProbeTime>& timing() const { return timing_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // Elapsed time, and how the device spent it.
  struct ElapsedTime {
    double seconds = 0;
    DeviceTimes device;
    ElapsedTime& operator+=(const ElapsedTime& other);
    ElapsedTime& operator-=(const ElapsedTime& other);
  };

  [[nodiscard]] ElapsedTime spent_so_far() const;
  [[nodiscard]] Attribute guarded(const std::function<Attribute()>& measure);
  [[nodiscard]] Attribute timed(const std::string& name, const std::function<Attribute()>& measure);
  // A result as another step may use it. Throws Disturbed for a disturbed result: the element may exist, and a step
  // that took it for absent would be wrong.
  [[nodiscard]] const Attribute& usable(const Attribute& result) const;
  [[nodiscard]] Attribute end(Reason reason, const std::string& detail);
  void report_progress(const std::string& probe);

  probe::DeviceSession& session_;
  Measure measure_;
  std::function<void(const Progress&)> on_progress_;
  std::map<std::pair<ElementId, AttributeId>, Attribute> results_;
  std::optional<MissingReason> ended_;  // set after the end: the reason
  std::vector<ProbeTime> timing_;
  std::vector<std::string> warnings_;
  ElapsedTime nested_;                // in steps that the running step asked for
  std::vector<std::string> running_;  // running steps, each requested by the one before
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace gputopo
