#include "device/cuda/cluster_runner.h"

#include <utility>

#include "device/cuda/cluster_decode.h"
#include "device/cuda/cluster_layout.h"
#include "device/cuda/cluster_ptx.h"

namespace gputopo::cuda {

void ClusterRunner::compile_once() {
  if (module_) return;
  const PtxTarget target = cluster_target(gpu_.target(), gpu_.driver()->version());
  gpu_.require_clusters();
  module_.emplace(gpu_.compiler().module_of(generate_cluster_ptx(target)));
}

launch::KernelLaunch ClusterRunner::launch_of(const ClusterProgram& program) const {
  launch::KernelLaunch launch{.blocks = program.cluster_size,
                              .threads = program.op == ClusterOp::kRead ? kClusterWarpLanes * program.warps : 1,
                              .cluster_size = program.cluster_size};
  const std::uint64_t shared_bytes = shared_bytes_of(program);
  // With the largest carve-out, no SM has room for a second block.
  launch.carve_out_bytes = gpu_.carve_out_for(UINT64_MAX, shared_bytes, 1);
  launch.shared_bytes = gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, shared_bytes);
  return launch;
}

ProgramResult ClusterRunner::run(const ClusterProgram& program) {
  check_duration(program);
  compile_once();
  const std::string name = cluster_kernel_name(program.op);
  const FunctionHandle function = module_->function(name.c_str());
  launch::KernelLaunch launch = launch_of(program);
  const ClusterRoom room = gpu_.cluster_room(function, launch);
  if (program.every_sm) launch.blocks *= room.clusters_at_once;

  const ClusterLayout layout = lay_out(program, launch.blocks);
  const DevicePointer base = gpu_.reserve(layout.bytes);
  ClusterParameters parameters = encode(program, layout, base);
  // The blocks' records cover only the time from their common start, so others are looked for before and after.
  const bool met_before = gpu_.is_gpu_still_contended();
  gpu_.clear(base, layout.bytes);
  gpu_.expect_download(parameters.records, layout.arrived - layout.records);
  const double started = gpu_.seconds_open();
  gpu_.run(function, name, launch, {&parameters});
  const std::uint64_t waited_ns = gpu_.waited_ns();

  std::vector<BlockRecord> blocks(layout.blocks);
  std::vector<WarpRecord> warps(layout.warps);
  gpu_.download(blocks.data(), parameters.records, blocks.size() * sizeof(BlockRecord));
  gpu_.download(warps.data(), parameters.warp_records, warps.size() * sizeof(WarpRecord));
  check_blocks(program, blocks, name);
  ClusterResult result = decode(program, blocks, warps, gpu_.clock_mhz(blocks.front()));
  result.clusters_at_once = room.clusters_at_once;
  result.largest_cluster = room.largest;
  ProgramResult answer = gpu_.answer(std::move(result), blocks.front(), launch.carve_out_bytes, started);
  const bool met_after = gpu_.is_gpu_contended();
  gpu_.mark_contention(answer, met_before || met_after, waited_ns);
  return answer;
}

}  // namespace gputopo::cuda
