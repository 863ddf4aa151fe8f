#include "discover/cluster_elements.h"

namespace gputopo {
namespace {

constexpr char kCluster[] = "cluster";
constexpr char kBulkCopy[] = "bulk_copy";

}  // namespace

bool ClusterElements::has(const std::string& element) { return element == kCluster || element == kBulkCopy; }

const probe::ClusterSurvey& ClusterElements::survey() {
  if (!survey_) survey_ = probe::survey_clusters(lab_);
  return *survey_;
}

Attribute ClusterElements::measure(const std::string& element, const std::string& attribute) {
  if (element == kBulkCopy) {
    if (attribute == "latency") return probe::measure_bulk_copy_latency(lab_);
    if (attribute == "read_bandwidth") return probe::measure_bulk_copy_bandwidth(lab_);
    return unavailable(Reason::kNotApplicable, "");
  }
  if (attribute == "max_cluster_size") return probe::max_cluster_size(lab_, survey());
  if (attribute == "gpc_sms") return probe::gpc_sms(lab_, survey());
  if (attribute == "latency") return probe::measure_cluster_latency(lab_, survey());
  if (attribute == "read_bandwidth") return probe::measure_cluster_bandwidth(lab_, survey());
  return unavailable(Reason::kNotApplicable, "");
}

}  // namespace gputopo
