// Banks of shared memory: which number and width of banks explain what a warp's accesses cost at every stride.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probe/access.h"
#include "probe/access_trial.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kMostStrideWords = 64;
// What is tried: past GPUs had 16 or 32 banks of 4 or 8 bytes and served a half-warp or a warp at once; a wavefront of
// 64 lanes has halves of 32.
constexpr std::uint32_t kBanks[] = {8, 16, 32, 64};
constexpr std::uint32_t kBankBytes[] = {4, 8, 16};
constexpr std::uint32_t kLanesAtOnce[] = {16, 32, 64};
// A layout explains the curve when what it leaves is less than this part of a conflict: with half of one, neighbouring
// degrees of conflict could not be told apart.
constexpr double kMostResidual = 0.35;
// And when it leaves this many times less, in squares, than any other does.
constexpr double kClear = 4;
// Less than that cannot be told from noise: the strides would all look alike.
constexpr double kLeastConflictCycles = 0.25;
constexpr double kTwoSided95 = 1.96;

BankFit fit_layout(const BankLayout& layout, const BankCurve& curve) {
  std::vector<double> conflicts;
  for (const double stride : curve.strides_bytes) {
    conflicts.push_back(conflicts_of(layout, static_cast<std::uint32_t>(stride)));
  }
  const stats::Line line = stats::fit_line(conflicts, curve.load_cycles);
  const double centre = stats::mean(conflicts);
  double squares = 0;
  double spread = 0;
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    squares += std::pow(curve.load_cycles[i] - line.intercept - line.slope * conflicts[i], 2);
    spread += std::pow(conflicts[i] - centre, 2);
  }
  const auto count = static_cast<double>(conflicts.size());
  BankFit fit{layout, line.intercept, line.slope, 0, std::sqrt(squares / count)};
  if (spread > 0) fit.error_cycles = std::sqrt(squares / (count - 2) / spread);
  return fit;
}

AccessProgram strided(const Lab& lab, AccessOp op, std::uint32_t stride_bytes) {
  return {.op = op,
          .space = Space::kShared,
          .bytes = std::uint64_t{lab.info().warp_size} * kMostStrideWords * kWordBytes,
          .lane_stride_bytes = stride_bytes,
          .warm_accesses = kWarmAccesses,
          .accesses = op == AccessOp::kStore ? kTimedStores : kTimedAccesses};
}

double at_stride(const BankCurve& curve, const std::vector<double>& cycles, double stride_bytes) {
  const auto place = std::find(curve.strides_bytes.begin(), curve.strides_bytes.end(), stride_bytes);
  return cycles[static_cast<std::size_t>(place - curve.strides_bytes.begin())];
}

}  // namespace

std::uint32_t conflicts_of(const BankLayout& layout, std::uint32_t stride_bytes) {
  std::uint32_t conflicts = 0;
  for (std::uint32_t first = 0; first < layout.warp_lanes; first += layout.lanes_at_once) {
    std::map<std::uint32_t, std::set<std::uint32_t>> rows_of_bank;
    for (std::uint32_t lane = first; lane < first + layout.lanes_at_once; ++lane) {
      const std::uint32_t row = lane * stride_bytes / layout.bank_bytes;
      rows_of_bank[row % layout.banks].insert(row);
    }
    std::size_t passes = 0;
    for (const auto& [bank, rows] : rows_of_bank) passes = std::max(passes, rows.size());
    conflicts += static_cast<std::uint32_t>(passes) - 1;
  }
  return conflicts;
}

BankCurve measure_bank_curve(Lab& lab) {
  BankCurve curve{.warp_lanes = lab.info().warp_size};
  std::vector<AccessProgram> programs;
  for (std::uint32_t words = 0; words <= kMostStrideWords; ++words) {
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

BankFit fit_banks(const BankCurve& curve) {
  std::vector<BankFit> fits;
  for (const std::uint32_t count : kBanks) {
    for (const std::uint32_t bytes : kBankBytes) {
      for (const std::uint32_t lanes : kLanesAtOnce) {
        if (lanes <= curve.warp_lanes) fits.push_back(fit_layout({count, bytes, lanes, curve.warp_lanes}, curve));
      }
    }
  }
  // A layout in which conflicts make an access shorter explains nothing.
  std::erase_if(fits, [](const BankFit& fit) { return fit.conflict_cycles < kLeastConflictCycles; });
  std::sort(fits.begin(), fits.end(),
            [](const BankFit& a, const BankFit& b) { return a.residual_cycles < b.residual_cycles; });
  if (fits.empty()) throw Inconclusive("no stride takes longer than another: conflicts do not show");
  const BankFit& best = fits.front();
  if (best.residual_cycles > kMostResidual * best.conflict_cycles) {
    throw Inconclusive(fmt::format(
        "no number and width of banks explains the cost of strides: the best, {} banks of {} B, leaves {:.1f} cycles",
        best.layout.banks, best.layout.bank_bytes, best.residual_cycles));
  }
  const auto about_as_good = [&](const BankFit& fit) {
    return fit.residual_cycles * fit.residual_cycles < kClear * best.residual_cycles * best.residual_cycles;
  };
  BankFit answer = best;
  for (std::size_t i = 1; i < fits.size() && about_as_good(fits[i]); ++i) {
    if (fits[i].layout.banks == best.layout.banks && fits[i].layout.bank_bytes == best.layout.bank_bytes) {
      answer.lanes_are_clear = false;
      continue;
    }
    throw Inconclusive(fmt::format("{} banks of {} B explain the cost of strides about as well as {} of {} B",
                                   fits[i].layout.banks, fits[i].layout.bank_bytes, best.layout.banks,
                                   best.layout.bank_bytes));
  }
  return answer;
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
  std::vector<double> conflicts;
  for (const double stride : curve.strides_bytes) {
    conflicts.push_back(conflicts_of(fit.layout, static_cast<std::uint32_t>(stride)));
  }
  // The ends of the chains cost every stride the same, so that the slope has only the drift's part of that.
  const double margin = std::max(kTwoSided95 * fit.error_cycles, kClockDrift * fit.conflict_cycles);
  Attribute attribute =
      measured(curve.conditions, rounded(fit.conflict_cycles), "cycles",
               stats::Interval{fit.conflict_cycles - margin, fit.conflict_cycles + margin}, "slope_over_conflicts");
  const stats::Line stores = stats::fit_line(conflicts, curve.store_cycles);
  attribute.add_detail("conflict_free_cycles", rounded(fit.free_cycles));
  attribute.add_detail("broadcast_cycles", rounded(at_stride(curve, curve.load_cycles, 0)));
  attribute.add_detail("worst_cycles", rounded(*std::max_element(curve.load_cycles.begin(), curve.load_cycles.end())));
  attribute.add_detail("store_conflict_cycles", rounded(stores.slope));
  attribute.add_detail("store_conflict_free_cycles", rounded(stores.intercept));
  if (lab.keep_samples()) {
    SampleTable table = make_table("strides", Plot::kLine,
                                   {axis("stride_bytes", "stride", "B"), values("load_cycles", "load", "cycles"),
                                    values("store_cycles", "store", "cycles")});
    table.data = {curve.strides_bytes, curve.load_cycles, curve.store_cycles};
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

Attribute measure_store_latency(Lab& lab) {
  const std::vector<AccessTrial> trials =
      run_trials(lab, {strided(lab, AccessOp::kStoreLoad, kWordBytes), strided(lab, AccessOp::kLoad, kWordBytes),
                       strided(lab, AccessOp::kStore, kWordBytes)});
  Attribute attribute = measured(lab.conditions(), rounded(trials[0].cycles()), "cycles", trials[0].interval(),
                                 "store_and_load_of_one_word");
  attribute.add_detail("load_cycles", rounded(trials[1].cycles()));
  attribute.add_detail("store_cycles", rounded(trials[2].cycles()));
  return attribute;
}

}  // namespace gputopo::probe
