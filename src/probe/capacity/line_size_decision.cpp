#include "probe/capacity/line_size_decision.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace gputopo::probe {

std::optional<bool> are_halves_separate_lines(const stats::Interval& bytes, double all_bytes, double possible_bytes,
                                              const LineSizeParameters& parameters) {
  const double of_lines = std::min(all_bytes, possible_bytes);
  const double of_halves = std::min(all_bytes / 2, possible_bytes);
  if (of_lines < parameters.packed_contrast * of_halves) return std::nullopt;
  const double middle = of_halves * std::pow(of_lines / of_halves, parameters.packed_middle);
  // Bytes that a nearer cache keeps are in the high end only. Undecided if both answers lie within the interval.
  const bool may_be_halves = bytes.low <= middle;
  const bool may_be_lines = bytes.high >= parameters.packed_near * of_lines;
  if (bytes.low < bytes.high && may_be_halves && may_be_lines) return std::nullopt;
  return !may_be_halves;
}

LineReferences::LineReferences(double held_bytes, std::uint64_t fetch_bytes, std::uint64_t limit_bytes,
                               const LineSizeParameters& parameters)
    : parameters_(parameters), held_bytes_(held_bytes), fetch_bytes_(fetch_bytes), limit_bytes_(limit_bytes) {}

std::optional<std::uint64_t> LineReferences::next_base() {
  while (next_part_ < std::size(parameters_.reference_parts)) {
    const double part = parameters_.reference_parts[next_part_++];
    const std::uint64_t base = static_cast<std::uint64_t>(part * held_bytes_) / fetch_bytes_ * fetch_bytes_;
    if (base >= 2 * fetch_bytes_ && (limit_bytes_ == 0 || 2 * base <= limit_bytes_)) return base;
  }
  return std::nullopt;
}

void LineReferences::add(const LineReference& reference) {
  references_.push_back(reference);
  if (reference.contrast() > best_contrast()) std::swap(references_.front(), references_.back());
}

void SparseAnswer::add(const LineReference& reference, double miss_ratio) {
  const double here = reference.place_of(miss_ratio);
  if (std::abs(here) > std::abs(place_)) place_ = here;
}

bool SparseAnswer::is_sure() const { return std::abs(place_) >= parameters_.sure_place; }

}  // namespace gputopo::probe
