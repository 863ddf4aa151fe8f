#include "probe/warps/banks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "gputopo/error.h"
#include "probe/bench/access_trial.h"
#include "probe/bench/value_or_throw.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kMaxStrideWords = 64;

// Bytes of shared memory that a block can have.
std::uint64_t most_bytes(const DeviceInfo& info) {
  return std::min(info.max_shared_bytes_per_block().value_or(UINT64_MAX),
                  info.shared_bytes_per_sm.value_or(UINT64_MAX));
}

AccessProgram strided(const ProbeRunner& runner, AccessOp op, std::uint32_t stride_bytes,
                      std::uint32_t mode_bytes = 0) {
  return {.op = op,
          .space = Space::kShared,
          .bytes = std::uint64_t{runner.info().warp_size} * std::max(kMaxStrideWords * kWordBytes, stride_bytes),
          .lane_stride_bytes = stride_bytes,
          .warm_accesses = kAccessTrial.warm_accesses,
          .accesses = op == AccessOp::kStore ? kAccessTrial.timed_stores : kAccessTrial.timed_accesses,
          .bank_mode_bytes = mode_bytes};
}

// Fewest shared words to measure. For fewer, GPUs make one request of all lanes, whatever a request usually serves: an
// H100 loads 8 B from one or two words in one pass, from three words in two.
constexpr std::uint32_t kFewestSharedWords = 3;

// First strides at which lanes share no words, then numbers of words that the lanes share. Lanes of one request that
// load the same word take one pass; lanes of two requests take two.
RequestCurve measure_request_curve(ProbeRunner& runner, std::uint32_t load_bytes) {
  constexpr std::array<std::uint32_t, 10> kStrides = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32};
  const std::uint32_t lanes = runner.info().warp_size;
  const auto bytes_of = [&](std::uint32_t words) { return std::uint64_t{words} * lanes * load_bytes; };
  RequestCurve curve;
  const auto end =
      std::ranges::find_if(kStrides, [&](std::uint32_t words) { return bytes_of(words) > most_bytes(runner.info()); });
  for (const std::uint32_t words : std::span(kStrides.begin(), end)) {
    curve.accesses.push_back({words * load_bytes, load_bytes, bytes_of(*(end - 1))});
  }
  for (std::uint32_t words = kFewestSharedWords; words <= lanes; ++words) {
    curve.accesses.push_back({load_bytes, load_bytes, std::uint64_t{words} * load_bytes});
  }
  std::vector<AccessProgram> programs;
  for (const LaneBytes& access : curve.accesses) {
    AccessProgram program = strided(runner, AccessOp::kLoad, access.stride_bytes);
    program.load_bytes = load_bytes;
    program.bytes = access.span_bytes;
    programs.push_back(program);
  }
  for (const AccessTrial& trial : run_trials(runner, programs)) curve.cycles.push_back(trial.cycles());
  return curve;
}

void add_strides(ProbeRunner& runner, BankCurve& curve, std::uint32_t mode_bytes, std::uint32_t first_words,
                 std::uint32_t last_words) {
  std::vector<AccessProgram> programs;
  for (std::uint32_t words = first_words; words <= last_words; ++words) {
    curve.strides_bytes.push_back(words * kWordBytes);
    programs.push_back(strided(runner, AccessOp::kLoad, words * kWordBytes, mode_bytes));
    programs.push_back(strided(runner, AccessOp::kStore, words * kWordBytes, mode_bytes));
  }
  const std::vector<AccessTrial> trials = run_trials(runner, programs);
  for (std::size_t i = 0; i < trials.size(); i += 2) {
    curve.load_cycles.push_back(trials[i].cycles());
    curve.store_cycles.push_back(trials[i + 1].cycles());
  }
}

double at_stride(const BankCurve& curve, const std::vector<double>& cycles, double stride_bytes) {
  const auto place = std::ranges::find(curve.strides_bytes, stride_bytes);
  return cycles[static_cast<std::size_t>(place - curve.strides_bytes.begin())];
}

}  // namespace

BankCurve measure_bank_curve(ProbeRunner& runner, std::uint32_t mode_bytes) {
  BankCurve curve{.warp_lanes = runner.info().warp_size};
  add_strides(runner, curve, mode_bytes, 0, kMaxStrideWords);
  // Half as many banks that serve half as many lanes at once cost the same at these strides, but not at longer ones.
  const std::uint64_t that_fit = most_bytes(runner.info()) / runner.info().warp_size / kWordBytes;
  const auto longest = static_cast<std::uint32_t>(std::min<std::uint64_t>(2 * kMaxStrideWords, that_fit));
  if (!decide_banks(curve).value) add_strides(runner, curve, mode_bytes, kMaxStrideWords + 1, longest);
  curve.conditions = runner.conditions();
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

Attribute measure_bank_interleave(ProbeRunner& runner, const BankCurve& as_it_is, const BankFit& fit) {
  constexpr std::array<std::uint32_t, 2> kModes = {4, 8};
  std::vector<std::pair<std::uint32_t, BankCurve>> curves;
  try {
    for (const std::uint32_t mode : kModes) curves.emplace_back(mode, measure_bank_curve(runner, mode));
  } catch (const NotSupportedError&) {
    // These banks have only one layout.
  }
  // Only an undecided mode is measured at the longer strides. The modes share a table, so the others follow.
  std::size_t strides = 0;
  for (const auto& [mode, curve] : curves) strides = std::max(strides, curve.strides_bytes.size());
  for (auto& [mode, curve] : curves) {
    const auto first = static_cast<std::uint32_t>(curve.strides_bytes.size());
    if (first < strides) add_strides(runner, curve, mode, first, static_cast<std::uint32_t>(strides) - 1);
  }
  Conditions conditions = as_it_is.conditions;
  conditions.add(runner.conditions());
  Attribute attribute = measured_exactly(conditions, fit.layout.interleave(), "B", "layout_that_explains_strides");
  for (const auto& [mode, curve] : curves) {
    const Decision<BankFit> decision = decide_banks(curve);
    if (!decision.value) continue;
    attribute.add_detail(fmt::format("in_mode_{}_bytes", mode),
                         static_cast<std::int64_t>(decision.value->layout.interleave()));
  }
  if (runner.keep_samples() && !curves.empty()) {
    SampleTable table = make_table("strides_by_mode", Plot::kLine, {axis("stride_bytes", "stride", "B")});
    table.data = {curves.front().second.strides_bytes};
    for (const auto& [mode, curve] : curves) {
      table.columns.push_back(
          values(fmt::format("mode_{}_cycles", mode), fmt::format("load latency ({}-byte mode)", mode), "cycles"));
      table.data.push_back(curve.load_cycles);
    }
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

Attribute measure_request_lanes(ProbeRunner& runner, const BankFit& fit) {
  constexpr std::array<std::uint32_t, 3> kWidths = {4, 8, 16};
  std::vector<RequestCurve> curves;
  std::vector<Decision<RequestFit>> decisions;
  for (const std::uint32_t width : kWidths) {
    curves.push_back(measure_request_curve(runner, width));
    decisions.push_back(decide_request(curves.back(), fit));
  }
  const RequestFit words = value_or_throw(runner, "shared", decisions.front());
  Attribute attribute = measured_exactly(runner.conditions(), words.lanes_at_once, "", "lanes_that_share_words");
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const std::optional<RequestFit>& found = decisions[i].value;
    if (!found) continue;
    if (i > 0) {
      attribute.add_detail(fmt::format("of_{}_byte_loads", kWidths[i]),
                           static_cast<std::int64_t>(found->lanes_at_once));
    }
    attribute.add_detail(fmt::format("pass_cycles_of_{}_byte_loads", kWidths[i]), rounded(found->pass_cycles));
    attribute.add_detail(fmt::format("cycles_of_{}_byte_loads", kWidths[i]), rounded(curves[i].cycles.front()));
  }
  if (runner.keep_samples()) {
    SampleTable table =
        make_table("shared_words", Plot::kLine, {axis("words", "different words loaded by the lanes", "")});
    std::vector<double> words_shared(runner.info().warp_size + 1 - kFewestSharedWords);
    std::iota(words_shared.begin(), words_shared.end(), static_cast<double>(kFewestSharedWords));
    const auto strides = static_cast<std::ptrdiff_t>(curves.front().accesses.size() - words_shared.size());
    table.data = {words_shared};
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      table.columns.push_back(values(fmt::format("cycles_of_{}_bytes", kWidths[i]),
                                     fmt::format("load latency ({} B per lane)", kWidths[i]), "cycles"));
      table.data.emplace_back(curves[i].cycles.begin() + strides, curves[i].cycles.end());
    }
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

Attribute conflict_cost(const ProbeRunner& runner, const BankCurve& curve, const BankFit& fit) {
  Attribute attribute = measured(curve.conditions, rounded(fit.conflict_cycles), "cycles", conflict_interval(fit),
                                 "slope_over_conflicts");
  const stats::Line stores = stats::fit_line(conflicts_along(fit.layout, curve), curve.store_cycles);
  attribute.add_detail("conflict_free_cycles", rounded(fit.free_cycles));
  attribute.add_detail("broadcast_cycles", rounded(at_stride(curve, curve.load_cycles, 0)));
  attribute.add_detail("worst_cycles", rounded(*std::ranges::max_element(curve.load_cycles)));
  attribute.add_detail("store_conflict_cycles", rounded(stores.slope));
  attribute.add_detail("store_conflict_free_cycles", rounded(stores.intercept));
  if (runner.keep_samples()) {
    SampleTable table = make_table("strides", Plot::kLine,
                                   {axis("stride_bytes", "stride", "B"), values("load_cycles", "load", "cycles"),
                                    values("store_cycles", "store", "cycles")});
    table.data = {curve.strides_bytes, curve.load_cycles, curve.store_cycles};
    table.marks = {"conflict_free_cycles", "broadcast_cycles", "worst_cycles", "store_conflict_free_cycles"};
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

Attribute measure_store_latency(ProbeRunner& runner) {
  const std::vector<AccessTrial> trials = run_steady_trials(
      runner, {strided(runner, AccessOp::kStoreLoad, kWordBytes), strided(runner, AccessOp::kLoad, kWordBytes),
               strided(runner, AccessOp::kStore, kWordBytes)});
  Attribute attribute = measured(runner.conditions(), rounded(trials[0].cycles()), "cycles", trials[0].interval(),
                                 "store_and_load_of_one_word");
  attribute.add_detail("load_cycles", rounded(trials[1].cycles()));
  attribute.add_detail("store_cycles", rounded(trials[2].cycles()));
  return attribute;
}

}  // namespace gputopo::probe
