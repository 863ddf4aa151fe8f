// The measurement plan: which transfers measure which attribute of a node's links.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>

#include "gputopo/error.h"
#include "gputopo/node.h"
#include "node/judgement.h"
#include "node/link_capacity.h"
#include "node/link_decision.h"
#include "node/link_rounds.h"
#include "node/link_runs.h"
#include "node/link_sizes.h"
#include "node/link_together.h"

namespace gputopo {
namespace {

using node::Estimate;
using node::kNano;
using node::SizeSample;

constexpr std::uint64_t kMiB = 1ull << 20;
// A copy's fixed cost, some microseconds, is about 0.1% of these. GPU links are up to ten times as fast as host links.
constexpr std::uint64_t kCopyBytes = node::kLargestSize;
constexpr std::uint64_t kPeerCopyBytes = 1024 * kMiB;
constexpr std::uint64_t kLeastCopyBytes = 16 * kMiB;  // lower bound if memory is short
// The host's cores copy these bytes several times slower. Half the size would stay in their caches and beat memory.
constexpr std::uint64_t kPageableBytes = 64 * kMiB;
// The first fits the owner's L2. The second fits no cache (the largest L2 so far has 256 MiB in two halves).
constexpr std::uint64_t kNearFootprint = 2 * kMiB;
constexpr std::uint64_t kLargeFootprint = 128 * kMiB;
constexpr std::uint32_t kAccesses = 256;

using node::Batch;
using node::bytes_of;

class Measurement {
 public:
  explicit Measurement(node::LinkRuns& runs) : runs_(runs), info_(runs.info()) {}

  void each_link() {
    const std::vector<Transfer> transfers = all_transfers();
    for (const Transfer& transfer : transfers) {
      runs_.report().links.push_back({.from = transfer.from, .to = transfer.to, .kind = kind_of(transfer)});
    }
    for (const Batch& batch : node::batches_of(info_, transfers)) {
      for (const Transfer& transfer : batch) tell(transfer);
      measure(batch);
    }
  }

  // Ordered by source: the chain of accesses in a source's memory is written once for all readers.
  void latencies() {
    std::vector<Transfer> transfers = all_transfers();
    std::ranges::stable_sort(transfers, {}, &Transfer::from);
    for (auto of_place = transfers.begin(); of_place != transfers.end();) {
      const auto end = std::ranges::find_if(of_place, transfers.end(),
                                            [&](const Transfer& transfer) { return transfer.from != of_place->from; });
      const std::span<const Transfer> asked(of_place, end);
      for (const Transfer& transfer : asked) near_latencies(transfer);
      for (const Transfer& transfer : asked) add_large_footprint(transfer);
      of_place = end;
    }
  }

  void measure_bidirectional() {
    std::vector<Transfer> there;  // one direction of each pair
    for (const Transfer& transfer : all_transfers()) {
      if (transfer.from < transfer.to) there.push_back(transfer);
    }
    for (const Batch& batch : node::batches_of(info_, there)) {
      measure_bidirectional(batch, TransferOp::kCopy, "copy_bandwidth", "bidirectional_copy_bandwidth");
      if (batch.front().from.kind != batch.front().to.kind) continue;
      measure_bidirectional(batch, TransferOp::kRead, "sm_read_bandwidth", "bidirectional_sm_read_bandwidth");
    }
  }

 private:
  static std::string where_of(const Transfer& transfer) { return link_name(transfer.from, transfer.to); }

  [[nodiscard]] std::vector<Transfer> all_transfers() const {
    std::vector<Transfer> transfers;
    const auto gpu = [](std::size_t i) { return Endpoint{EndpointKind::kGpu, static_cast<std::uint32_t>(i)}; };
    for (std::size_t host = 0; host < info_.numa_nodes.size(); ++host) {
      const Endpoint memory{EndpointKind::kHost, static_cast<std::uint32_t>(host)};
      for (std::size_t i = 0; i < info_.gpus.size(); ++i) {
        transfers.push_back({memory, gpu(i)});
        transfers.push_back({gpu(i), memory});
      }
    }
    for (std::size_t i = 0; i < info_.gpus.size(); ++i) {
      for (std::size_t j = 0; j < info_.gpus.size(); ++j) {
        if (i != j) transfers.push_back({gpu(i), gpu(j)});
      }
    }
    return transfers;
  }

  [[nodiscard]] std::string kind_of(const Transfer& transfer) const {
    if (transfer.from.kind != transfer.to.kind) return "host";
    const PeerLink* peer = info_.peer(transfer.from.index, transfer.to.index);
    return peer == nullptr ? "" : peer->kind;
  }

  void tell(const Transfer& transfer) {
    if (runs_.options().on_link) runs_.options().on_link(where_of(transfer));
  }

  // ---- Links at once ----

  // Links that carry less than their lanes allow may share what limits them. Equal rates alone and together then prove
  // nothing.
  void note_rate(const Transfer& transfer, double rate) {
    const PeerLink* peer = info_.peer(transfer.from.index, transfer.to.index);
    const auto capacity =
        peer == nullptr ? std::nullopt : node::peer_link_capacity(*peer, info_.gpus[transfer.from.index].name);
    const double least = peer == nullptr ? 0 : node::least_healthy_fraction(peer->kind).value_or(0);
    are_full_ = are_full_ && capacity && rate >= least * capacity->bytes_per_second;
  }

  void measure(const Batch& batch) {
    if (batch.size() > 1 && !are_full_) {
      for (const Transfer& transfer : batch) measure({transfer});
      return;
    }
    const Transfer& one = batch.front();
    const bool is_host = one.from.kind != one.to.kind;
    const std::uint64_t bytes = is_host ? kCopyBytes : kPeerCopyBytes;
    if (bandwidths(batch, "copy_bandwidth", TransferOp::kCopy, bytes)) {
      node::measure_sizes(runs_, batch);
    } else {
      for (const Transfer& transfer : batch) node::measure_sizes(runs_, {transfer});
    }
    if (is_host) bandwidths(batch, "pageable_copy_bandwidth", TransferOp::kPageableCopy, kPageableBytes);
    if (one.to.kind == EndpointKind::kGpu) bandwidths(batch, "sm_read_bandwidth", TransferOp::kRead, bytes);
    if (one.from.kind == EndpointKind::kGpu) bandwidths(batch, "sm_write_bandwidth", TransferOp::kWrite, bytes);
  }

  // Returns whether all transfers ran as fast as alone. Those that did not are then measured alone.
  bool bandwidths(const Batch& batch, std::string_view name, TransferOp op, std::uint64_t bytes) {
    if (batch.size() == 1) {
      bandwidth(batch.front(), name, op, bytes);
      const Transfer& one = batch.front();
      const auto rate = find(runs_.values_of(one), name)->number();
      if (one.from.kind == one.to.kind && rate) alone_[std::string(name)].push_back(*rate);
      if (one.from.kind == one.to.kind && rate && op == TransferOp::kCopy) note_rate(one, *rate);
      return true;
    }
    const AtOnce found = at_once({op, batch, bytes, 1}, node::LinkRuns::own_rates);
    bool are_as_alone = true;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (i < found.estimates.size() && node::matches_solo_rate(found.estimates[i], alone_[std::string(name)])) {
        runs_.put(runs_.values_of(batch[i]), name,
                  [&] { return bandwidth_of(found.estimates[i], name, found.bytes, batch.size()); });
      } else {
        bandwidth(batch[i], name, op, bytes);
        are_as_alone = false;
      }
    }
    return are_as_alone;
  }

  struct AtOnce {
    std::uint64_t bytes = 0;  // bytes of each transfer
    std::vector<Estimate> estimates;
  };
  // Returns no estimates if the transfers cannot run together. Each one then reports the reason when it runs alone.
  AtOnce at_once(const TransferProgram& program, const node::LinkRuns::Rates& rates) {
    try {
      auto [fitted, estimates] = fitting(program, rates);
      return {fitted.bytes, std::move(estimates)};
    } catch (const DeviceError&) {
      return {};
    }
  }

  // ---- One link ----

  void near_latencies(const Transfer& transfer) {
    AttributeMap& values = runs_.values_of(transfer);
    if (transfer.to.kind == EndpointKind::kGpu) {
      latency(transfer, values, "atomic_latency", TransferOp::kAtomic);
      latency(transfer, values, "load_latency", TransferOp::kLoad);
    }
    if (transfer.from.kind == EndpointKind::kGpu) latency(transfer, values, "store_latency", TransferOp::kStore);
  }

  static Attribute bandwidth_of(const Estimate& estimate, std::string_view name, std::uint64_t bytes,
                                std::size_t at_once) {
    Attribute attribute = node::LinkRuns::attribute_of(estimate, name, "transfers in a row");
    attribute.add_condition("bytes", static_cast<std::int64_t>(bytes));
    if (at_once > 1) attribute.add_condition("at_once", static_cast<std::int64_t>(at_once));
    return attribute;
  }

  void bandwidth(const Transfer& transfer, std::string_view name, TransferOp op, std::uint64_t bytes) {
    runs_.put(runs_.values_of(transfer), name, [&] {
      const TransferProgram asked{op, {transfer}, bytes, 1};
      const auto [program, estimates] = fitting(asked, node::LinkRuns::own_rates);
      Attribute attribute = bandwidth_of(estimates.front(), name, program.bytes, 1);
      if (op != TransferOp::kPageableCopy) runs_.warn_if_unsteady(where_of(transfer), name, estimates.front());
      return attribute;
    });
  }

  // Halves the bytes until a GPU or the host has room for them.
  std::pair<TransferProgram, std::vector<Estimate>> fitting(TransferProgram program,
                                                            const node::LinkRuns::Rates& rates) {
    while (true) {
      try {
        return {program, runs_.steady_rates(program, rates)};
      } catch (const DeviceMemoryError&) {
        if (program.bytes <= kLeastCopyBytes) throw;
        program.bytes /= 2;
      }
    }
  }

  void latency(const Transfer& transfer, AttributeMap& values, std::string_view name, TransferOp op) {
    runs_.put(values, name, [&] {
      TransferProgram program{op, {transfer}, kNearFootprint, kAccesses};
      std::vector<double> medians;
      std::vector<double> nearest;
      std::vector<double> farthest;
      static_cast<void>(runs_.ask(program));  // fills the owner's caches
      for (std::size_t run = 0; run < node::kRuns; ++run) {
        const Estimate over_sms = node::estimate(runs_.ask(program).seconds);
        medians.push_back(over_sms.value / kNano);
        nearest.push_back(over_sms.low / kNano);
        farthest.push_back(over_sms.high / kNano);
      }
      Attribute attribute =
          node::LinkRuns::attribute_of(node::estimate(medians), name, "dependent accesses by each SM");
      attribute.add_detail("nearest_sm_ns", std::ranges::min(nearest));
      attribute.add_detail("farthest_sm_ns", std::ranges::max(farthest));
      attribute.add_condition("footprint_bytes", static_cast<std::int64_t>(program.bytes));
      return attribute;
    });
  }

  // Adds a detail only: the latency of loads over a footprint that fits no cache, so that memory serves them.
  void add_large_footprint(const Transfer& transfer) {
    AttributeMap& values = runs_.values_of(transfer);
    const Attribute* near = find(values, "load_latency");
    if (near == nullptr || !near->available()) return;
    runs_.put(values, "load_latency", [&, attribute = *near]() mutable {
      const TransferProgram program{TransferOp::kLoad, {transfer}, kLargeFootprint, kAccesses};
      try {
        attribute.add_detail("large_footprint_ns", node::estimate(runs_.ask(program).seconds).value / kNano);
        attribute.add_detail("large_footprint_bytes", static_cast<std::int64_t>(program.bytes));
      } catch (const DeviceMemoryError&) {
        // No room for this footprint: the latency stays without the detail.
      }
      return attribute;
    });
  }

  // ---- Both ways ----

  static Transfer back_of(const Transfer& transfer) { return {transfer.to, transfer.from}; }

  // Returns each transfer's rate while its reverse runs. `program` lists each transfer next to its reverse.
  node::LinkRuns::Rates rates_of_pairs(std::string_view alone_name) {
    return [this, alone_name](const TransferProgram& program, const TransferResult& answer) {
      std::vector<double> rates;
      for (std::size_t i = 0; i < program.transfers.size(); i += 2) {
        std::vector<double> alone;
        for (const Transfer& transfer : {program.transfers[i], program.transfers[i + 1]}) {
          alone.push_back(find(runs_.values_of(transfer), alone_name)->number().value_or(0));
        }
        const std::vector<double> of_pair =
            node::rates_beside(static_cast<double>(program.bytes), std::span(answer.seconds).subspan(i, 2), alone);
        rates.insert(rates.end(), of_pair.begin(), of_pair.end());
      }
      return rates;
    };
  }

  void measure_bidirectional(const Batch& batch, TransferOp op, std::string_view alone_name, std::string_view name) {
    if (batch.size() == 1) return measure_bidirectional(batch.front(), op, alone_name, name);
    if (!are_full_) {
      for (const Transfer& there : batch) measure_bidirectional(there, op, alone_name, name);
      return;
    }
    TransferProgram program{
        op, {}, bytes_of(*find(runs_.values_of(batch.front()), alone_name)).value_or(kCopyBytes), 1};
    for (const Transfer& there : batch) program.transfers.insert(program.transfers.end(), {there, back_of(there)});
    const std::vector<Estimate> rates = at_once(program, rates_of_pairs(alone_name)).estimates;
    const std::vector<double>& alone = alone_[std::string(name)];
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!rates.empty() && node::matches_solo_rate(rates[2 * i], alone) &&
          node::matches_solo_rate(rates[2 * i + 1], alone)) {
        put_both_ways(batch[i], name, both_ways_of(rates[2 * i], name, batch.size()));
        put_both_ways(back_of(batch[i]), name, both_ways_of(rates[2 * i + 1], name, batch.size()));
      } else {
        measure_bidirectional(batch[i], op, alone_name, name);
      }
    }
  }

  void measure_bidirectional(const Transfer& there, TransferOp op, std::string_view alone_name, std::string_view name) {
    const Transfer back = back_of(there);
    const Attribute alone_there = *find(runs_.values_of(there), alone_name);
    const Attribute alone_back = *find(runs_.values_of(back), alone_name);
    std::vector<Estimate> both;
    runs_.put(runs_.values_of(there), name, [&] {
      for (const Attribute& alone : {alone_there, alone_back}) {
        if (!alone.available()) return alone;
      }
      both = fitting({op, {there, back}, bytes_of(alone_there).value_or(kCopyBytes), 1}, rates_of_pairs(alone_name))
                 .second;
      runs_.warn_if_unsteady(where_of(there), name, both[0]);
      return both_ways_of(both[0], name, 1);
    });
    if (both.empty()) return put_both_ways(back, name, *find(runs_.values_of(there), name));
    runs_.warn_if_unsteady(where_of(back), name, both[1]);
    put_both_ways(back, name, both_ways_of(both[1], name, 1));
    if (there.from.kind == there.to.kind) alone_[std::string(name)].push_back(both[0].value);
  }

  static Attribute both_ways_of(const Estimate& estimate, std::string_view name, std::size_t at_once) {
    Attribute attribute = node::LinkRuns::attribute_of(estimate, name, "transfers both ways");
    if (at_once > 1) attribute.add_condition("at_once", static_cast<std::int64_t>(2 * at_once));
    return attribute;
  }

  void put_both_ways(const Transfer& transfer, std::string_view name, const Attribute& attribute) {
    get_or_add(runs_.values_of(transfer), name) = attribute;
  }

  node::LinkRuns& runs_;
  const NodeInfo& info_;
  std::map<std::string, std::vector<double>> alone_;  // rates of GPU-to-GPU links measured alone, by attribute
  bool are_full_ = true;                              // each of these carries what its lanes allow
};

}  // namespace

void measure_links(Links& links, const NodeOptions& options, NodeReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  if (report.numa_nodes.empty()) report.numa_nodes = links.info().numa_nodes;
  node::LinkRuns runs(links, options, report);
  Measurement measurement(runs);
  try {
    measurement.each_link();
    measurement.latencies();
    measurement.measure_bidirectional();
    node::measure_together(runs);
  } catch (const node::Stopped& stopped) {
    report.complete = false;
    report.warnings.push_back(stopped.why);
  }
  for (std::string& warning : links.warnings()) report.warnings.push_back(std::move(warning));
  // Removes links that were not reached.
  std::erase_if(report.links, [](const LinkReport& link) { return link.attributes.empty(); });
  node::add_capacity_fractions(report);
  report.verdicts = node::judge_links(report);
  report.link_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace gputopo
