#include "model/renames.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gputopo {
namespace {

// Old and current name, sorted by old name. docs/reports.md lists them for users.
constexpr auto kRenames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"api_clusters_at_once", "api_max_active_clusters"},
    {"atomics", "atomics_disagree"},
    {"blocks_that_stay", "co_resident_blocks"},
    {"both_ways_copy_bandwidth", "bidirectional_copy_bandwidth"},
    {"both_ways_sm_read_bandwidth", "bidirectional_sm_read_bandwidth"},
    {"clock_step", "clock_resolution"},
    {"copies_one_behind_another", "dependent_bulk_copies"},
    {"copy_half_size", "half_bandwidth_copy_size"},
    {"counted_in_places", "sampled_in_clusters"},
    {"cycles_by_sides", "cycles_by_paths"},
    {"cycles_of_some_sms", "miss_cycles_by_sm"},
    {"device_can", "device_max"},
    {"few_sms", "too_few_sms"},
    {"fill_no_unit", "below_unit_throughput"},
    {"half_way_bytes_per_second", "opposite_rank_bytes_per_second"},
    {"launches_of_nothing", "empty_kernel_launches"},
    {"least_fetch", "min_fetch_granularity"},
    {"least_share", "min_rate_fraction"},
    {"lines_alike_to_atomics", "atomic_latency_profiles"},
    {"lines_not_known", "line_size_unknown"},
    {"loop_bytes_at_most", "max_loop_bytes"},
    {"memory_looks_like_hits", "memory_loads_look_like_hits"},
    {"misses_per_instruction_too_much", "misses_per_excess_instruction"},
    {"most_registers_of_a_thread", "max_registers_per_thread"},
    {"near_size", "near_size_disagrees"},
    {"not_told_apart", "undecided_pairs"},
    {"odd_sm", "outlier_sm"},
    {"one_experiment", "unconfirmed"},
    {"operations_of_a_side_cycles", "cycles_per_path"},
    {"percent_of_peak", "percent_of_burst"},
    {"random_places_of_blocks", "random_line_per_block"},
    {"register_unit", "register_allocation_unit"},
    {"request_lanes", "lanes_per_request"},
    {"share_a_part", "partly_shared_pairs"},
    {"share_across_units", "cross_unit_pairs"},
    {"shared_unit", "shared_allocation_unit"},
    {"shares_across_units", "pairs_cross_units"},
    {"sides_interleave", "divergent_paths_interleave"},
    {"sides_of_a_branch", "divergent_paths"},
    {"sides_tried", "paths_tried"},
    {"sizes_of_arguments_bytes", "argument_bytes"},
    {"some_sms", "sampled_sms"},
    {"stairs_of_code_length", "code_length_staircase"},
    {"stairs_of_edge", "edge_staircase"},
    {"timer_step", "timer_resolution"},
    {"told_by_the_recording", "from_recording"},
    {"warps_that_do_90_percent", "warps_for_90_percent"},
    {"warps_that_do_not_disturb", "warp_scaling"},
});
static_assert(std::ranges::is_sorted(kRenames));

}  // namespace

std::string_view current_name(std::string_view name) {
  const auto found = std::ranges::lower_bound(kRenames, name, {}, [](const auto& rename) { return rename.first; });
  return found != kRenames.end() && found->first == name ? found->second : name;
}

std::string with_current_names(std::string_view path) {
  std::string text;
  while (true) {
    const std::size_t end = std::min(path.find_first_of(".,"), path.size());
    text += current_name(path.substr(0, end));
    if (end == path.size()) return text;
    text += path[end];
    path.remove_prefix(end + 1);
  }
}

std::string current_flag(std::string_view flag) {
  const std::size_t end = std::min(flag.find(':'), flag.size());
  return std::string(current_name(flag.substr(0, end))).append(flag.substr(end));
}

}  // namespace gputopo
