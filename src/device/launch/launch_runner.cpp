#include "device/launch/launch_runner.h"

#include <vector>

namespace gputopo::launch {

ProgramResult LaunchRunner::run(const LaunchProgram& program) {
  kernels_.choose(program.argument_bytes);
  std::vector<std::uint64_t> given(program.argument_bytes / sizeof(std::uint64_t));
  void* arguments[] = {given.data()};
  std::unique_ptr<LaunchGraph> graph;
  if (program.way == LaunchMethod::kGraph) graph = kernels_.graph_of(program.launches, arguments);
  const auto submit = [&] {
    if (graph != nullptr) return graph->launch();
    for (std::uint32_t i = 0; i < program.launches; ++i) kernels_.launch(arguments);
  };
  submit();
  kernels_.wait();

  const bool met_before = gpu_.is_gpu_contended();
  const double started = gpu_.seconds_open();
  submit();
  LaunchResult result{.submit_seconds = gpu_.seconds_open() - started};
  kernels_.wait();
  result.seconds = gpu_.seconds_open() - started;
  const auto waited_ns = static_cast<std::uint64_t>(result.seconds * 1e9);
  ProgramResult answer = gpu_.answer(result, BlockRecord{}, 0, started);
  const bool met_after = gpu_.is_gpu_contended();
  gpu_.mark_contention(answer, met_before || met_after, waited_ns);
  return answer;
}

}  // namespace gputopo::launch
