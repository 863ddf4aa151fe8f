#include "probe/bench/probe_runner.h"

#include <algorithm>

namespace gputopo::probe {
namespace {

template <typename Kind>
void ask_for_carve_out(Kind& program, std::uint64_t bytes) {
  if constexpr (requires { program.shared_carve_out_bytes; }) {
    if (program.shared_carve_out_bytes == 0) program.shared_carve_out_bytes = bytes;
  }
}

}  // namespace

DeviceSession::DeviceSession(Device& device, SessionOptions options) : device_(device), options_(std::move(options)) {
  device_.set_stop_condition([this] { return stopped() || over_budget(); });
}

DeviceSession::~DeviceSession() { device_.set_stop_condition({}); }

double DeviceSession::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool DeviceSession::has_space(Space space) const {
  return std::ranges::find(info().spaces, space) != info().spaces.end();
}

void DeviceSession::require_space(Space space) const {
  if (has_space(space)) return;
  throw NotSupportedError("programs on this device cannot use the " + std::string(to_string(space)) + " space");
}

std::vector<ProgramResult> DeviceSession::run_once(const std::vector<Program>& programs) {
  if (stopped()) throw Stopped();
  if (over_budget()) throw OverBudget();
  if (options_.on_program) {
    for (const Program& program : programs) options_.on_program(program);
  }
  try {
    std::vector<ProgramResult> results = device_.run(programs);
    programs_run_ += programs.size();
    return results;
  } catch (const EndedError&) {
    if (stopped()) throw Stopped();
    throw OverBudget();
  }
}

void DeviceSession::repeat_disturbed(const std::vector<Program>& programs, std::vector<ProgramResult>& results) {
  double pause_seconds = patience_.first_pause_seconds;
  double paused_seconds = 0;
  for (int repeats = 0;; ++repeats) {
    std::vector<std::size_t> places;
    std::vector<Program> again;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (!results[i].had_contention) continue;
      places.push_back(i);
      again.push_back(programs[i]);
    }
    if (again.empty()) return;
    const bool may_pause = paused_in_vain_ + paused_seconds + pause_seconds <= patience_.all_pauses_seconds;
    if (repeats == patience_.max_repeats || (repeats > 0 && !may_pause)) {
      paused_in_vain_ += paused_seconds;
      throw Disturbed("other programs used the GPU during every attempt; measure again when it is idle");
    }
    log(std::to_string(again.size()) + " of " + std::to_string(programs.size()) +
        " measurement programs ran while other programs used the GPU; repeating these measurements");
    if (may_pause) {
      device_.rest(pause_seconds);
      paused_seconds += pause_seconds;
      pause_seconds *= 2;
    }
    programs_repeated_ += again.size();
    std::vector<ProgramResult> answers = run_once(again);
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(answers[i]);
  }
}

std::vector<ProgramResult> DeviceSession::run(const std::vector<Program>& programs) {
  if (options_.carve_out_bytes == 0) return run_until_undisturbed(programs);
  std::vector<Program> carved = programs;
  for (Program& program : carved) {
    std::visit([&](auto& kind) { ask_for_carve_out(kind, options_.carve_out_bytes); }, program);
  }
  return run_until_undisturbed(carved);
}

std::vector<ProgramResult> DeviceSession::run_until_undisturbed(const std::vector<Program>& programs) {
  std::vector<ProgramResult> results = run_once(programs);
  repeat_disturbed(programs, results);
  for (const ProgramResult& result : results) conditions_.add(result);
  return results;
}

void DeviceSession::log(const std::string& line) const {
  if (options_.on_log) options_.on_log(line);
}

template <typename Kind>
std::vector<ResultOf<Kind>> ProbeRunner::run_all(const std::vector<Kind>& programs) {
  std::vector<ResultOf<Kind>> results;
  results.reserve(programs.size());
  for (ProgramResult& result : session_.run({programs.begin(), programs.end()})) {
    conditions_.add(result);
    results.push_back(std::get<ResultOf<Kind>>(std::move(result.data)));
  }
  return results;
}

std::vector<ChaseResult> ProbeRunner::chase(const std::vector<ChaseProgram>& programs) { return run_all(programs); }

std::vector<InstructionResult> ProbeRunner::code(const std::vector<InstructionProgram>& programs) {
  return run_all(programs);
}

std::vector<AccessResult> ProbeRunner::access(const std::vector<AccessProgram>& programs) { return run_all(programs); }

std::vector<ClusterResult> ProbeRunner::cluster(const std::vector<ClusterProgram>& programs) {
  return run_all(programs);
}

std::vector<OccupancyResult> ProbeRunner::occupancy(const std::vector<OccupancyProgram>& programs) {
  return run_all(programs);
}
std::vector<OperationResult> ProbeRunner::operation(const std::vector<OperationProgram>& programs) {
  return run_all(programs);
}

std::vector<LaunchResult> ProbeRunner::launch(const std::vector<LaunchProgram>& programs) { return run_all(programs); }

StreamResult ProbeRunner::stream(const StreamProgram& program) { return run_all(std::vector{program}).front(); }

}  // namespace gputopo::probe
