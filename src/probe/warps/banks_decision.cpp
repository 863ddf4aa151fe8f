#include "probe/warps/banks_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probe/bench/cost_line.h"
#include "probe/bench/intervals.h"

namespace gputopo::probe {
namespace {

// Width of the narrowest bank: the bytes of one step lie in one bank.
constexpr std::uint32_t kBankStepBytes = 4;

BankFit fit_layout(const BankLayout& layout, const BankCurve& curve) {
  const CostLine cost = cost_line(conflicts_along(layout, curve), curve.load_cycles);
  return {layout, cost.line.intercept, cost.line.slope, cost.slope_error_cycles, cost.residual_cycles};
}

// The median of the strides without conflicts, of which stride 0 always is one.
double conflict_free_cycles(const BankLayout& layout, const BankCurve& curve) {
  std::vector<double> cycles;
  const std::vector<double> conflicts = conflicts_along(layout, curve);
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    if (conflicts[i] == 0) cycles.push_back(curve.load_cycles[i]);
  }
  return stats::median(cycles);
}

std::string name_of(const BankLayout& layout) {
  const std::string halves =
      layout.interleave() == layout.bank_bytes ? "" : fmt::format(", interleaved by {} B", layout.interleave());
  return fmt::format("{} banks of {} B{}", layout.banks, layout.bank_bytes, halves);
}

// Fits of all layouts in which conflicts cost something, best first. Conflicts that shorten an access explain nothing.
std::vector<BankFit> fit_all(const BankCurve& curve, const BanksDecisionParameters& parameters) {
  std::vector<BankFit> fits;
  for (const std::uint32_t count : parameters.banks) {
    for (const BankShape& shape : parameters.shapes) {
      const std::uint32_t interleave = shape.interleave_bytes == shape.bank_bytes ? 0 : shape.interleave_bytes;
      for (const std::uint32_t lanes : parameters.lanes_at_once) {
        if (lanes > curve.warp_lanes) continue;
        fits.push_back(fit_layout({count, shape.bank_bytes, lanes, curve.warp_lanes, interleave}, curve));
      }
    }
  }
  std::erase_if(fits, [&](const BankFit& fit) { return !(fit.conflict_cycles >= parameters.least_conflict_cycles); });
  std::ranges::sort(fits, {}, &BankFit::residual_cycles);
  return fits;
}

}  // namespace

std::uint32_t passes_of(const BankLayout& layout, const LaneBytes& access) {
  const std::uint64_t row_bytes = std::uint64_t{layout.banks} * layout.bank_bytes;
  std::size_t passes = 0;
  for (std::uint32_t first = 0; first < layout.warp_lanes; first += layout.lanes_at_once) {
    std::map<std::uint64_t, std::set<std::uint64_t>> rows_of_bank;
    for (std::uint32_t lane = first; lane < first + layout.lanes_at_once; ++lane) {
      const std::uint64_t begin = std::uint64_t{lane} * access.stride_bytes % access.span_bytes;
      for (std::uint64_t byte = begin; byte < begin + access.word_bytes; byte += kBankStepBytes) {
        rows_of_bank[byte / layout.interleave() % layout.banks].insert(byte / row_bytes);
      }
    }
    std::size_t most = 0;
    for (const auto& [bank, rows] : rows_of_bank) most = std::max(most, rows.size());
    passes += most;
  }
  return static_cast<std::uint32_t>(passes);
}

std::uint32_t conflicts_of(const BankLayout& layout, std::uint32_t stride_bytes) {
  return passes_of(layout, {.stride_bytes = stride_bytes}) - layout.warp_lanes / layout.lanes_at_once;
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
  if (fits.empty()) return {.why_not = "no stride takes longer than another, so no bank conflicts are visible"};
  BankFit best = fits.front();
  Decision<BankFit> decision{.basis = fmt::format("{}: residual {:.2f} cycles, {:.2f} cycles per conflict",
                                                  name_of(best.layout), best.residual_cycles, best.conflict_cycles)};
  if (best.residual_cycles > parameters.max_residual * best.conflict_cycles) {
    decision.why_not = fmt::format(
        "no number and width of banks explains the cost of strides: the best, {}, leaves {:.1f} cycles unexplained",
        name_of(best.layout), best.residual_cycles);
    return decision;
  }
  // Root mean squares hide a line that misses the few strides without conflicts.
  const double free_cycles = conflict_free_cycles(best.layout, curve);
  if (std::abs(best.free_cycles - free_cycles) > parameters.max_residual * best.conflict_cycles) {
    decision.why_not = fmt::format(
        "no number and width of banks explains the cost of strides: the best, {}, predicts {:.1f} cycles without "
        "conflicts, and {:.1f} are measured",
        name_of(best.layout), best.free_cycles, free_cycles);
    return decision;
  }
  const auto about_as_good = [&](const BankFit& fit) {
    return fit.residual_cycles * fit.residual_cycles < parameters.clear * best.residual_cycles * best.residual_cycles;
  };
  for (std::size_t i = 1; i < fits.size() && about_as_good(fits[i]); ++i) {
    const BankLayout& other = fits[i].layout;
    if (name_of(other) == name_of(best.layout)) {
      best.lanes_are_clear = false;
      continue;
    }
    decision.why_not =
        fmt::format("{} explain the cost of strides about as well as {}", name_of(other), name_of(best.layout));
    return decision;
  }
  decision.value = best;
  return decision;
}

Decision<RequestFit> decide_request(const RequestCurve& curve, const BankFit& fit,
                                    const RequestDecisionParameters& parameters) {
  std::vector<RequestFit> fits;
  for (const std::uint32_t lanes : parameters.lanes_at_once) {
    BankLayout layout = fit.layout;
    layout.lanes_at_once = lanes;
    if (lanes > layout.warp_lanes) continue;
    std::vector<double> passes;
    for (const LaneBytes& access : curve.accesses) passes.push_back(passes_of(layout, access));
    const CostLine cost = cost_line(passes, curve.cycles);
    const double ratio = cost.line.slope / fit.conflict_cycles;
    if (ratio > parameters.same_cost || ratio < 1 / parameters.same_cost) continue;
    fits.push_back({lanes, cost.line.slope, cost.residual_cycles});
  }
  if (fits.empty())
    return {.why_not =
                "no number of lanes per request makes a pass over the banks cost about as much as a bank conflict"};
  std::ranges::sort(fits, {}, &RequestFit::residual_cycles);
  const RequestFit& best = fits.front();
  Decision<RequestFit> decision{.basis =
                                    fmt::format("{} lanes per request: residual {:.2f} cycles, {:.2f} cycles per pass",
                                                best.lanes_at_once, best.residual_cycles, best.pass_cycles)};
  if (best.residual_cycles > parameters.max_residual * best.pass_cycles) {
    decision.why_not =
        fmt::format("no number of lanes per request explains the cost: the best, {}, leaves {:.1f} cycles unexplained",
                    best.lanes_at_once, best.residual_cycles);
  } else if (fits.size() > 1 &&
             std::pow(fits[1].residual_cycles, 2) < parameters.clear * std::pow(best.residual_cycles, 2)) {
    decision.why_not = fmt::format("{} lanes per request explain the cost about as well as {}", fits[1].lanes_at_once,
                                   best.lanes_at_once);
  } else {
    decision.value = best;
  }
  return decision;
}

stats::Interval conflict_interval(const BankFit& fit) { return slope_interval(fit.conflict_cycles, fit.error_cycles); }

}  // namespace gputopo::probe
