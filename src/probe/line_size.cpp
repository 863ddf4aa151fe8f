// Line size: how far apart two touched sectors must be to take up two lines.
//
// A footprint of twice a comfortable one is touched once per `stride`. If a line is at most half the stride, only half
// the lines of the footprint are touched, as many as the comfortable footprint has, and they fit; if it is the stride
// or more, all lines are touched, and they do not. Two references with every line touched give the two miss ratios to
// tell apart, so that neither the replacement nor an uneven index matters. The upper half of the footprint is touched
// with and without a shift of half a stride, because which of the two spreads over all sets depends on the index.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "probe/packing.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

// Of each block of the array one random half is touched. Halves that are lines of their own (or several) fill the cache
// with as many bytes as there are in it; halves of a line leave its other half empty.
Line line_by_packing(Lab& lab, const Cache& cache, double all_bytes) {
  const std::uint64_t element = cache.nearest_fetch_bytes();
  constexpr double kCapacities = 8;
  constexpr double kMiddle = 0.72;  // between one half and all, as a ratio
  NamedValues packed;
  std::uint64_t line = cache.fetch_bytes;
  std::mt19937_64 random(lab.seed());
  for (std::uint64_t block = 2 * line; block <= 2 * lab.parameters().line_limit_bytes; block *= 2) {
    const auto wanted = static_cast<std::uint64_t>(kCapacities * all_bytes);
    const ChaseArray array = make_array(cache.site(), wanted / block * block, element, Order::kShuffled);
    const auto half = static_cast<std::uint32_t>(block / 2 / element);
    std::vector<PackingPlace> places;
    for (std::uint32_t i = 0; i + 2 * half <= array.element_count(); i += 2 * half) {
      PackingPlace& place = places.emplace_back(half);
      std::iota(place.begin(), place.end(), i + half * static_cast<std::uint32_t>(random() >> 63));
    }
    const std::uint64_t half_bytes = block / 2;
    const auto first = static_cast<std::size_t>(0.5 * all_bytes / static_cast<double>(half_bytes));
    const auto bytes = static_cast<double>(pack(lab, cache, array, places, first).size() * half_bytes);
    packed.emplace_back(fmt::format("packed_bytes_halves_of_{}", block), bytes);
    lab.log(fmt::format("line: halves of {} B hold {:.0f} B, all {:.0f} B", block, bytes, all_bytes));
    if (bytes > kMiddle * all_bytes) break;
    line = block;
  }
  Line found = make_line(lab, line, "packed_halves", std::move(packed));
  found.packed_bytes = all_bytes;
  return found;
}

// An array of so many bytes of which every `stride` is touched once. A nearer cache whose lines are shorter could hold
// most of what that is: behind such a one, one half of every `stride` all over, or all of what is fetched at once.
// `skew`: how much further on in the upper half of the array.
ChaseArray sparse_array(const Lab& lab, const Cache& cache, std::uint64_t bytes, std::uint64_t stride,
                        std::uint64_t skew) {
  const Site& site = cache.site();
  const Order second_order = site.exclusive ? Order::kShuffled : Order::kReversed;
  ChaseArray array = make_array(site, bytes, stride, second_order);
  array.skew_bytes = skew;
  const std::uint64_t fetch = cache.nearest_fetch_bytes();
  constexpr std::uint64_t kFew = 4;
  if (array.element_count() > kFew * cache.nearer_bytes / fetch) return array;
  if (stride <= cache.fetch_bytes) return make_array(site, array.bytes, fetch, second_order);
  ChaseArray halves = make_array(site, array.bytes, fetch, second_order);
  const auto in_half = static_cast<std::uint32_t>(stride / 2 / fetch);
  for (std::uint64_t i = 0; i < array.element_count(); ++i) {
    const auto first = static_cast<std::uint32_t>(array.element_offset(i) / fetch);
    for (std::uint32_t element = first; element < first + in_half; ++element) halves.elements.push_back(element);
  }
  const double cycles = static_cast<double>(halves.elements.size()) * cache.survey->levels.back().mode_cycles;
  if (cycles > lab.parameters().launch_cycles_limit) {
    throw Inconclusive("the cache before it holds as many lines, and one thread cannot walk as many bytes");
  }
  return halves;
}

// Misses among the loads of an array that get past the nearer caches: those hold more of a sparse footprint than of one
// that is touched all over.
double miss_ratio(Lab& lab, const Cache& cache, std::uint64_t bytes, std::uint64_t stride, std::uint64_t skew) {
  const Site& site = cache.site();
  const ChaseArray array = sparse_array(lab, cache, bytes, stride, skew);
  const std::uint64_t n = array.chain_length();
  ChaseStep counted{.kind = StepKind::kCounted, .loads = std::min(n, lab.parameters().survey_loads)};
  if (site.exclusive) {
    counted.chain = 1;
    counted.loads = std::min(std::max(n / 8, std::uint64_t{16}), lab.parameters().exclusive_loads);
  }
  const std::uint32_t copies = site.exclusive ? 1 : lab.parameters().copies;
  const ChaseStep warm =
      array.elements.empty() ? warm_step(site, array) : ChaseStep{.kind = StepKind::kWarm, .loads = n};
  const ChaseProgram program = make_program(site, {array}, {warm, counted});
  std::vector<double> ratios;
  for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(copies, program))) {
    const double passed = 1 - hit_fraction(copy.steps[1], cache.hit_floor_cycles());
    const double missed = 1 - hit_fraction(copy.steps[1], cache.hit_limit_cycles());
    ratios.push_back(passed > 0 ? missed / passed : 0);
  }
  return stats::median(ratios);
}

// What a footprint of `bytes` misses with every line touched, beside what half of it does.
struct Reference {
  std::uint64_t bytes = 0;
  double fitting = 0;
  double exceeding = 1;

  [[nodiscard]] double contrast() const { return exceeding - fitting; }
  // Where `ratio` lies between the two, from -1 (fits) over 0 (either) to 1 (exceeds).
  [[nodiscard]] double place_of(double ratio) const { return (2 * ratio - fitting - exceeding) / contrast(); }
};

class SparseFootprints {
 public:
  SparseFootprints(Lab& lab, const Cache& cache) : lab_(lab), cache_(cache) {
    constexpr double kClear = 0.4;
    while (references_.empty() || references_.front().contrast() <= kClear) {
      if (!add_reference()) break;
    }
    const double best = references_.empty() ? 0 : references_.front().contrast();
    if (best < lab.parameters().least_contrast) {
      throw Inconclusive(fmt::format("twice the footprint misses hardly more often (by {:.2f})", best));
    }
  }

  // Whether touching once per `stride` fills the cache as touching all does: a line is at least as long. At another
  // footprint where this one's answer lies in the middle, as it may in a hashed cache of few ways.
  [[nodiscard]] bool is_within_line(std::uint64_t stride, NamedValues& ratios) {
    constexpr double kSure = 0.4;
    double place = 0;
    for (std::size_t i = 0; std::abs(place) < kSure && (i < references_.size() || add_reference()); ++i) {
      const Reference reference = references_[i];
      if (reference.contrast() < lab_.parameters().least_contrast) continue;
      const double plain = miss_ratio(lab_, cache_, reference.bytes, stride, 0);
      const double skewed =
          stride / 2 >= kMinimumStrideBytes ? miss_ratio(lab_, cache_, reference.bytes, stride, stride / 2) : plain;
      const double ratio = std::min(plain, skewed);
      if (i == 0) ratios.emplace_back(fmt::format("miss_ratio_stride_{}", stride), std::round(ratio * 1000) / 1000);
      lab_.log(fmt::format("line: footprint {} stride {}: {:.3f} ({:.3f} fits, {:.3f} exceeds)", reference.bytes,
                           stride, ratio, reference.fitting, reference.exceeding));
      const double here = reference.place_of(ratio);
      if (std::abs(here) > std::abs(place)) place = here;
    }
    return place >= 0;
  }

 private:
  // Of the next footprint; the one with the clearest difference between once and twice of it stays in front: on a cache
  // with uneven sets that is not the largest that fits.
  bool add_reference() {
    const std::array parts = {lab_.parameters().comfortable, 0.7, 0.5};
    const std::uint64_t fetch = cache_.fetch_bytes;
    const std::uint64_t limit = cache_.site().limit_bytes;
    while (next_part_ < parts.size()) {
      const auto base = static_cast<std::uint64_t>(parts[next_part_++] * cache_.held_bytes()) / fetch * fetch;
      if (base < 2 * fetch || (limit != 0 && 2 * base > limit)) continue;
      references_.push_back({.bytes = 2 * base,
                             .fitting = miss_ratio(lab_, cache_, base, fetch, 0),
                             .exceeding = miss_ratio(lab_, cache_, 2 * base, fetch, 0)});
      if (references_.back().contrast() > references_.front().contrast()) {
        std::swap(references_.front(), references_.back());
      }
      return true;
    }
    return false;
  }

  Lab& lab_;
  const Cache& cache_;
  std::size_t next_part_ = 0;
  std::vector<Reference> references_;
};

}  // namespace

Line make_line(const Lab& lab, std::uint64_t bytes, std::string method, NamedValues details) {
  if (bytes > lab.parameters().line_limit_bytes) {
    throw Inconclusive(fmt::format("touching only part of every {} B still fills the cache as all of them do", bytes));
  }
  return {.bytes = bytes, .method = std::move(method), .details = std::move(details), .conditions = lab.conditions()};
}

Attribute to_attribute(const Line& line) {
  Attribute attribute = measured_exactly(line.conditions, static_cast<std::int64_t>(line.bytes), "B", line.method);
  attribute.details = line.details;
  return attribute;
}

Line find_line(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so its lines are never evicted");
  if (const double packed = packed_bytes(lab, cache); packed > 0) return line_by_packing(lab, cache, packed);
  SparseFootprints footprints(lab, cache);
  std::uint64_t line = cache.fetch_bytes;
  NamedValues ratios;
  for (std::uint64_t stride = 2 * line; stride <= 2 * lab.parameters().line_limit_bytes; stride *= 2) {
    if (!footprints.is_within_line(stride, ratios)) break;
    line = stride;
  }
  return make_line(lab, line, "sparse_footprint", std::move(ratios));
}

}  // namespace gputopo::probe
