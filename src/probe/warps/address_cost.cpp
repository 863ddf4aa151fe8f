#include "probe/warps/address_cost.h"

#include "probe/bench/access_trial.h"
#include "probe/bench/value_or_throw.h"
#include "probe/warps/address_cost_decision.h"

namespace gputopo::probe {
namespace {

// A warp loads constants from `addresses` addresses that are `apart_bytes` apart.
AccessProgram of_addresses(const Site& site, std::uint32_t addresses, std::uint32_t apart_bytes) {
  return {.op = AccessOp::kLoad,
          .space = site.space,
          .bytes = std::uint64_t{addresses} * apart_bytes,
          .lane_stride_bytes = apart_bytes,
          .warm_accesses = kAccessTrial.warm_accesses,
          .accesses = kAccessTrial.timed_accesses};
}

// The curve over numbers of addresses that fit half of the cache, up to the lanes of a warp.
AddressCurve measure_curve(ProbeRunner& runner, const Cache& cache, std::uint32_t apart_bytes) {
  const std::uint64_t room = cache.fits_bytes / 2 / apart_bytes;
  AddressCurve curve;
  std::vector<AccessProgram> programs;
  for (std::uint32_t addresses = 1; addresses <= runner.info().warp_size && addresses <= room;
       addresses += addresses < 4 ? 1 : addresses / 2) {
    curve.addresses.push_back(addresses);
    programs.push_back(of_addresses(cache.site(), addresses, apart_bytes));
  }
  for (const AccessTrial& trial : run_trials(runner, programs)) curve.cycles.push_back(trial.cycles());
  return curve;
}

}  // namespace

Attribute measure_address_cost(ProbeRunner& runner, const Cache& cache) {
  constexpr std::size_t kLeastPoints = 4;  // for a line and its residual
  const AddressCurve words = measure_curve(runner, cache, kWordBytes);
  if (words.addresses.size() < kLeastPoints) {
    throw Inconclusive("too few addresses fit in the cache to measure the cost of each");
  }
  const CostLine cost = value_or_throw(runner, "addresses", decide_address_cost(words));
  Attribute attribute = measured(runner.conditions(), rounded(cost.line.slope), "cycles",
                                 slope_interval(cost.line.slope, cost.slope_error_cycles), "slope_over_addresses");
  attribute.add_detail("one_address_cycles", rounded(words.cycles.front()));
  attribute.add_detail("most_addresses", static_cast<std::int64_t>(words.addresses.back()));
  attribute.add_detail("most_addresses_cycles", rounded(words.cycles.back()));
  attribute.add_detail("residual_cycles", rounded(cost.residual_cycles));
  const auto line_bytes = static_cast<std::uint32_t>(cache.line_or_fetch_bytes());
  const AddressCurve lines = measure_curve(runner, cache, line_bytes);
  if (lines.addresses.size() >= kLeastPoints) {
    attribute.add_detail("lines_apart_cycles", rounded(cost_line(lines.addresses, lines.cycles).line.slope));
  }
  if (runner.keep_samples()) {
    SampleTable table = make_table("addresses", Plot::kLine,
                                   {axis("addresses", "addresses"), series("apart_bytes", "address stride", "B"),
                                    values("latency_cycles", "load latency of a warp", "cycles")});
    const auto add = [&](const AddressCurve& curve, double apart_bytes) {
      for (std::size_t i = 0; i < curve.addresses.size(); ++i) {
        table.data[0].push_back(curve.addresses[i]);
        table.data[1].push_back(apart_bytes);
        table.data[2].push_back(rounded(curve.cycles[i]));
      }
    };
    add(words, kWordBytes);
    add(lines, line_bytes);
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

}  // namespace gputopo::probe
