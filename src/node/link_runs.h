// Repeats transfers of a node and turns them into rates; every link measurement uses this class.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/node.h"
#include "node/link_decision.h"

namespace gputopo::node {

inline constexpr double kNano = 1e-9;
inline constexpr int kAttempts = 5;  // sets of runs, until one is steady

// Ends all measurements: the time is up, or the device is lost.
struct Stopped {
  std::string why;
};

class LinkRuns {
 public:
  LinkRuns(Links& links, const NodeOptions& options, NodeReport& report)
      : links_(links), options_(options), report_(report) {}

  [[nodiscard]] const NodeInfo& info() const { return links_.info(); }
  [[nodiscard]] const NodeOptions& options() const { return options_; }
  [[nodiscard]] NodeReport& report() { return report_; }
  // Null if the link was not reached.
  [[nodiscard]] LinkReport* link_of(const Transfer& transfer);

  // The link must be in the report.
  [[nodiscard]] AttributeMap& values_of(const Transfer& transfer) { return link_of(transfer)->attributes; }

  // Throws Stopped, or those errors of Links::run() that do not end the measurement.
  TransferResult ask(const TransferProgram& program);

  // Pauses before unsteady runs are repeated.
  void rest();

  // Computes each transfer's rate in bytes per second from the result.
  using Rates = std::function<std::vector<double>(const TransferProgram& program, const TransferResult& answer)>;
  static std::vector<double> own_rates(const TransferProgram& program, const TransferResult& answer);
  // Other programs use links and memories now and then, so unsteady runs are repeated a little later, up to kAttempts
  // times. The steadiest set counts. Its interval shows whether it is steady.
  [[nodiscard]] std::vector<Estimate> steady_rates(const TransferProgram& program, const Rates& rates = own_rates);
  // Same for any result made of runs: `make` runs it, `spread_of` returns its spread.
  template <typename Made>
  [[nodiscard]] Made steadiest(const std::function<Made()>& make, const std::function<double(const Made&)>& spread_of) {
    Made best = make();
    double before = spread_of(best);
    for (int attempt = 1; attempt < kAttempts && spread_of(best) > kSteadySpread; ++attempt) {
      rest();
      Made made = make();
      const double spread = spread_of(made);
      if (spread < spread_of(best)) best = std::move(made);
      if (have_similar_spread(spread, std::exchange(before, spread))) break;
    }
    return best;
  }

  static Attribute attribute_of(const Estimate& estimate, std::string_view name, std::string method);
  // Stores a value or the reason for its absence. A device failure also marks the report incomplete.
  void put(AttributeMap& attributes, std::string_view name, const std::function<Attribute()>& measure);
  void warn_if_unsteady(const std::string& where, std::string_view name, const Estimate& estimate);

 private:
  [[nodiscard]] std::vector<Estimate> rates_of_runs(const TransferProgram& program, const Rates& rates);

  Links& links_;
  const NodeOptions& options_;
  NodeReport& report_;
};

// Bytes of each transfer behind a measured bandwidth.
[[nodiscard]] std::optional<std::uint64_t> bytes_of(const Attribute& bandwidth);

}  // namespace gputopo::node
