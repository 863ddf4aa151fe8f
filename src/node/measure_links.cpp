// Which transfers tell what of the links of a node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "gputopo/error.h"
#include "gputopo/node.h"
#include "node/link_decision.h"
#include "node/link_runs.h"

namespace gputopo {
namespace {

using node::Estimate;
using node::kNano;
using node::SizeSample;

constexpr std::uint64_t kMiB = 1ull << 20;
// So much that what a copy takes beside its bytes, some microseconds, is about 0.1% of it. Links between GPUs are up to
// ten times as fast as those to the host.
constexpr std::uint64_t kCopyBytes = 256 * kMiB;
constexpr std::uint64_t kPeerCopyBytes = 1024 * kMiB;
constexpr std::uint64_t kLeastCopyBytes = 16 * kMiB;  // where there is no room for more
// Copied by the host's cores, several times slower.
constexpr std::uint64_t kPageableBytes = 64 * kMiB;
constexpr std::uint64_t kBytesOfRow = 64 * kMiB;  // of small copies
// Kept by the L2 at home, and by no cache: L2 of the largest GPU so far is 256 MiB in two halves.
constexpr std::uint64_t kNearFootprint = 2 * kMiB;
constexpr std::uint64_t kLargeFootprint = 128 * kMiB;
constexpr std::uint32_t kAccesses = 256;
constexpr std::uint64_t kLeastSize = 4096;
constexpr std::uint64_t kSizeStep = 4;

class Measurement {
 public:
  explicit Measurement(node::LinkRuns& runs) : runs_(runs), info_(runs.info()) {}

  void each_link() {
    for (const Transfer& transfer : all_transfers()) {
      const std::string where = where_of(transfer);
      if (runs_.options().on_link) runs_.options().on_link(where);
      // Not a reference that stays: the next link moves them.
      runs_.report().links.push_back({.from = transfer.from, .to = transfer.to, .kind = kind_of(transfer)});
      measure(transfer, runs_.report().links.back().attributes);
    }
  }

  void both_ways() {
    for (const Transfer& transfer : all_transfers()) {
      if (transfer.to < transfer.from) continue;  // each pair once
      both_ways(transfer, TransferOp::kCopy, "copy_bandwidth", "both_ways_copy_bandwidth");
      if (transfer.from.kind != transfer.to.kind) continue;
      both_ways(transfer, TransferOp::kRead, "sm_read_bandwidth", "both_ways_sm_read_bandwidth");
    }
  }

 private:
  static std::string where_of(const Transfer& transfer) {
    return fmt::format("{} to {}", to_text(transfer.from), to_text(transfer.to));
  }

  [[nodiscard]] std::vector<Transfer> all_transfers() const {
    std::vector<Transfer> transfers;
    const auto gpu = [](std::size_t i) { return Place{PlaceKind::kGpu, static_cast<std::uint32_t>(i)}; };
    for (std::size_t host = 0; host < info_.numa_nodes.size(); ++host) {
      const Place memory{PlaceKind::kHost, static_cast<std::uint32_t>(host)};
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

  // ---- One link ----

  void measure(const Transfer& transfer, AttributeMap& values) {
    const bool is_host = transfer.from.kind != transfer.to.kind;
    const std::uint64_t bytes = is_host ? kCopyBytes : kPeerCopyBytes;
    bandwidth(transfer, values, "copy_bandwidth", TransferOp::kCopy, bytes);
    sweep(transfer, values);
    if (is_host) {
      bandwidth(transfer, values, "pageable_copy_bandwidth", TransferOp::kPageableCopy, kPageableBytes);
    }
    if (transfer.to.kind == PlaceKind::kGpu) {
      bandwidth(transfer, values, "sm_read_bandwidth", TransferOp::kRead, bytes);
    }
    if (transfer.from.kind == PlaceKind::kGpu) {
      bandwidth(transfer, values, "sm_write_bandwidth", TransferOp::kWrite, bytes);
    }
    if (transfer.to.kind == PlaceKind::kGpu) {
      latency(transfer, values, "atomic_latency", TransferOp::kAtomic);
      latency(transfer, values, "load_latency", TransferOp::kLoad);
    }
    if (transfer.from.kind == PlaceKind::kGpu) latency(transfer, values, "store_latency", TransferOp::kStore);
  }

  void bandwidth(const Transfer& transfer, AttributeMap& values, std::string_view name, TransferOp op,
                 std::uint64_t bytes) {
    runs_.put(values, name, [&] {
      const TransferProgram asked{op, {transfer}, bytes, 1};
      const auto [program, estimates] = fitting(asked, node::LinkRuns::own_rates);
      Attribute attribute = node::LinkRuns::attribute_of(estimates.front(), name, "transfers in a row");
      attribute.add_condition("bytes", static_cast<std::int64_t>(program.bytes));
      if (op != TransferOp::kPageableCopy) runs_.warn_if_unsteady(where_of(transfer), name, estimates.front());
      return attribute;
    });
  }

  // Fewer bytes where a GPU or the host has no room for all.
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

  // Of a large footprint only a detail: what the memory behind adds.
  void latency(const Transfer& transfer, AttributeMap& values, std::string_view name, TransferOp op) {
    runs_.put(values, name, [&] {
      TransferProgram program{op, {transfer}, kNearFootprint, kAccesses};
      std::vector<double> medians;
      std::vector<double> nearest;
      std::vector<double> farthest;
      static_cast<void>(runs_.ask(program));  // fills the caches at home
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
      if (op == TransferOp::kLoad) add_large_footprint(program, attribute);
      return attribute;
    });
  }

  void add_large_footprint(TransferProgram program, Attribute& attribute) {
    program.bytes = kLargeFootprint;
    try {
      attribute.add_detail("large_footprint_ns", node::estimate(runs_.ask(program).seconds).value / kNano);
      attribute.add_detail("large_footprint_bytes", static_cast<std::int64_t>(program.bytes));
    } catch (const DeviceMemoryError&) {
      // There is no room for it: the latency stands without.
    }
  }

  // ---- By size ----

  SizeSample copies_of(const Transfer& transfer, std::uint64_t bytes) {
    constexpr std::uint32_t kMost = 128;  // queues of drivers hold some hundreds
    const auto repeats = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBytesOfRow / bytes, 1, kMost));
    const TransferProgram program{TransferOp::kCopy, {transfer}, bytes, repeats};
    return {bytes, runs_.ask(program).seconds.front() / repeats};
  }

  // As far as there is room.
  std::vector<SizeSample> one_sweep(const Transfer& transfer) {
    std::vector<SizeSample> samples;
    const std::uint64_t most = runs_.options().full ? kMaxTransferBytes : kCopyBytes;
    for (std::uint64_t bytes = kLeastSize; bytes <= most; bytes *= kSizeStep) {
      try {
        samples.push_back(copies_of(transfer, bytes));
      } catch (const DeviceMemoryError&) {
        if (samples.empty()) throw;
        break;
      }
    }
    return samples;
  }

  void sweep(const Transfer& transfer, AttributeMap& values) {
    const Attribute whole = *find(values, "copy_bandwidth");
    if (!whole.available()) return;
    std::vector<std::vector<SizeSample>> sweeps;
    runs_.put(values, "copy_latency", [&] {
      std::vector<double> least;
      for (std::size_t run = 0; run < node::kRuns; ++run) {
        least.push_back(sweeps.emplace_back(one_sweep(transfer)).front().seconds / kNano);
      }
      return node::LinkRuns::attribute_of(node::estimate(least), "copy_latency", "copies by size");
    });
    if (sweeps.size() < node::kRuns) return;
    const Estimate bandwidth{whole.number().value_or(0), whole.low.value_or(0), whole.high.value_or(0)};
    runs_.put(values, "copy_half_size", [&] {
      try_between(transfer, sweeps, bandwidth);
      const Estimate size = node::half_bandwidth_size(sweeps, bandwidth);
      Attribute attribute =
          size.value > 0 ? node::LinkRuns::attribute_of(size, "copy_half_size", "copies by size")
                         : unavailable(Reason::kInconclusive, "no two sizes lie on both sides of half the bandwidth");
      attribute.samples.push_back(table_of(transfer, sweeps));
      return attribute;
    });
  }

  // Sizes are four times apart, and how the time grows between them is not known: one more where half of the bandwidth
  // seems to be.
  void try_between(const Transfer& transfer, std::vector<std::vector<SizeSample>>& sweeps, const Estimate& bandwidth) {
    const Estimate size = node::half_bandwidth_size(sweeps, bandwidth);
    if (size.value <= 0) return;
    const auto lines = static_cast<std::uint64_t>(size.value) / kTransferStride;
    const std::uint64_t bytes = std::max<std::uint64_t>(lines, 1) * kTransferStride;
    for (std::vector<SizeSample>& sweep : sweeps) {
      const auto place = std::ranges::lower_bound(sweep, bytes, {}, &SizeSample::bytes);
      if (place != sweep.end() && place->bytes == bytes) return;
      const auto index = place - sweep.begin();
      const SizeSample sample = copies_of(transfer, bytes);
      sweep.insert(sweep.begin() + index, sample);
    }
  }

  static SampleTable table_of(const Transfer& transfer, const std::vector<std::vector<SizeSample>>& sweeps) {
    SampleTable table{
        .name = fmt::format("{}_{}.copy_by_size", to_text(transfer.from), to_text(transfer.to)),
        .plot = Plot::kLine,
        .columns = {{"bytes", ColumnRole::kAxis, "size", "B"},
                    {"bytes_per_second", ColumnRole::kValue, "bandwidth", "B/s"}},
        .data = {{}, {}},
    };
    for (std::size_t i = 0; i < sweeps.front().size(); ++i) {
      std::vector<double> seconds;
      for (const std::vector<SizeSample>& sweep : sweeps) {
        if (i < sweep.size()) seconds.push_back(sweep[i].seconds);
      }
      const auto bytes = static_cast<double>(sweeps.front()[i].bytes);
      table.data[0].push_back(bytes);
      table.data[1].push_back(bytes / node::estimate(seconds).value);
    }
    return table;
  }

  // ---- Both ways ----

  void both_ways(const Transfer& transfer, TransferOp op, std::string_view alone_name, std::string_view name) {
    const Transfer reverse{transfer.to, transfer.from};
    AttributeMap& there = runs_.link_of(transfer)->attributes;
    AttributeMap& back = runs_.link_of(reverse)->attributes;
    const Attribute alone_there = *find(there, alone_name);
    const Attribute alone_back = *find(back, alone_name);
    std::vector<Estimate> both;
    runs_.put(there, name, [&] {
      for (const Attribute& alone : {alone_there, alone_back}) {
        if (!alone.available()) return alone;
      }
      const std::vector<double> rates_alone{alone_there.number().value_or(0), alone_back.number().value_or(0)};
      const auto rates = [&](const TransferProgram& program, const TransferResult& answer) {
        return node::rates_beside(static_cast<double>(program.bytes), answer.seconds, rates_alone);
      };
      both = fitting({op, {transfer, reverse}, bytes_of(alone_there), 1}, rates).second;
      runs_.warn_if_unsteady(where_of(transfer), name, both[0]);
      return node::LinkRuns::attribute_of(both[0], name, "transfers both ways");
    });
    runs_.put(back, name, [&] {
      if (both.empty()) return *find(there, name);
      runs_.warn_if_unsteady(where_of(reverse), name, both[1]);
      return node::LinkRuns::attribute_of(both[1], name, "transfers both ways");
    });
  }

  static std::uint64_t bytes_of(const Attribute& bandwidth) {
    for (const auto& [name, value] : bandwidth.conditions) {
      if (name == "bytes") return static_cast<std::uint64_t>(std::get<std::int64_t>(value));
    }
    return kCopyBytes;
  }

  node::LinkRuns& runs_;
  const NodeInfo& info_;
};

}  // namespace

void measure_links(Links& links, const NodeOptions& options, NodeReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  if (report.numa_nodes.empty()) report.numa_nodes = links.info().numa_nodes;
  node::LinkRuns runs(links, options, report);
  Measurement measurement(runs);
  try {
    measurement.each_link();
    measurement.both_ways();
    node::measure_together(runs);
  } catch (const node::Stopped& stopped) {
    report.complete = false;
    report.warnings.push_back(stopped.why);
  }
  for (std::string& warning : links.warnings()) report.warnings.push_back(std::move(warning));
  report.link_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace gputopo
