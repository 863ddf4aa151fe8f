// Runs stream programs, each alone, with a kernel compiled for its shape.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device/launch/chase_gpu.h"
#include "device/launch/stream_layout.h"
#include "device/launch/stream_span.h"
#include "model/round_up.h"

namespace gputopo::launch {

// `Streams` provides what differs by vendor. Types: Gpu, Module (compiled code), Shape (what it is compiled for),
// Layout (a StreamLayout with more) and Parameters (of the kernel). Static functions, of which only compile() needs a
// GPU:
//   shape_of(program)                                  -> Shape
//   check(program, shape)                              throws if the kernels cannot run the program
//   compile(gpu, shape)                                -> Module with the kernel "stream"
//   launch_of(program, shape)                          -> KernelLaunch: threads, shared memory
//   lay_out(program, shape, blocks, sm_count)          -> Layout of at most as many blocks as fit on the SMs
//   encode(layout, base, texture, passes)              -> Parameters
//   arguments(parameters)                              -> pointers to the kernel's arguments
template <typename Streams>
class StreamRunner {
 public:
  explicit StreamRunner(typename Streams::Gpu& gpu) : gpu_(gpu) {}

  // Throws UsageError for a pass that would take too long, NotSupportedError for what this GPU cannot hold, and what
  // the GPU throws. Uses no more blocks than can be resident, so blocks_per_sm may not be reached. If there are as many
  // blocks as counted SMs, each gets an SM of its own.
  [[nodiscard]] ProgramResult run(const StreamProgram& program) {
    const auto shape = Streams::shape_of(program);
    Streams::check(program, shape);
    const auto function = module_of(shape).function("stream");
    KernelLaunch launch = Streams::launch_of(program, shape);
    launch.carve_out_bytes =
        gpu_.carve_out_for(program.shared_carve_out_bytes, launch.shared_bytes, program.blocks_per_sm);
    const std::uint32_t all = gpu_.info().sm_count;
    const std::uint32_t sm_count = program.sms == 0 ? all : std::min(program.sms, all);
    const std::uint32_t resident = gpu_.resident_blocks(function, launch, program.blocks_per_sm);
    Kernel kernel = kernel_of(program, shape, launch, sm_count * resident, sm_count);
    std::optional<Kernel> evictor;
    if (program.evict_bytes != 0) evictor = kernel_of(evicting(program), shape, launch, all * resident, all);
    const std::uint64_t evicted_at = round_up(kernel.layout.memory_bytes(), kStreamPageBytes);
    kernel.base = gpu_.reserve(evictor ? evicted_at + evictor->layout.memory_bytes() : kernel.layout.memory_bytes());
    if (evictor) evictor->base = kernel.base + evicted_at;
    TextureView texture;
    if (program.space == Space::kTexture) {
      texture = gpu_.make_texture(kernel.base, kernel.layout.footprint, program.vector_bytes / sizeof(std::uint32_t));
    }

    std::vector<BlockRecord> records(kernel.layout.blocks);
    const auto start = [&](const Kernel& started, std::uint64_t passes) {
      auto parameters = Streams::encode(started.layout, started.base, texture.handle, passes);
      gpu_.run(function, "stream", started.launch, Streams::arguments(parameters));
    };
    const auto measure = [&](std::uint64_t passes) {
      const Address at = kernel.base + kernel.layout.records();
      gpu_.expect_download(at, records.size() * sizeof(BlockRecord));
      start(kernel, passes);
      gpu_.download(records.data(), at, records.size() * sizeof(BlockRecord));
      return span_of(in_nanoseconds(records), gpu_.clock_mhz(records.front()));
    };
    const StreamSpan warm = measure(kernel.layout.warm_passes);  // loads the code and warms shared caches
    const std::uint64_t launch_passes = evictor ? 1 : passes_at_once(kernel.layout, warm);
    const double started = gpu_.seconds_open();
    StreamSpan span;
    bool undisturbed = true;
    bool had_contention = false;
    for (std::uint64_t left = kernel.layout.passes; left > 0;) {
      const std::uint64_t passes = std::min(left, launch_passes);
      if (evictor) start(*evictor, 1);
      span += measure(passes);
      undisturbed = undisturbed && !gpu_.held_back(records.front());
      had_contention = gpu_.saw_contention(span_of_launch(records)) || had_contention;
      left -= passes;
    }
    ProgramResult answer =
        gpu_.answer(result_of(kernel.layout, span), records.front(), launch.carve_out_bytes, started);
    // Even a short launch is affected: what an earlier launch left in a cache is gone.
    answer.undisturbed = undisturbed && !had_contention;
    answer.had_contention = had_contention;
    return answer;
  }

 private:
  // The compiled code with its memory.
  struct Kernel {
    typename Streams::Layout layout;
    KernelLaunch launch;
    Address base = 0;
  };
  [[nodiscard]] static Kernel kernel_of(const StreamProgram& program, const typename Streams::Shape& shape,
                                        KernelLaunch launch, std::uint32_t blocks, std::uint32_t sm_count) {
    Kernel kernel{Streams::lay_out(program, shape, blocks, sm_count), std::move(launch)};
    kernel.launch.blocks = kernel.layout.blocks;
    return kernel;
  }

  // Reads other memory with the same code, on all SMs.
  [[nodiscard]] static StreamProgram evicting(StreamProgram program) {
    program.bytes = program.evict_bytes;
    program.repeats = 1;
    return program;
  }

  [[nodiscard]] static std::uint64_t passes_at_once(const typename Streams::Layout& layout, const StreamSpan& warm) {
    constexpr double kMinPassSeconds = 1e-7;
    if (layout.launch_passes != 0) return layout.launch_passes;
    return launch_passes_for(std::max(warm.seconds, kMinPassSeconds));
  }

  [[nodiscard]] const typename Streams::Module& module_of(const typename Streams::Shape& shape) {
    const auto found = modules_.find(shape);
    return found != modules_.end() ? found->second
                                   : modules_.emplace(shape, Streams::compile(gpu_, shape)).first->second;
  }

  [[nodiscard]] std::vector<BlockRecord> in_nanoseconds(std::vector<BlockRecord> records) const {
    for (BlockRecord& record : records) {
      record.start_ns = gpu_.nanoseconds(record.start_ns);
      record.end_ns = gpu_.nanoseconds(record.end_ns);
    }
    return records;
  }

  typename Streams::Gpu& gpu_;
  std::map<typename Streams::Shape, typename Streams::Module> modules_;
};

}  // namespace gputopo::launch
