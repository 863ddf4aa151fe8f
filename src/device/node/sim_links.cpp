#include "device/node/sim_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "device/node/sim_node.h"
#include "device/sim/machine/random.h"
#include "gputopo/error.h"

namespace gputopo::node {
namespace {

struct Route {
  const PathSpec* path = nullptr;
  bool is_reversed = false;
};

Route route_of(const NodeSpec& spec, const Transfer& transfer) {
  for (const PathSpec& path : spec.paths) {
    if (path.from == transfer.from && path.to == transfer.to) return {&path, false};
    if (path.from == transfer.to && path.to == transfer.from) return {&path, true};
  }
  throw UsageError(fmt::format("this node has no path from {} to {}", to_text(transfer.from), to_text(transfer.to)));
}

double engine_rate(const PathSpec& path, TransferOp op) {
  const double rate = op == TransferOp::kRead           ? path.sm_read_bytes_per_second
                      : op == TransferOp::kWrite        ? path.sm_write_bytes_per_second
                      : op == TransferOp::kPageableCopy ? path.pageable_bytes_per_second
                                                        : 0;
  return rate > 0 ? rate : std::numeric_limits<double>::infinity();
}

// A rate that several transfers share, and its users.
struct Resource {
  double left = 0;  // bytes a second
  std::vector<std::size_t> users;
};

std::vector<Resource> resources_of(const NodeSpec& spec, TransferOp op, const std::vector<Transfer>& transfers,
                                   const std::vector<bool>& is_active) {
  std::vector<Resource> resources(3 * spec.segments.size());
  for (std::size_t s = 0; s < spec.segments.size(); ++s) {
    const SegmentSpec& segment = spec.segments[s];
    resources[3 * s].left = segment.bytes_per_second;
    resources[3 * s + 1].left = segment.back_bytes_per_second;
    resources[3 * s + 2].left =
        segment.both_bytes_per_second > 0 ? segment.both_bytes_per_second : std::numeric_limits<double>::infinity();
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!is_active[i]) continue;
    const Route route = route_of(spec, transfers[i]);
    for (const PathSpec::Part& part : route.path->over) {
      const bool is_backward = part.is_backward != route.is_reversed;
      resources[3 * part.segment + (is_backward ? 1 : 0)].users.push_back(i);
      resources[3 * part.segment + 2].users.push_back(i);
    }
    resources.push_back({engine_rate(*route.path, op), {i}});
  }
  return resources;
}

double open_users(const Resource& resource, const std::vector<bool>& is_open) {
  return static_cast<double>(std::ranges::count_if(resource.users, [&](std::size_t i) { return is_open[i]; }));
}

// Returns how far the rates of all open transfers can rise until a resource is used up.
double common_rise(const std::vector<Resource>& resources, const std::vector<bool>& is_open) {
  double rise = std::numeric_limits<double>::infinity();
  for (const Resource& resource : resources) {
    if (const double users = open_users(resource, is_open); users > 0) rise = std::min(rise, resource.left / users);
  }
  return rise;
}

// Raises all rates alike until a resource is used up. Its users then keep their rates, while the others go on rising.
std::vector<double> shared_out(std::vector<Resource> resources, std::vector<bool> is_open) {
  std::vector<double> rates(is_open.size(), 0);
  while (std::ranges::find(is_open, true) != is_open.end()) {
    const double step = common_rise(resources, is_open);
    for (Resource& resource : resources) resource.left -= step * open_users(resource, is_open);
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] += is_open[i] ? step : 0;
    constexpr double kUsedUp = 1e-3;  // bytes a second
    for (const Resource& resource : resources) {
      if (resource.left > kUsedUp || open_users(resource, is_open) == 0) continue;
      for (const std::size_t user : resource.users) is_open[user] = false;
    }
  }
  return rates;
}

std::vector<double> rates_of(const NodeSpec& spec, TransferOp op, const std::vector<Transfer>& transfers,
                             const std::vector<bool>& is_active) {
  return shared_out(resources_of(spec, op, transfers, is_active), is_active);
}

class SimLinks : public Links {
 public:
  SimLinks(NodeSpec spec, std::uint64_t seed) : spec_(std::move(spec)), random_(sim::derive_seed(seed, 0)) {}

  [[nodiscard]] const NodeInfo& info() const override { return spec_.info; }

  [[nodiscard]] TransferResult run(const TransferProgram& program) override {
    validate(program);
    spec_.info.check(program);
    TransferResult result;
    if (is_latency(program.op)) {
      const PathSpec& path = *route_of(spec_, program.transfers.front()).path;
      const double ns = program.op == TransferOp::kLoad     ? path.load_ns
                        : program.op == TransferOp::kAtomic ? path.atomic_ns
                                                            : path.store_ns;
      const std::size_t sms = program.op == TransferOp::kStore ? 1 : kSms;
      for (std::size_t sm = 0; sm < sms; ++sm) result.seconds.push_back(ns * 1e-9 * factor());
      return result;
    }
    result.seconds = times_of(program);
    for (double& seconds : result.seconds) seconds *= factor();
    return result;
  }

 private:
  static constexpr std::size_t kSms = 16;  // number of SMs with reported latencies

  double factor() {
    std::normal_distribution<double> spread(1, spec_.noise);
    return std::max(0.5, spread(random_));
  }

  // The rates change whenever a transfer ends.
  [[nodiscard]] std::vector<double> times_of(const TransferProgram& program) const {
    const std::size_t count = program.transfers.size();
    std::vector<double> left(count, static_cast<double>(program.bytes) * program.repeats);
    std::vector<double> times(count, 0);
    std::vector<bool> is_active(count, true);
    double now = 0;
    while (std::ranges::find(is_active, true) != is_active.end()) {
      const std::vector<double> rates = rates_of(spec_, program.op, program.transfers, is_active);
      double step = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < count; ++i) {
        if (is_active[i]) step = std::min(step, left[i] / rates[i]);
      }
      now += step;
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_active[i]) continue;
        left[i] -= step * rates[i];
        constexpr double kDone = 0.5;  // bytes
        if (left[i] > kDone) continue;
        is_active[i] = false;
        times[i] = now + program.repeats * route_of(spec_, program.transfers[i]).path->copy_ns * 1e-9;
      }
    }
    return times;
  }

  NodeSpec spec_;
  sim::RandomSource random_;
};

}  // namespace

std::vector<double> fair_rates(const NodeSpec& spec, TransferOp op, const std::vector<Transfer>& transfers) {
  return rates_of(spec, op, transfers, std::vector<bool>(transfers.size(), true));
}

std::unique_ptr<Links> make_sim_links(NodeSpec spec, std::uint64_t seed) {
  return std::make_unique<SimLinks>(std::move(spec), seed);
}

}  // namespace gputopo::node
