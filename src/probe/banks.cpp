// Banks of shared memory: a warp's lanes access words that are a stride apart, at every stride up to 64 words, and a
// layout of banks explains what each costs. What fools it: accesses whose lanes are served in an order of their own, so
// that two layouts explain the curve about as well.
#include <algorithm>

#include "probe/access.h"
#include "probe/access_trial.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kMaxStrideWords = 64;

AccessProgram strided(const Lab& lab, AccessOp op, std::uint32_t stride_bytes) {
  return {.op = op,
          .space = Space::kShared,
          .bytes = std::uint64_t{lab.info().warp_size} * kMaxStrideWords * kWordBytes,
          .lane_stride_bytes = stride_bytes,
          .warm_accesses = kAccessTrial.warm_accesses,
          .accesses = op == AccessOp::kStore ? kAccessTrial.timed_stores : kAccessTrial.timed_accesses};
}

double at_stride(const BankCurve& curve, const std::vector<double>& cycles, double stride_bytes) {
  const auto place = std::ranges::find(curve.strides_bytes, stride_bytes);
  return cycles[static_cast<std::size_t>(place - curve.strides_bytes.begin())];
}

}  // namespace

BankCurve measure_bank_curve(Lab& lab) {
  BankCurve curve{.warp_lanes = lab.info().warp_size};
  std::vector<AccessProgram> programs;
  for (std::uint32_t words = 0; words <= kMaxStrideWords; ++words) {
    curve.strides_bytes.push_back(words * kWordBytes);
    programs.push_back(strided(lab, AccessOp::kLoad, words * kWordBytes));
    programs.push_back(strided(lab, AccessOp::kStore, words * kWordBytes));
  }
  const std::vector<AccessTrial> trials = run_trials(lab, programs);
  for (std::size_t i = 0; i < trials.size(); i += 2) {
    curve.load_cycles.push_back(trials[i].cycles());
    curve.store_cycles.push_back(trials[i + 1].cycles());
  }
  curve.conditions = lab.conditions();
  return curve;
}

Attribute banks(const BankCurve& curve, const BankFit& fit) {
  Attribute attribute = measured_exactly(curve.conditions, fit.layout.banks, "", "layout_that_explains_strides");
  if (fit.lanes_are_clear) {
    attribute.add_detail("lanes_at_once", static_cast<std::int64_t>(fit.layout.lanes_at_once));
  }
  attribute.add_detail("residual_cycles", rounded(fit.residual_cycles));
  return attribute;
}

Attribute bank_width(const BankCurve& curve, const BankFit& fit) {
  return measured_exactly(curve.conditions, fit.layout.bank_bytes, "B", "layout_that_explains_strides");
}

Attribute conflict_cost(const Lab& lab, const BankCurve& curve, const BankFit& fit) {
  Attribute attribute = measured(curve.conditions, rounded(fit.conflict_cycles), "cycles", conflict_interval(fit),
                                 "slope_over_conflicts");
  const stats::Line stores = stats::fit_line(conflicts_along(fit.layout, curve), curve.store_cycles);
  attribute.add_detail("conflict_free_cycles", rounded(fit.free_cycles));
  attribute.add_detail("broadcast_cycles", rounded(at_stride(curve, curve.load_cycles, 0)));
  attribute.add_detail("worst_cycles", rounded(*std::ranges::max_element(curve.load_cycles)));
  attribute.add_detail("store_conflict_cycles", rounded(stores.slope));
  attribute.add_detail("store_conflict_free_cycles", rounded(stores.intercept));
  if (lab.keep_samples()) {
    SampleTable table = make_table("strides", Plot::kLine,
                                   {axis("stride_bytes", "stride", "B"), values("load_cycles", "load", "cycles"),
                                    values("store_cycles", "store", "cycles")});
    table.data = {curve.strides_bytes, curve.load_cycles, curve.store_cycles};
    table.marks = {"conflict_free_cycles", "broadcast_cycles", "worst_cycles", "store_conflict_free_cycles"};
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

Attribute measure_store_latency(Lab& lab) {
  const std::vector<AccessTrial> trials =
      run_steady_trials(lab, {strided(lab, AccessOp::kStoreLoad, kWordBytes), strided(lab, AccessOp::kLoad, kWordBytes),
                              strided(lab, AccessOp::kStore, kWordBytes)});
  Attribute attribute = measured(lab.conditions(), rounded(trials[0].cycles()), "cycles", trials[0].interval(),
                                 "store_and_load_of_one_word");
  attribute.add_detail("load_cycles", rounded(trials[1].cycles()));
  attribute.add_detail("store_cycles", rounded(trials[2].cycles()));
  return attribute;
}

}  // namespace gputopo::probe
