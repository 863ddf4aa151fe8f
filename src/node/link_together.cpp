#include "node/link_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gputopo/error.h"
#include "node/link_runs.h"

namespace gputopo::node {
namespace {

constexpr std::uint64_t kBytes = 64ull << 20;
constexpr std::uint64_t kLeastBytes = 1ull << 20;
// Copies in a row. All transfers together need more, since their total must be steady. A pair only needs a yes or no.
constexpr std::uint32_t kRepeats = 4;
constexpr std::uint32_t kPairRepeats = 2;

class Together {
 public:
  explicit Together(LinkRuns& runs) : runs_(runs) {}

  void run() {
    const NodeInfo& info = runs_.info();
    const std::size_t count = info.gpus.size();
    if (count < 2) return;
    std::vector<Transfer> down;
    std::vector<Transfer> up;
    std::vector<Transfer> ring;
    std::vector<Transfer> scatter;
    std::vector<Transfer> gather;
    std::vector<Transfer> pairs;
    for (std::size_t i = 0; i < count; ++i) {
      const Endpoint host = near_host(runs_.report(), i, info.gpus[i].numa_node);
      warn_if_guessed(i, host);
      down.push_back({host, gpu(i)});
      up.push_back({gpu(i), host});
      ring.push_back({gpu(i), gpu((i + 1) % count)});
      if (i > 0) scatter.push_back({gpu(0), gpu(i)});
      if (i > 0) gather.push_back({gpu(i), gpu(0)});
      for (std::size_t j = 0; j < count; ++j) {
        if (i != j) pairs.push_back({gpu(i), gpu(j)});
      }
    }
    std::vector<Transfer> host = down;
    host.insert(host.end(), up.begin(), up.end());
    at_once("host_to_all", "Host to each GPU", down, true);
    at_once("all_to_host", "Each GPU to the host", up, true);
    at_once("host_both_ways", "Host to and from each GPU", host, true);
    at_once("ring", "Each GPU to the next", ring, true);
    if (count == 2) return;  // the remaining cases are links of one pair
    // These transfers all share one GPU, so a search for sharing pairs would tell nothing new.
    at_once("one_to_all", "GPU 0 to all others", scatter, false);
    at_once("all_to_one", "All others to GPU 0", gather, false);
    at_once("all_pairs", "Each GPU to every other", pairs, false);
  }

 private:
  static Endpoint gpu(std::size_t i) { return {EndpointKind::kGpu, static_cast<std::uint32_t>(i)}; }

  void warn_if_guessed(std::size_t index, const Endpoint& host) {
    if (runs_.info().gpus[index].numa_node || runs_.info().numa_nodes.size() == 1) return;
    runs_.report().warnings.push_back(fmt::format(
        "the system does not report the NUMA node of gpu{}; gputopo uses {} because copies between the two are fastest",
        index, to_text(host)));
  }

  // `problem` names a link without a rate of its own.
  struct Alone {
    std::vector<double> rates;
    std::string problem;
  };
  Alone rates_alone(const std::vector<Transfer>& transfers) {
    Alone alone;
    for (const Transfer& transfer : transfers) {
      const LinkReport* link = runs_.link_of(transfer);
      const Attribute* known = link == nullptr ? nullptr : find(link->attributes, "copy_bandwidth");
      if (known == nullptr || !known->available()) {
        alone.problem =
            fmt::format("copy_bandwidth from {} to {} is missing", to_text(transfer.from), to_text(transfer.to));
        return alone;
      }
      alone.rates.push_back(known->number().value_or(0));
    }
    return alone;
  }

  struct Runs {
    std::vector<double> totals;        // by run, total rate of all transfers
    std::vector<double> least_shares;  // by run
    bool in_turn = false;              // true if any run was in turn
  };
  Runs steady_runs(const std::vector<Transfer>& transfers, const std::vector<double>& alone) {
    const TransferProgram program{TransferOp::kCopy, transfers, bytes_, kRepeats};
    const auto run = [&] {
      static_cast<void>(run_fitting(program, alone, 1));  // wakes the links
      return run_fitting(program, alone, kRuns);
    };
    return runs_.steadiest<Runs>(run, [](const Runs& runs) { return estimate(runs.least_shares).spread(); });
  }

  // Halves the bytes until all transfers fit into memory.
  Runs run_fitting(TransferProgram program, const std::vector<double>& alone, std::size_t count) {
    while (true) {
      program.bytes = bytes_;
      try {
        return run_together(program, alone, count);
      } catch (const DeviceMemoryError&) {
        if (bytes_ <= kLeastBytes) throw;
        bytes_ /= 2;
      }
    }
  }
  Runs run_together(const TransferProgram& program, const std::vector<double>& alone, std::size_t count) {
    Runs runs;
    for (std::size_t run = 0; run < count; ++run) {
      const TransferResult answer = runs_.ask(program);
      const AtOnce found =
          concurrent_rates(static_cast<double>(program.bytes) * program.repeats, answer.seconds, answer.begins);
      runs.totals.push_back(found.total);
      runs.least_shares.push_back(std::ranges::min(shares(alone, found.rates)));
      runs.in_turn |= found.in_turn;
    }
    return runs;
  }

  void at_once(const std::string& id, const std::string& title, const std::vector<Transfer>& transfers,
               bool asks_who_shares) {
    if (runs_.options().on_link) runs_.options().on_link(title);
    ConcurrentReport entry{.id = id, .title = title, .attributes = {}};
    const Alone alone = rates_alone(transfers);
    Attribute share;
    runs_.put(entry.attributes, "together_bandwidth", [&] {
      if (!alone.problem.empty()) return unavailable(Reason::kDependency, alone.problem);
      const Runs runs = steady_runs(transfers, alone.rates);
      share = LinkRuns::attribute_of(estimate(runs.least_shares), "min_rate_fraction", "transfers at once");
      if (asks_who_shares && share.number().value_or(1) < kOwnShare && transfers.size() > 1) {
        add_sharing(transfers, alone.rates, share);
      }
      Attribute total = LinkRuns::attribute_of(estimate(runs.totals), "together_bandwidth", "transfers at once");
      double sum = 0;
      for (const double rate : alone.rates) sum += rate;
      total.add_detail("alone_bytes_per_second", sum);
      total.add_detail("transfers", static_cast<std::int64_t>(transfers.size()));
      if (runs.in_turn) total.add_detail("in_turn", true);
      return total;
    });
    if (share.available()) get_or_add(entry.attributes, "min_rate_fraction") = std::move(share);
    runs_.report().together.push_back(std::move(entry));
  }

  struct Pair {
    Transfer one;
    Transfer other;
    [[nodiscard]] std::string name() const {
      return fmt::format("{}-{} and {}-{}", to_text(one.from), to_text(one.to), to_text(other.from), to_text(other.to));
    }
  };

  // Returns the share that the slower transfer keeps, by run. Stops when the result is decided, and reuses the results
  // of pairs that were tried before. The links are awake: all transfers ran together just before.
  const std::vector<double>& pair_shares(const Pair& pair, const std::vector<double>& alone) {
    const auto [known, is_new] = pairs_.try_emplace(pair.name());
    if (!is_new) return known->second;
    std::vector<double>& found = known->second;
    while (!is_decided(found)) {
      const TransferProgram program{TransferOp::kCopy, {pair.one, pair.other}, bytes_, kPairRepeats};
      found.push_back(run_fitting(program, alone, 1).least_shares.front());
    }
    return found;
  }

  // Finds the pairs that slow each other. Called only if all transfers together are slower than alone.
  void add_sharing(const std::vector<Transfer>& transfers, const std::vector<double>& alone, Attribute& share) {
    constexpr std::size_t kMostPairs = 200;  // all pairs of twenty transfers; each takes some milliseconds
    std::vector<std::string> shared;
    std::vector<std::string> unclear;
    SampleTable table{.name = "pair_share",
                      .plot = Plot::kMap,
                      .columns = {{"one", ColumnRole::kAxis, "transfer", ""},
                                  {"other", ColumnRole::kAxis, "transfer", ""},
                                  {"share", ColumnRole::kValue, "rate of the slower transfer vs. alone", ""}},
                      .data = {{}, {}, {}}};
    std::size_t asked = 0;
    if (transfers.size() == 2) {  // this pair is already known to share
      share.add_detail("sharing_pairs", std::vector<std::string>{Pair{transfers[0], transfers[1]}.name()});
      return;
    }
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      for (std::size_t j = i + 1; j < transfers.size(); ++j) {
        if (asked == kMostPairs && !runs_.options().full) break;
        ++asked;
        const Pair pair{transfers[i], transfers[j]};
        const std::vector<double>& least_shares = pair_shares(pair, {alone[i], alone[j]});
        const Sharing sharing = decide_sharing(least_shares);
        if (sharing == Sharing::kAPart) shared.push_back(pair.name());
        if (sharing == Sharing::kUnclear) unclear.push_back(pair.name());
        table.data[0].push_back(static_cast<double>(i));
        table.data[1].push_back(static_cast<double>(j));
        table.data[2].push_back(estimate(least_shares).value);
      }
    }
    share.add_detail("sharing_pairs", shared);
    share.add_detail("unclear_pairs", unclear);
    share.add_detail("pairs", static_cast<std::int64_t>(transfers.size() * (transfers.size() - 1) / 2));
    share.add_detail("pairs_tried", static_cast<std::int64_t>(asked));
    share.samples.push_back(std::move(table));
  }

  std::map<std::string, std::vector<double>> pairs_;  // results of pair_shares(), by pair name
  LinkRuns& runs_;
  std::uint64_t bytes_ = kBytes;
};

}  // namespace

void measure_together(LinkRuns& runs) { Together(runs).run(); }

}  // namespace gputopo::node
