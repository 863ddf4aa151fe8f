#include "device/hip/empty_kernels.h"

#include <fmt/format.h>

#include <string>

#include "device/hip/gfx_target.h"
#include "device/hip/occupancy_source.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

// CUDA's limit on any GPU; ROCm names none.
constexpr std::uint32_t kMostArgumentBytes = 4096;
constexpr unsigned kStreamNonBlocking = 1;  // hipStreamNonBlocking
constexpr int kCaptureRelaxed = 2;          // hipStreamCaptureModeRelaxed

void require_graphs(const Runtime& runtime) {
  const bool has_all = runtime.stream_create != nullptr && runtime.stream_destroy != nullptr &&
                       runtime.stream_begin_capture != nullptr && runtime.stream_end_capture != nullptr &&
                       runtime.graph_instantiate != nullptr && runtime.graph_launch != nullptr &&
                       runtime.graph_exec_destroy != nullptr && runtime.graph_destroy != nullptr;
  if (!has_all) throw NotSupportedError("this ROCm runtime does not support HIP graphs; update it to ROCm 6");
}

void launch_on(const Runtime& runtime, FunctionHandle kernel, StreamHandle stream, void** arguments) {
  runtime.check(runtime.launch_kernel(kernel, 1, 1, 1, kWavefront, 1, 1, 0, stream, arguments, nullptr),
                "hipModuleLaunchKernel(empty)");
}

// Stream capture puts kernels of modules into a graph in any version of ROCm.
class Graph : public launch::LaunchGraph {
 public:
  Graph(const Runtime& runtime, FunctionHandle kernel, std::uint32_t launches, void** arguments) : runtime_(runtime) {
    try {
      make(kernel, launches, arguments);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Graph() override { destroy(); }

  void launch() const override { runtime_.check(runtime_.graph_launch(executable_, stream_), "hipGraphLaunch"); }

 private:
  void make(FunctionHandle kernel, std::uint32_t launches, void** arguments) {
    runtime_.check(runtime_.stream_create(&stream_, kStreamNonBlocking), "hipStreamCreateWithFlags");
    require_result(stream_, "hipStreamCreateWithFlags");
    runtime_.check(runtime_.stream_begin_capture(stream_, kCaptureRelaxed), "hipStreamBeginCapture");
    is_capturing_ = true;
    for (std::uint32_t i = 0; i < launches; ++i) launch_on(runtime_, kernel, stream_, arguments);
    is_capturing_ = false;
    runtime_.check(runtime_.stream_end_capture(stream_, &graph_), "hipStreamEndCapture");
    require_result(graph_, "hipStreamEndCapture");
    runtime_.check(runtime_.graph_instantiate(&executable_, graph_, nullptr, nullptr, 0), "hipGraphInstantiate");
    require_result(executable_, "hipGraphInstantiate");
  }
  void destroy() {
    if (has_faulted()) return;
    if (is_capturing_) runtime_.stream_end_capture(stream_, &graph_);
    if (executable_ != nullptr) runtime_.graph_exec_destroy(executable_);
    if (graph_ != nullptr) runtime_.graph_destroy(graph_);
    if (stream_ != nullptr) runtime_.stream_destroy(stream_);
  }

  const Runtime& runtime_;
  StreamHandle stream_ = nullptr;
  bool is_capturing_ = false;
  GraphHandle graph_ = nullptr;
  GraphExecHandle executable_ = nullptr;
};

}  // namespace

void EmptyKernels::choose(std::uint32_t argument_bytes) {
  if (argument_bytes > kMostArgumentBytes) {
    throw NotSupportedError(
        fmt::format("gputopo passes at most {} bytes of kernel arguments on AMD GPUs", kMostArgumentBytes));
  }
  auto found = modules_.find(argument_bytes);
  if (found == modules_.end()) {
    const std::string source = generate_empty_source(gpu_.target(), argument_bytes);
    const std::string code = gpu_.runtime()->compile(source, gpu_.target().name);
    found = modules_.emplace(argument_bytes, Module(gpu_.runtime(), code)).first;
  }
  kernel_ = found->second.function("empty");
}

void EmptyKernels::launch(void** arguments) { launch_on(*gpu_.runtime(), kernel_, nullptr, arguments); }

std::unique_ptr<launch::LaunchGraph> EmptyKernels::graph_of(std::uint32_t launches, void** arguments) {
  require_graphs(*gpu_.runtime());
  return std::make_unique<Graph>(*gpu_.runtime(), kernel_, launches, arguments);
}

// Does not use the thread of DeviceWait, which takes time to hand over the answer. An empty kernel cannot fault. If the
// GPU is lost anyway, the watch over the driver's calls ends the wait.
void EmptyKernels::wait() { gpu_.runtime()->check(gpu_.runtime()->device_synchronize(), "the empty kernel"); }

}  // namespace gputopo::hip
