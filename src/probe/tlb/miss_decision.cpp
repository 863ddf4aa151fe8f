#include "probe/tlb/miss_decision.h"

#include <algorithm>
#include <cmath>

#include "probe/bench/paired_histogram.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// Until loads that all miss have been seen, assume that noise hides as many misses as it adds.
void set_false_part(MissSignature& signature, double part) {
  signature.false_part = part;
  signature.seen_part = 1 - part;
}

}  // namespace

double part_beyond(const stats::Histogram& paired, double before_cycles, double rise_cycles,
                   const TlbMissParameters& parameters) {
  return part_below(paired, before_cycles + parameters.max_rises * rise_cycles) -
         part_below(paired, before_cycles + rise_cycles / 2);
}

MissSignature signature_of(const TlbRise& rise, const stats::Histogram& quiet, const TlbMissParameters& parameters) {
  // The slow loads exceed the mean by this noise on every plateau.
  const double quiet_cycles = added_by_translation(quiet);
  const double noise = slow_difference(quiet) - quiet_cycles;
  MissSignature signature{.before_cycles = rise.before_cycles - noise, .rise_cycles = rise.rise_cycles};
  set_false_part(signature, part_beyond(quiet, quiet_cycles, signature.rise_cycles, parameters));
  return signature;
}

MissSignature with_hits(MissSignature signature, const stats::Histogram& hits, const TlbMissParameters& parameters) {
  signature.before_cycles = added_by_translation(hits);
  set_false_part(signature, part_beyond(hits, signature.before_cycles, signature.rise_cycles, parameters));
  return signature;
}

MissSignature with_line_error(MissSignature signature, const std::vector<double>& false_parts, std::uint64_t lines,
                              std::uint64_t loads, const TlbMissParameters& parameters) {
  // Subtracts the variance that chance alone gives so few loads.
  const double chance = signature.false_part / static_cast<double>(loads);
  const double deviation = stats::standard_deviation(false_parts);
  const double contrast = std::max(parameters.least_contrast, signature.seen_part - signature.false_part);
  signature.line_error = std::sqrt(std::max(0.0, deviation * deviation - 2 * chance)) / contrast;
  signature.line_error_lines = static_cast<double>(lines);
  return signature;
}

MissSignature sharpened(MissSignature signature, const stats::Histogram& hits,
                        const std::optional<stats::Histogram>& misses, const TlbMissParameters& parameters) {
  if (misses) {
    const bool noisy = is_noisy(signature, parameters);
    const double nearly_all = noisy ? parameters.nearly_all_if_noisy : parameters.nearly_all;
    const double max_sweep_deviation = noisy ? parameters.as_swept_if_noisy : parameters.max_sweep_deviation;
    const double before = added_by_translation(hits);
    const double rise = added_by_translation(*misses) - before;
    if (missed_part(*misses, signature, parameters) > nearly_all &&
        std::abs(rise - signature.rise_cycles) < max_sweep_deviation * signature.rise_cycles) {
      signature.before_cycles = before;
      signature.rise_cycles = rise;
      signature.seen_part = part_beyond(*misses, before, rise, parameters);
    } else {
      signature.rise_error = parameters.unborne_error;
    }
  } else {
    signature.rise_error = parameters.unseen_error;
  }
  signature.false_part = part_beyond(hits, signature.before_cycles, signature.rise_cycles, parameters);
  signature.false_loads = static_cast<double>(stats::total_count(hits));
  return signature;
}

double missed_part(const stats::Histogram& paired, const MissSignature& signature,
                   const TlbMissParameters& parameters) {
  const double beyond = part_beyond(paired, signature.before_cycles, signature.rise_cycles, parameters);
  return (beyond - signature.false_part) /
         std::max(parameters.least_contrast, signature.seen_part - signature.false_part);
}

bool is_noisy(const MissSignature& signature, const TlbMissParameters& parameters) {
  return signature.false_part > parameters.noisy_part;
}

double line_error(const MissSignature& signature, double lines) {
  return signature.line_error * std::sqrt(signature.line_error_lines / lines);
}

double undetectable_part(const MissSignature& signature, double lines, const TlbMissParameters& parameters) {
  return parameters.standard_errors * line_error(signature, lines);
}

double least_missed_pages(const MissSignature& signature, std::uint64_t pages, std::uint64_t passes,
                          const TlbMissParameters& parameters) {
  const auto all = static_cast<double>(pages);
  const double loads = static_cast<double>(passes) * all;
  const double of_lines = line_error(signature, all);
  // An overflowing set misses with at least two pages.
  return std::max(1.0,
                  parameters.standard_errors * all * std::sqrt(signature.false_part / loads + of_lines * of_lines));
}

std::uint64_t passes_that_tell(const MissSignature& signature, std::uint64_t pages, std::uint64_t most,
                               const TlbMissParameters& parameters) {
  if (signature.false_loads == 0) return most;
  const double false_part = signature.false_part + parameters.unseen_false_loads / signature.false_loads;
  const double errors = parameters.standard_errors / parameters.told_pages;
  const double passes = std::ceil(errors * errors * false_part * static_cast<double>(pages));
  return static_cast<std::uint64_t>(std::min(passes, static_cast<double>(most)));
}

StepCause classify_step(const SlowBeyond& slow, const MissSignature& signature,
                        const BeyondStepParameters& parameters) {
  const double few = parameters.few_slow + 2 * signature.false_part;
  const bool pages_wait = is_noisy(signature) && slow.pages_wait_cycles > parameters.mean_wait * signature.rise_cycles;
  if (slow.pages <= few && !pages_wait) return StepCause::kTransient;
  if (slow.companions_wait_cycles < -parameters.second_loads_miss * signature.rise_cycles)
    return StepCause::kCacheMisses;
  const bool companions_hit = pages_wait && slow.companions_wait_cycles < parameters.mean_wait * slow.pages_wait_cycles;
  return slow.companions <= few || companions_hit ? StepCause::kLevel : StepCause::kCacheMisses;
}

}  // namespace gputopo::probe
