#include "probe/banks_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probe/intervals.h"

namespace gputopo::probe {
namespace {

constexpr double kTwoSided95 = 1.96;

BankFit fit_layout(const BankLayout& layout, const BankCurve& curve) {
  const std::vector<double> conflicts = conflicts_along(layout, curve);
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

// Of all layouts in which conflicts cost something, the best first: one in which they make an access shorter explains
// nothing.
std::vector<BankFit> fit_all(const BankCurve& curve, const BanksDecisionParameters& parameters) {
  std::vector<BankFit> fits;
  for (const std::uint32_t count : parameters.banks) {
    for (const std::uint32_t bytes : parameters.bank_bytes) {
      for (const std::uint32_t lanes : parameters.lanes_at_once) {
        if (lanes <= curve.warp_lanes) fits.push_back(fit_layout({count, bytes, lanes, curve.warp_lanes}, curve));
      }
    }
  }
  std::erase_if(fits, [&](const BankFit& fit) { return !(fit.conflict_cycles >= parameters.least_conflict_cycles); });
  std::ranges::sort(fits, {}, &BankFit::residual_cycles);
  return fits;
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

std::vector<double> conflicts_along(const BankLayout& layout, const BankCurve& curve) {
  std::vector<double> conflicts;
  for (const double stride : curve.strides_bytes) {
    conflicts.push_back(conflicts_of(layout, static_cast<std::uint32_t>(stride)));
  }
  return conflicts;
}

Decision<BankFit> decide_banks(const BankCurve& curve, const BanksDecisionParameters& parameters) {
  const std::vector<BankFit> fits =
      curve.strides_bytes.size() < parameters.least_strides ? std::vector<BankFit>{} : fit_all(curve, parameters);
  if (fits.empty()) return {.why_not = "no stride takes longer than another: conflicts do not show"};
  BankFit best = fits.front();
  Decision<BankFit> decision{.basis = fmt::format("{} banks of {} B leave {:.2f} cycles, of {:.2f} for a conflict",
                                                  best.layout.banks, best.layout.bank_bytes, best.residual_cycles,
                                                  best.conflict_cycles)};
  if (best.residual_cycles > parameters.max_residual * best.conflict_cycles) {
    decision.why_not = fmt::format(
        "no number and width of banks explains the cost of strides: the best, {} banks of {} B, leaves {:.1f} cycles",
        best.layout.banks, best.layout.bank_bytes, best.residual_cycles);
    return decision;
  }
  const auto about_as_good = [&](const BankFit& fit) {
    return fit.residual_cycles * fit.residual_cycles < parameters.clear * best.residual_cycles * best.residual_cycles;
  };
  for (std::size_t i = 1; i < fits.size() && about_as_good(fits[i]); ++i) {
    const BankLayout& other = fits[i].layout;
    if (other.banks == best.layout.banks && other.bank_bytes == best.layout.bank_bytes) {
      best.lanes_are_clear = false;
      continue;
    }
    decision.why_not = fmt::format("{} banks of {} B explain the cost of strides about as well as {} of {} B",
                                   other.banks, other.bank_bytes, best.layout.banks, best.layout.bank_bytes);
    return decision;
  }
  decision.value = best;
  return decision;
}

stats::Interval conflict_interval(const BankFit& fit) {
  // The ends of the chains cost every stride the same, so that the slope has only the drift's part of that.
  const double margin =
      std::max(kTwoSided95 * fit.error_cycles, IntervalParameters{}.clock_drift * fit.conflict_cycles);
  return {fit.conflict_cycles - margin, fit.conflict_cycles + margin};
}

}  // namespace gputopo::probe
