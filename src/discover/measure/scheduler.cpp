#include "discover/measure/scheduler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace gputopo {

void Scheduler::report_progress(const std::string& probe) {
  if (!on_progress_ || ended_) return;
  on_progress_({.probe = probe, .done = done_, .total = total_, .elapsed_seconds = session_.elapsed_seconds()});
}

Attribute Scheduler::end(Reason reason, const std::string& detail) {
  ended_ = {reason, detail};
  return unavailable(reason, detail);
}

Attribute Scheduler::guarded(const std::function<Attribute()>& measure) {
  if (ended_) return unavailable(ended_->reason, ended_->detail);
  try {
    return measure();
  } catch (const probe::Stopped& error) {
    return end(Reason::kInterrupted, error.what());
  } catch (const probe::OverBudget& error) {
    return end(Reason::kTimedOut, error.what());
  } catch (const DeviceLostError& error) {
    if (!ended_) warnings_.push_back(fmt::format("the device failed: {}", error.what()));
    return end(Reason::kDeviceError, error.what());
  } catch (const probe::Inconclusive& error) {
    return unavailable(Reason::kInconclusive, error.what());
  } catch (const probe::Disturbed& error) {
    return unavailable(Reason::kDisturbed, error.what());
  } catch (const probe::NotPresent& error) {
    return unavailable(Reason::kNotPresent, error.what());
  } catch (const NotSupportedError& error) {
    return unavailable(Reason::kNotSupported, error.what());
  } catch (const CircularRequest& error) {
    return unavailable(Reason::kDependency, fmt::format("circular dependency: {}", error.what()));
  } catch (const Error& error) {
    return unavailable(Reason::kDeviceError, error.what());
  }
}

Scheduler::ElapsedTime& Scheduler::ElapsedTime::operator+=(const ElapsedTime& other) {
  seconds += other.seconds;
  device += other.device;
  return *this;
}

Scheduler::ElapsedTime& Scheduler::ElapsedTime::operator-=(const ElapsedTime& other) {
  seconds -= other.seconds;
  device -= other.device;
  return *this;
}

Scheduler::ElapsedTime Scheduler::spent_so_far() const {
  return {session_.elapsed_seconds(), session_.device_times().value_or(DeviceTimes{})};
}

const Attribute& Scheduler::attribute(ElementId element, AttributeId attribute) {
  const auto key = std::pair(element, attribute);
  if (const auto found = results_.find(key); found != results_.end()) return usable(found->second);
  const std::string name = fmt::format("{}.{}", to_string(element), to_string(attribute));
  // After the end nothing is measured. A watchdog then collects the results while a step is blocked in a driver call.
  if (const auto first = std::ranges::find(running_, name); !ended_ && first != running_.end()) {
    throw CircularRequest(fmt::format("{} -> {}", fmt::join(first, running_.end(), " -> "), name));
  }
  Attribute result = timed(name, [&] { return measure_(element, attribute); });
  for (SampleTable& table : result.samples) table.name = name + "." + table.name;
  return usable(results_.emplace(key, std::move(result)).first->second);
}

std::optional<MissingReason> Scheduler::step(const std::string& name, const std::function<void()>& measure) {
  const Attribute done = timed(name, [&] {
    measure();
    return inferred_value(true, "", "");
  });
  return done.available() ? std::nullopt : std::optional(MissingReason{done.reason, done.detail});
}

Attribute Scheduler::timed(const std::string& name, const std::function<Attribute()>& measure) {
  report_progress(name);
  const ElapsedTime begin = spent_so_far();
  const std::uint64_t programs_before = session_.programs_run();
  ElapsedTime outer_nested = std::exchange(nested_, {});
  running_.push_back(name);
  Attribute result = guarded(measure);
  running_.pop_back();
  // If a value that it needed met the end of the discovery, that is the reason.
  if (!result.available() && ended_) result = unavailable(ended_->reason, ended_->detail);
  ElapsedTime spent = spent_so_far();
  spent -= begin;
  outer_nested += spent;
  spent -= std::exchange(nested_, outer_nested);
  ProbeTime& time = timing_.emplace_back(
      ProbeTime{.probe = name, .seconds = spent.seconds, .programs = session_.programs_run() - programs_before});
  if (session_.options().profile) time.device = spent.device;
  if (!result.available()) session_.log(fmt::format("{}: {}: {}", name, to_string(result.reason), result.detail));
  return result;
}

const Attribute& Scheduler::usable(const Attribute& result) const {
  if (!running_.empty() && result.reason == Reason::kDisturbed) throw probe::Disturbed(result.detail);
  return result;
}

}  // namespace gputopo
