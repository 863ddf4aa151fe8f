#include "probe/code/edge_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace gputopo::probe {
namespace {

// All shapes that may explain the edge.
std::vector<CodeShape> candidates(std::uint32_t fits_instructions, double bytes_per_instruction,
                                  const CodeEdgeParameters& parameters) {
  std::vector<CodeShape> shapes;
  for (std::uint32_t bytes = parameters.least_line_bytes; bytes <= parameters.max_line_bytes; bytes *= 2) {
    const auto line = static_cast<std::uint32_t>(bytes / bytes_per_instruction);
    if (line < parameters.least_line_instructions) continue;
    for (std::uint32_t sets = 1; sets <= parameters.max_sets && sets * line <= parameters.max_edge; ++sets) {
      for (std::uint32_t ways = 1; ways * sets * line <= fits_instructions + parameters.fits_within; ++ways) {
        const CodeShape shape{line, sets, ways};
        if (shape.fits() + parameters.fits_within >= fits_instructions) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

struct Fit {
  CodeShape shape;
  double distance = 0;
};

// Whether two sets that fill unequally would not come this near.
bool is_told_by_two(const Fit& fit, const CodeEdgeParameters& parameters) {
  return fit.shape.ways > 1 && fit.distance <= parameters.near_of_two;
}

}  // namespace

double CodeShape::missed(double instructions) const {
  if (instructions <= fits()) return 0;
  const double over = std::ceil((instructions - fits()) / line);
  if (over > sets) return instructions;
  return over * (ways + 1) * line - (fits() + over * line - instructions);
}

// A common factor may scale all misses.
double distance_of(const CodeShape& shape, std::span<const MissedLength> lengths,
                   const CodeEdgeParameters& parameters) {
  double product = 0;
  double square = 0;
  for (const MissedLength& length : lengths) {
    const double expected = shape.missed(length.length);
    product += expected * length.missed;
    square += expected * expected;
  }
  const double tolerance = parameters.factor_tolerance;
  const double factor = square > 0 ? std::clamp(product / square, 1 - tolerance, 1 + tolerance) : 1;
  double sum = 0;
  for (const MissedLength& length : lengths) {
    const double off = length.missed - factor * shape.missed(length.length);
    sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(lengths.size())) / ((shape.ways + 1) * shape.line);
}

Decision<CodeShape> decide_code_shape(std::span<const MissedLength> lengths, std::uint32_t fits_instructions,
                                      double bytes_per_instruction, const CodeEdgeParameters& parameters) {
  const std::string no_stairs =
      "misses do not rise in equal steps as the code grows: replacement is neither LRU nor FIFO, or the sets overflow "
      "unevenly";
  if (lengths.empty()) return {.why_not = no_stairs};
  std::vector<Fit> fits;
  for (const CodeShape& shape : candidates(fits_instructions, bytes_per_instruction, parameters)) {
    fits.push_back({shape, distance_of(shape, lengths, parameters)});
  }
  if (fits.empty()) return {.why_not = no_stairs};
  std::ranges::stable_sort(fits, {}, &Fit::distance);
  const Fit& best = fits.front();
  const double next = fits.size() > 1 ? fits[1].distance : 0;
  Decision<CodeShape> decision;
  decision.basis = fmt::format(
      "best fit: {} sets with {} ways and {} instructions per line; misses deviate from it by {:.3f} of a step, and "
      "from the next best fit by {:.3f}",
      best.shape.sets, best.shape.ways, best.shape.line, best.distance, next);
  if (best.shape.sets == 1 && best.distance <= parameters.near) {
    decision.why_not =
        "all of the code misses as soon as it is one line too long, so the cache has one set and its line size cannot "
        "be found";
  } else if (best.distance > parameters.near || next <= parameters.clearly * best.distance) {
    decision.why_not = no_stairs;
  } else if (best.shape.sets == 2 && !is_told_by_two(best, parameters)) {
    decision.why_not =
        "misses rise in only two steps, and sets that fill unevenly may explain the distance between them";
  } else {
    decision.value = best.shape;
  }
  return decision;
}

}  // namespace gputopo::probe
