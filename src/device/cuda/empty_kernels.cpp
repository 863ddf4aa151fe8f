#include "device/cuda/empty_kernels.h"

#include <fmt/format.h>

#include <string>

#include "device/cuda/launch_ptx.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

constexpr unsigned kThreads = 32;
void require_graphs(const Driver& driver) {
  const bool has_all = driver.graph_create != nullptr && driver.graph_add_kernel_node != nullptr &&
                       driver.graph_instantiate != nullptr && driver.graph_launch != nullptr &&
                       driver.graph_exec_destroy != nullptr && driver.graph_destroy != nullptr;
  if (!has_all)
    throw NotSupportedError("this NVIDIA driver does not support CUDA graphs; update it to one for CUDA 12");
}

class Graph : public launch::LaunchGraph {
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
  ~Graph() override {
    if (executable_ != nullptr) driver_.graph_exec_destroy(executable_);
    if (graph_ != nullptr) driver_.graph_destroy(graph_);
  }

  void launch() const override { driver_.check(driver_.graph_launch(executable_, nullptr), "cuGraphLaunch"); }

 private:
  const Driver& driver_;
  GraphHandle graph_ = nullptr;
  GraphExecHandle executable_ = nullptr;
};

}  // namespace

void EmptyKernels::choose(std::uint32_t argument_bytes) {
  const LaunchTarget target = launch_target(gpu_.target(), gpu_.driver()->version());
  if (argument_bytes > target.most_argument_bytes) {
    throw NotSupportedError(
        fmt::format("this GPU and its driver accept at most {} bytes of kernel arguments", target.most_argument_bytes));
  }
  auto found = modules_.find(argument_bytes);
  if (found == modules_.end()) {
    const std::string code = compile(*gpu_.driver(), generate_empty_ptx(target.ptx, argument_bytes));
    found = modules_.emplace(argument_bytes, Module(gpu_.driver(), code)).first;
  }
  kernel_ = found->second.function(kEmptyKernel);
}

void EmptyKernels::launch(void** arguments) {
  gpu_.driver()->check(gpu_.driver()->launch_kernel(kernel_, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
                       "cuLaunchKernel(empty)");
}

std::unique_ptr<launch::LaunchGraph> EmptyKernels::graph_of(std::uint32_t launches, void** arguments) {
  require_graphs(*gpu_.driver());
  return std::make_unique<Graph>(*gpu_.driver(), kernel_, launches, arguments);
}

void EmptyKernels::wait() { gpu_.driver()->check(gpu_.driver()->ctx_synchronize(), "the empty kernel"); }

}  // namespace gputopo::cuda
