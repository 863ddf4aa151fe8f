// Running transfers of a node again and again, and what their rates are: for everything that is measured of links.
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
inline constexpr int kAttempts = 5;  // to find runs that are alike

// The end of all: there is no more time, or the device is gone.
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
  // Null where it was not reached.
  [[nodiscard]] LinkReport* link_of(const Transfer& transfer);

  // Of a link that is in the report.
  [[nodiscard]] AttributeMap& values_of(const Transfer& transfer) { return link_of(transfer)->attributes; }

  // Throws Stopped, and the errors of Links::run() that are no end.
  TransferResult ask(const TransferProgram& program);

  // Between runs that differ and those that are made again.
  void rest();

  // Bytes a second of each transfer, from its answer.
  using Rates = std::function<std::vector<double>(const TransferProgram& program, const TransferResult& answer)>;
  static std::vector<double> own_rates(const TransferProgram& program, const TransferResult& answer);
  // Others use links and memories now and then: runs that differ are made again a little later, some times. The
  // steadiest are taken, and by their interval a reader sees if none were.
  [[nodiscard]] std::vector<Estimate> steady_rates(const TransferProgram& program, const Rates& rates = own_rates);
  // The same of anything that is made of runs: `make` makes it, `spread_of` tells how far its runs lie apart.
  template <typename Made>
  [[nodiscard]] Made steadiest(const std::function<Made()>& make, const std::function<double(const Made&)>& spread_of) {
    Made best = make();
    double before = spread_of(best);
    for (int attempt = 1; attempt < kAttempts && spread_of(best) > kSteadySpread; ++attempt) {
      rest();
      Made made = make();
      const double spread = spread_of(made);
      if (spread < spread_of(best)) best = std::move(made);
      if (vary_alike(spread, std::exchange(before, spread))) break;
    }
    return best;
  }

  static Attribute attribute_of(const Estimate& estimate, std::string_view name, std::string method);
  // What cannot be measured has a reason; all else goes on, and the report is not complete where a device failed.
  void put(AttributeMap& attributes, std::string_view name, const std::function<Attribute()>& measure);
  void warn_if_unsteady(const std::string& where, std::string_view name, const Estimate& estimate);

 private:
  [[nodiscard]] std::vector<Estimate> rates_of_runs(const TransferProgram& program, const Rates& rates);

  Links& links_;
  const NodeOptions& options_;
  NodeReport& report_;
};

// Of each transfer that a bandwidth was measured with.
[[nodiscard]] std::optional<std::uint64_t> bytes_of(const Attribute& bandwidth);

}  // namespace gputopo::node
