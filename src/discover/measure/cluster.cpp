// Clusters of blocks that read one another's shared memory, and asynchronous bulk copies.
#include "discover/measure/step.h"
#include "probe/cluster/bandwidth.h"
#include "probe/cluster/bulk_copy.h"
#include "probe/cluster/latency.h"
#include "probe/cluster/survey.h"

namespace gputopo {
namespace {

Attribute cluster_latency(Context& context, const ElementInfo&) {
  const probe::ClusterSurvey& clusters = context.clusters();
  probe::ProbeRunner runner = context.runner();
  return probe::measure_cluster_latency(runner, clusters);
}

Attribute read_bandwidth(Context& context, const ElementInfo&) {
  const probe::ClusterSurvey& clusters = context.clusters();
  probe::ProbeRunner runner = context.runner();
  return probe::measure_cluster_bandwidth(runner, clusters);
}

Attribute max_cluster_size(Context& context, const ElementInfo&) { return probe::max_cluster_size(context.clusters()); }

Attribute cluster_sms(Context& context, const ElementInfo&) {
  return probe::cluster_sms(context.runner(), context.clusters());
}

Attribute gpc_sms(Context& context, const ElementInfo&) {
  const probe::ClusterSurvey& clusters = context.clusters();
  return probe::gpc_sms(context.runner(), clusters, context.clocks());
}

constexpr Step kClusterSteps[] = {
    {ElementKind::kClusterPath, AttributeId::kLatency, cluster_latency, one_kernel_of<ClusterProgram>},
    {ElementKind::kClusterPath, AttributeId::kReadBandwidth, read_bandwidth, one_kernel_of<ClusterProgram>},
    {ElementKind::kClusterPath, AttributeId::kMaxClusterSize, max_cluster_size, one_kernel_of<ClusterProgram>},
    {ElementKind::kClusterPath, AttributeId::kClusterSms, cluster_sms, one_kernel_of<ClusterProgram>},
    {ElementKind::kClusterPath, AttributeId::kGpcSms, gpc_sms, one_kernel_of<ClusterProgram>},
    {ElementKind::kCopyPath, AttributeId::kLatency, measured_by<probe::measure_bulk_copy_latency>,
     one_kernel_of<ClusterProgram>},
    {ElementKind::kCopyPath, AttributeId::kReadBandwidth, measured_by<probe::measure_bulk_copy_bandwidth>,
     one_kernel_of<ClusterProgram>},
};

}  // namespace

std::span<const Step> cluster_steps() { return kClusterSteps; }

}  // namespace gputopo
