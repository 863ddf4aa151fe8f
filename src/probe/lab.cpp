#include "probe/lab.h"

namespace gputopo::probe {

double Bench::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::vector<ProgramResult> Bench::run(const std::vector<Program>& programs) {
  if (options_.stop != nullptr && options_.stop->load()) throw Stopped();
  if (elapsed_seconds() > options_.budget_seconds) throw OverBudget();
  if (options_.on_program) {
    for (const Program& program : programs) options_.on_program(program);
  }
  std::vector<ProgramResult> results = device_.run(programs);
  programs_run_ += programs.size();
  for (const ProgramResult& result : results) conditions_.add(result);
  return results;
}

void Bench::log(const std::string& line) const {
  if (options_.on_log) options_.on_log(line);
}

template <typename Result, typename Kind>
std::vector<Result> Lab::run_all(const std::vector<Kind>& programs) {
  std::vector<Result> results;
  results.reserve(programs.size());
  for (ProgramResult& result : bench_.run({programs.begin(), programs.end()})) {
    conditions_.add(result);
    results.push_back(std::get<Result>(std::move(result.data)));
  }
  return results;
}

std::vector<ChaseResult> Lab::chase(const std::vector<ChaseProgram>& programs) {
  return run_all<ChaseResult>(programs);
}

std::vector<InstructionResult> Lab::code(const std::vector<InstructionProgram>& programs) {
  return run_all<InstructionResult>(programs);
}

std::vector<AccessResult> Lab::access(const std::vector<AccessProgram>& programs) {
  return run_all<AccessResult>(programs);
}

std::vector<ClusterResult> Lab::cluster(const std::vector<ClusterProgram>& programs) {
  return run_all<ClusterResult>(programs);
}

StreamResult Lab::stream(const StreamProgram& program) {
  return run_all<StreamResult>(std::vector<StreamProgram>{program}).front();
}

}  // namespace gputopo::probe
