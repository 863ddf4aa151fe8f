#include "probe/line_size_decision.h"

#include <cmath>
#include <iterator>
#include <utility>

namespace gputopo::probe {

bool are_halves_lines(double bytes, double all_bytes, const LineSizeParameters& parameters) {
  return bytes > parameters.packed_middle * all_bytes;
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
