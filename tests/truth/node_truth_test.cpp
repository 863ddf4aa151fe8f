// Compares the links that are measured on random nodes with their truth. No method is tuned to one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "device/node/sim_links.h"
#include "device/node/sim_node.h"
#include "device/sim/machine/random.h"
#include "gputopo/node.h"

namespace gputopo::node {
namespace {

// Draws 1 to 6 GPUs; 1 to 3 NUMA nodes; uplinks that 1 to 3 GPUs share, with different rates in each direction and
// some with a limit on the total; GPUs joined by a switch, by a switch with equal ports, by such a switch with a
// trunk for all pairs or for pairs across halves, or in a ring; copy engines and SMs slower than the links; noise of
// 0.1% to 0.5%.
class RandomNode {
 public:
  explicit RandomNode(std::uint64_t seed) : random_(sim::derive_seed(seed, 77)) {
    const std::uint32_t gpus = 1 + random_.below(6);
    const std::uint32_t hosts = 1 + random_.below(3);
    spec_.noise = between(0.001, 0.005);
    spec_.info.simulated = true;
    spec_.info.backend = "sim";
    for (std::uint32_t i = 0; i < gpus; ++i) {
      spec_.info.gpus.push_back({.spec = "sim:h200", .name = "GPU", .numa_node = random_.below(hosts)});
    }
    for (std::uint32_t i = 0; i < hosts; ++i) spec_.info.numa_nodes.push_back({.id = i});
    join_hosts();
    join_gpus();
  }
  [[nodiscard]] const NodeSpec& spec() const { return spec_; }

 private:
  double between(double low, double high) { return low + (high - low) * random_.unit(); }

  std::size_t segment(double low, double high) {
    SegmentSpec spec{.name = "s" + std::to_string(spec_.segments.size()), .bytes_per_second = between(low, high)};
    spec.back_bytes_per_second = spec.bytes_per_second * between(0.8, 1.2);
    if (random_.below(3) == 0) spec.both_bytes_per_second = spec.bytes_per_second * between(1.3, 1.9);
    spec_.segments.push_back(spec);
    return spec_.segments.size() - 1;
  }

  PathSpec path(const Endpoint& from, const Endpoint& to) {
    PathSpec spec{.from = from, .to = to};
    spec.copy_ns = between(500, 4000);
    spec.load_ns = between(400, 2500);
    spec.atomic_ns = between(400, 2500);
    spec.store_ns = between(400, 2500);
    if (random_.below(2) == 0) spec.sm_read_bytes_per_second = between(5e9, 300e9);
    if (random_.below(2) == 0) spec.sm_write_bytes_per_second = between(5e9, 300e9);
    spec.pageable_bytes_per_second = between(3e9, 15e9);
    return spec;
  }

  void join_hosts() {
    const std::uint32_t shared_by = 1 + random_.below(3);
    std::vector<std::size_t> uplinks;
    std::vector<std::size_t> slots;
    for (std::uint32_t gpu = 0; gpu < spec_.info.gpus.size(); ++gpu) {
      if (gpu % shared_by == 0) uplinks.push_back(segment(20e9, 130e9));
      slots.push_back(segment(10e9, 60e9));
    }
    const std::size_t between_hosts = segment(20e9, 200e9);
    for (std::uint32_t host = 0; host < spec_.info.numa_nodes.size(); ++host) {
      for (std::uint32_t gpu = 0; gpu < spec_.info.gpus.size(); ++gpu) {
        PathSpec spec = path({EndpointKind::kHost, host}, {EndpointKind::kGpu, gpu});
        if (spec_.info.gpus[gpu].numa_node != host) spec.over.push_back({between_hosts, false});
        spec.over.push_back({uplinks[gpu / shared_by], false});
        spec.over.push_back({slots[gpu], false});
        spec_.paths.push_back(spec);
      }
    }
  }

  void join_gpus() {
    const auto count = static_cast<std::uint32_t>(spec_.info.gpus.size());
    const std::uint32_t kind = random_.below(4);  // kinds 2 and 3: equal ports
    std::vector<std::size_t> ports;
    for (std::uint32_t i = 0; i < count; ++i) ports.push_back(segment(30e9, 450e9));
    if (kind >= 2) {
      for (std::size_t i = 1; i < ports.size(); ++i) {
        const std::string name = spec_.segments[ports[i]].name;
        spec_.segments[ports[i]] = spec_.segments[ports[0]];
        spec_.segments[ports[i]].name = name;
      }
    }
    const std::size_t trunk = segment(200e9, 2000e9);
    const bool joins_halves = random_.below(2) == 0;
    PathSpec alike = path({}, {});
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = i + 1; j < count; ++j) {
        PathSpec spec = path({EndpointKind::kGpu, i}, {EndpointKind::kGpu, j});
        if (kind >= 2 && random_.below(8) > 0) {
          spec = alike;
          spec.from = {EndpointKind::kGpu, i};
          spec.to = {EndpointKind::kGpu, j};
        }
        if (kind != 1) {  // a switch
          spec.over = {{ports[i], false}, {ports[j], true}};
          const bool is_across = i < count / 2 && j >= count / 2;
          if (kind == 3 && (is_across || !joins_halves)) spec.over.push_back({trunk, false});
        } else {  // a ring: port i leads from GPU i to the next
          for (std::uint32_t at = i; at < j; ++at) spec.over.push_back({ports[at], false});
        }
        spec_.paths.push_back(spec);
        for (const auto& [from, to] : {std::pair{i, j}, std::pair{j, i}}) {
          spec_.info.peers.push_back(
              {.from = from, .to = to, .kind = kind >= 2 ? "nvswitch" : "nvlink", .is_reachable = true});
        }
      }
    }
  }

  sim::RandomSource random_;
  NodeSpec spec_;
};

double number_of(const AttributeMap& attributes, std::string_view name) {
  const Attribute* attribute = find(attributes, name);
  return attribute == nullptr ? 0 : attribute->number().value_or(0);
}

// How often intervals hold the truth.
struct Coverage {
  std::size_t held = 0;
  std::size_t all = 0;
  std::size_t sharing_pairs = 0;  // links that clearly share a segment
  std::size_t separate_pairs = 0;
};
Coverage coverage;

void expect_near(const AttributeMap& attributes, std::string_view name, double truth, const std::string& where) {
  // A value computed from several times has the noise of all of them.
  const double tolerance = name == "half_bandwidth_copy_size" ? 0.03 : name.starts_with("bidirectional") ? 0.02 : 0.01;
  EXPECT_NEAR(number_of(attributes, name), truth, tolerance * truth) << where << " " << name;
  const Attribute* attribute = find(attributes, name);
  if (attribute == nullptr || !attribute->available()) return;
  constexpr double kBeside = 0.001;  // fixed cost of a copy, relative to its bytes
  ++coverage.all;
  coverage.held += *attribute->low * (1 - kBeside) <= truth && truth <= *attribute->high * (1 + kBeside) ? 1 : 0;
}

const PathSpec& path_of(const NodeSpec& spec, const LinkReport& link) {
  const auto joins = [&](const PathSpec& path) {
    return (path.from == link.from && path.to == link.to) || (path.from == link.to && path.to == link.from);
  };
  return *std::ranges::find_if(spec.paths, joins);
}

void check_link(const NodeSpec& spec, const LinkReport& link) {
  const std::string where = to_text(link.from) + " to " + to_text(link.to);
  const Transfer transfer{link.from, link.to};
  const auto rate = [&](TransferOp op) { return fair_rates(spec, op, {transfer}).front(); };
  const PathSpec& path = path_of(spec, link);
  expect_near(link.attributes, "copy_bandwidth", rate(TransferOp::kCopy), where);
  expect_near(link.attributes, "copy_latency", path.copy_ns + 4096 / rate(TransferOp::kCopy) * 1e9, where);
  // At this size, bytes / (copy_ns + bytes / rate) is half of the rate.
  expect_near(link.attributes, "half_bandwidth_copy_size", path.copy_ns * 1e-9 * rate(TransferOp::kCopy), where);
  const auto beside = [&](TransferOp op) { return fair_rates(spec, op, {transfer, {link.to, link.from}}).front(); };
  expect_near(link.attributes, "bidirectional_copy_bandwidth", beside(TransferOp::kCopy), where);
  if (link.from.kind == link.to.kind) {
    expect_near(link.attributes, "bidirectional_sm_read_bandwidth", beside(TransferOp::kRead), where);
  }
  if (link.from.kind != link.to.kind) {
    expect_near(link.attributes, "pageable_copy_bandwidth", rate(TransferOp::kPageableCopy), where);
  }
  if (link.to.kind == EndpointKind::kGpu) {
    expect_near(link.attributes, "sm_read_bandwidth", rate(TransferOp::kRead), where);
    expect_near(link.attributes, "load_latency", path.load_ns, where);
    expect_near(link.attributes, "atomic_latency", path.atomic_ns, where);
  }
  if (link.from.kind == EndpointKind::kGpu) {
    expect_near(link.attributes, "sm_write_bandwidth", rate(TransferOp::kWrite), where);
    expect_near(link.attributes, "store_latency", path.store_ns, where);
  }
}

// The least part of its own rate that either transfer keeps when both run together.
double min_rate_fraction(const NodeSpec& spec, const Transfer& one, const Transfer& other) {
  const std::vector<double> together = fair_rates(spec, TransferOp::kCopy, {one, other});
  return std::min(together[0] / fair_rates(spec, TransferOp::kCopy, {one}).front(),
                  together[1] / fair_rates(spec, TransferOp::kCopy, {other}).front());
}

// If all at once are slower, pairs that clearly share a segment are named, and clearly separate ones are not.
void check_sharing(const NodeSpec& spec, const NodeReport& report) {
  const auto found = std::ranges::find(report.together, "host_to_all", &ConcurrentReport::id);
  if (found == report.together.end()) return;
  const Attribute* share = find(found->attributes, "min_rate_fraction");
  ASSERT_NE(share, nullptr);
  const Value* detail = share->find_detail("sharing_pairs");
  std::set<std::string> named;
  if (detail != nullptr) {
    const auto& names = std::get<std::vector<std::string>>(*detail);
    named.insert(names.begin(), names.end());
  }
  const auto transfer = [&](std::uint32_t gpu) {
    return Transfer{{EndpointKind::kHost, *spec.info.gpus[gpu].numa_node}, {EndpointKind::kGpu, gpu}};
  };
  for (std::uint32_t i = 0; i < spec.info.gpus.size(); ++i) {
    for (std::uint32_t j = i + 1; j < spec.info.gpus.size(); ++j) {
      const double kept = min_rate_fraction(spec, transfer(i), transfer(j));
      const std::string name = to_text(transfer(i).from) + "-" + to_text(transfer(i).to) + " and " +
                               to_text(transfer(j).from) + "-" + to_text(transfer(j).to);
      coverage.sharing_pairs += kept < 0.7 ? 1 : 0;
      coverage.separate_pairs += kept > 0.96 ? 1 : 0;
      EXPECT_TRUE(kept >= 0.7 || named.contains(name)) << name << " keeps " << kept;
      EXPECT_FALSE(kept > 0.96 && named.contains(name)) << name << " keeps " << kept;
    }
  }
}

TEST(NodeTruth, LinksOfRandomNodesAreWhatTheyAre) {
  constexpr std::uint64_t kNodes = 400;
  for (std::uint64_t seed = 1; seed <= kNodes; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const NodeSpec spec = RandomNode(seed).spec();
    const std::unique_ptr<Links> links = make_sim_links(spec, seed);
    NodeReport report;
    measure_links(*links, {}, report);
    EXPECT_TRUE(report.complete);
    const std::size_t gpus = spec.info.gpus.size();
    EXPECT_EQ(report.links.size(), 2 * gpus * spec.info.numa_nodes.size() + gpus * (gpus - 1));
    for (const LinkReport& link : report.links) check_link(spec, link);
    check_sharing(spec, report);
    if (HasFailure()) return;
  }
  constexpr std::size_t kLeastPairs = 100;  // a loop over no pairs must not pass
  EXPECT_GE(coverage.sharing_pairs, kLeastPairs);
  EXPECT_GE(coverage.separate_pairs, kLeastPairs);
  constexpr double kPromised = 0.95;
  EXPECT_GT(static_cast<double>(coverage.held), kPromised * static_cast<double>(coverage.all));
}

}  // namespace
}  // namespace gputopo::node
