#include "device/cuda/launch_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kThreads = 32;
// Of a kernel of any GPU, and of one from compute capability 7.0 on with a driver of CUDA 12.1 (PTX 8.1).
constexpr std::uint32_t kFewArgumentBytes = 4096;
constexpr std::uint32_t kManyArgumentBytes = 32'760;

// Kernels one after another, ready to be launched by one call.
class Graph {
 public:
  Graph(const Driver& driver, FunctionHandle kernel, std::uint32_t launches, void** arguments) : driver_(driver) {
    driver_.check(driver_.graph_create(&graph_, 0), "cuGraphCreate");
    const GraphKernel node{.function = kernel, .block = {kThreads, 1, 1}, .arguments = arguments};
    GraphNodeHandle before = nullptr;
    for (std::uint32_t i = 0; i < launches; ++i) {
      GraphNodeHandle added = nullptr;
      driver_.check(driver_.graph_add_kernel_node(&added, graph_, i == 0 ? nullptr : &before, i == 0 ? 0 : 1, &node),
                    "cuGraphAddKernelNode");
      before = added;
    }
    driver_.check(driver_.graph_instantiate(&executable_, graph_, 0), "cuGraphInstantiateWithFlags");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) driver_.graph_exec_destroy(executable_);
    if (graph_ != nullptr) driver_.graph_destroy(graph_);
  }

  void launch() const { driver_.check(driver_.graph_launch(executable_, nullptr), "cuGraphLaunch"); }

 private:
  const Driver& driver_;
  GraphHandle graph_ = nullptr;
  GraphExecHandle executable_ = nullptr;
};

void require_graphs(const Driver& driver) {
  const bool has_all = driver.graph_create != nullptr && driver.graph_add_kernel_node != nullptr &&
                       driver.graph_instantiate != nullptr && driver.graph_launch != nullptr &&
                       driver.graph_exec_destroy != nullptr && driver.graph_destroy != nullptr;
  if (!has_all) throw NotSupportedError("this NVIDIA driver has no graphs of kernels; update it to CUDA 12");
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

FunctionHandle LaunchRunner::kernel_with(std::uint32_t argument_bytes) {
  const LaunchTarget target = launch_target(gpu_.target(), gpu_.driver()->version());
  if (argument_bytes > target.most_argument_bytes) {
    throw NotSupportedError(fmt::format("kernels take {} bytes of arguments at most here", target.most_argument_bytes));
  }
  const auto found = modules_.find(argument_bytes);
  const Module& module =
      found != modules_.end()
          ? found->second
          : modules_
                .emplace(argument_bytes,
                         Module(gpu_.driver(), compile(*gpu_.driver(), generate_empty_ptx(target.ptx, argument_bytes))))
                .first->second;
  return module.function(kEmptyKernel);
}

ProgramResult LaunchRunner::run(const LaunchProgram& program) {
  const FunctionHandle kernel = kernel_with(program.argument_bytes);
  const Driver& driver = *gpu_.driver();
  std::vector<std::uint64_t> given(program.argument_bytes / sizeof(std::uint64_t));
  void* arguments[] = {given.data()};
  std::optional<Graph> graph;
  if (program.way == LaunchWay::kGraph) {
    require_graphs(driver);
    graph.emplace(driver, kernel, program.launches, arguments);
  }
  const auto submit = [&] {
    if (graph) return graph->launch();
    for (std::uint32_t i = 0; i < program.launches; ++i) {
      driver.check(driver.launch_kernel(kernel, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
                   "cuLaunchKernel(empty)");
    }
  };
  const auto wait = [&] { driver.check(driver.ctx_synchronize(), "kernel empty"); };
  submit();
  wait();

  const bool met_before = gpu_.others_work();
  const double started = gpu_.seconds_open();
  const Clock::time_point begin = Clock::now();
  submit();
  LaunchResult result{.submit_seconds = seconds_since(begin)};
  wait();
  result.seconds = seconds_since(begin);
  const auto waited_ns = static_cast<std::uint64_t>(result.seconds * 1e9);
  ProgramResult answer = gpu_.answer(result, BlockRecord{}, 0, started);
  const bool met_after = gpu_.others_work();
  gpu_.mark_company(answer, met_before || met_after, waited_ns);
  return answer;
}

LaunchTarget launch_target(const PtxTarget& target, int driver_version) {
  constexpr int kFirstSm = 70;
  constexpr int kFirstDriver = 12010;
  if (target.sm < kFirstSm || driver_version < kFirstDriver) return {target, kFewArgumentBytes};
  PtxTarget with_many = target;
  if (std::pair(target.ptx_major, target.ptx_minor) < std::pair(8, 1)) {
    with_many.ptx_major = 8;
    with_many.ptx_minor = 1;
  }
  return {with_many, kManyArgumentBytes};
}

}  // namespace gputopo::cuda
