#include "probe/write_policy.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace gputopo::probe {
namespace {

std::optional<bool> found(double part, double nearly_all) {
  if (part >= nearly_all) return true;
  if (part <= 1 - nearly_all) return false;
  return std::nullopt;
}

int percent(double part) { return static_cast<int>(std::lround(100 * part)); }

// An array of two equal parts, of whole lines each, that fit together: one that is stored and one that is not.
struct TwoParts {
  ChaseArray array;
  std::uint64_t elements = 0;  // of each part
  std::uint64_t per_line = 0;

  TwoParts(const Lab& lab, const Cache& cache, std::uint64_t line_bytes) {
    constexpr std::uint64_t kRoom = 2;  // not all of what fits, whose last lines may not
    const std::uint64_t most = lab.parameters().stored_elements * kMinimumStrideBytes / line_bytes;
    const std::uint64_t lines =
        std::clamp(cache.fits_bytes / kRoom / (2 * line_bytes), std::uint64_t{1}, std::max(most, std::uint64_t{1}));
    if (2 * lines * line_bytes > cache.fits_bytes) {
      throw Inconclusive(
          fmt::format("what surely fits, {} B, is less than two lines of {} B", cache.fits_bytes, line_bytes));
    }
    array = make_array(cache.site(), 2 * lines * line_bytes, kMinimumStrideBytes);
    per_line = line_bytes / kMinimumStrideBytes;
    elements = lines * per_line;
  }

  [[nodiscard]] ChaseStep stored(StepKind kind, std::uint32_t index = 0) const {
    return {.kind = kind, .array = index, .loads = elements};
  }
  [[nodiscard]] ChaseStep unstored(std::uint32_t index = 0) const {
    return {.kind = StepKind::kTimed, .array = index, .loads = elements, .first = elements};
  }

  // Median over the copies of the part of the lines that the cache holds, by the first load of each. Where far hits
  // take as long as near memory, some misses look like hits, as many as of cold loads do. Steps count from the last.
  [[nodiscard]] double hits(const std::vector<ChaseResult>& copies, std::size_t step_from_last, const Cache& of) const {
    const double limit_cycles = of.hit_limit_cycles();
    const double told = 1 - stats::fraction_below(of.survey->cold, limit_cycles);
    std::vector<double> parts;
    for (const ChaseResult& copy : copies) {
      const std::vector<std::uint32_t>& latencies = copy.steps.rbegin()[step_from_last].latencies;
      std::size_t below = 0;
      for (std::size_t i = 0; i < latencies.size(); i += per_line) below += latencies[i] < limit_cycles ? 1 : 0;
      const double missed = 1 - static_cast<double>(below * per_line) / static_cast<double>(elements);
      parts.push_back(std::clamp(1 - missed / told, 0.0, 1.0));
    }
    return stats::median(parts);
  }

  [[nodiscard]] ChaseProgram program(const Site& site, std::vector<ChaseArray> arrays,
                                     std::vector<ChaseStep> steps) const {
    ChaseProgram result = make_program(site, std::move(arrays), std::move(steps));
    result.timed_cap = static_cast<std::uint32_t>(elements);
    return result;
  }
};

std::uint64_t line_of(const Cache& cache) { return cache.line_or_fetch_bytes(); }

// As many as a median takes: programs that have the GPU to themselves drive everything out of L2 first, each.
std::vector<ChaseProgram> copies_of(const Lab& lab, const ChaseProgram& program) {
  constexpr std::uint32_t kExclusive = 3;
  return std::vector<ChaseProgram>(program.exclusive ? kExclusive : lab.parameters().copies, program);
}

// What `judge` says of copies of a program; while it cannot, of more of them, for most of a few may be disturbed, and
// of copies that sweep L2 once more each time, for some lines outlive a sweep where L2 replaces at random.
template <typename ProgramOf, typename Judge>
auto judged(Lab& lab, const ProgramOf& program_with_sweeps, const Judge& judge) {
  constexpr std::size_t kRounds = 9;
  std::vector<ChaseResult> copies;
  for (std::size_t round = 1;; ++round) {
    for (ChaseResult& copy : lab.chase(copies_of(lab, program_with_sweeps(round)))) copies.push_back(std::move(copy));
    try {
      return judge(copies);
    } catch (const Inconclusive&) {
      if (round == kRounds) throw;
    }
  }
}

// Leaves nothing of other arrays in L2, whatever is behind that.
ChaseArray l2_evictor(const Lab& lab, const Cache& l2) {
  auto l2_bytes = static_cast<double>(lab.info().l2_bytes.value_or(0));
  l2_bytes = std::max(l2_bytes, l2.size_bytes.value_or(0));
  if (l2_bytes == 0) l2_bytes = static_cast<double>(lab.parameters().l2_guess_bytes);
  const double bytes = lab.parameters().last_cache_evictor_factor * l2_bytes;
  return make_array(l2.site(), static_cast<std::uint64_t>(bytes), line_of(l2));
}

}  // namespace

StoreTreatment judge(const StoreHits& hits, double nearly_all) {
  if (found(hits.unstored, nearly_all) != false) {
    throw Inconclusive(
        fmt::format("{}% of the lines that were never stored are found there too", percent(hits.unstored)));
  }
  const std::optional<bool> allocates = found(hits.stored, nearly_all);
  if (!allocates) {
    throw Inconclusive(
        fmt::format("{}% of the lines that were stored are found there: neither all nor none", percent(hits.stored)));
  }
  return {.allocates = *allocates, .keeps_hits = found(hits.stored_again, nearly_all)};
}

bool passes_stores_on(const PassingHits& hits, double nearly_all) {
  if (found(hits.in_l1, nearly_all) != true) {
    throw Inconclusive(fmt::format("{}% of the lines are left in L1 when they are gone from L2", percent(hits.in_l1)));
  }
  if (found(hits.unstored, nearly_all) != false) {
    throw Inconclusive(
        fmt::format("{}% of the lines that were not stored are found in L2 too", percent(hits.unstored)));
  }
  const std::optional<bool> reached = found(hits.stored_in_l2, nearly_all);
  if (!reached) {
    throw Inconclusive(fmt::format("{}% of the lines that were stored are found in L2: neither all nor none",
                                   percent(hits.stored_in_l2)));
  }
  return *reached;
}

Attribute measure_write_allocate(Lab& lab, const Cache& cache) {
  const Site& site = cache.site();
  const TwoParts parts(lab, cache, line_of(cache));
  // Arrays of a new program are in no cache of an SM; what the SMs share is evicted first.
  std::vector<ChaseArray> arrays = {parts.array};
  if (site.exclusive) arrays.push_back(l2_evictor(lab, cache));
  const auto program_with_sweeps = [&](std::size_t sweeps) {
    std::vector<ChaseStep> steps;
    if (site.exclusive) steps.assign(sweeps, warm_step(site, arrays.back(), 1));
    steps.insert(steps.end(), {parts.unstored(), parts.stored(StepKind::kStore), parts.stored(StepKind::kTimed),
                               parts.stored(StepKind::kStore), parts.stored(StepKind::kTimed)});
    return parts.program(site, arrays, std::move(steps));
  };
  const StoreTreatment treatment = judged(lab, program_with_sweeps, [&](const std::vector<ChaseResult>& copies) {
    const StoreHits hits{.unstored = parts.hits(copies, 4, cache),
                         .stored = parts.hits(copies, 2, cache),
                         .stored_again = parts.hits(copies, 0, cache)};
    lab.log(fmt::format("stores: {}% of unstored lines hit, {}% of stored ones, {}% of those stored again",
                        percent(hits.unstored), percent(hits.stored), percent(hits.stored_again)));
    return judge(hits, lab.parameters().nearly_all);
  });
  Attribute attribute = measured(lab.conditions(), treatment.allocates, "", std::nullopt, "loads_after_stores");
  if (treatment.keeps_hits) attribute.add_detail("store_hit", std::string(*treatment.keeps_hits ? "kept" : "evicted"));
  return attribute;
}

Attribute measure_write_policy(Lab& lab, const Cache& l1, const Cache& l2) {
  const TwoParts parts(lab, l1, std::max(line_of(l1), l2.fetch_bytes));
  ChaseArray past_l1 = parts.array;
  past_l1.space = l2.site().space;
  past_l1.alias_of = 0;
  const std::vector<ChaseArray> arrays = {parts.array, past_l1, l2_evictor(lab, l2)};
  const auto program_with_sweeps = [&](std::size_t sweeps) {
    std::vector<ChaseStep> steps(1 + sweeps, warm_step(l2.site(), arrays[2], 2));
    steps.front() = {.kind = StepKind::kWarm, .loads = parts.array.element_count()};
    steps.insert(steps.end(), {parts.stored(StepKind::kTimed), parts.unstored(1), parts.stored(StepKind::kStore),
                               parts.stored(StepKind::kTimed, 1)});
    return parts.program(l2.site(), arrays, std::move(steps));
  };
  const bool through = judged(lab, program_with_sweeps, [&](const std::vector<ChaseResult>& copies) {
    const PassingHits hits{.in_l1 = parts.hits(copies, 3, l1),
                           .unstored = parts.hits(copies, 2, l2),
                           .stored_in_l2 = parts.hits(copies, 0, l2)};
    lab.log(fmt::format("stores to L1: {}% of the lines in it, {}% of unstored ones in L2, {}% of stored ones",
                        percent(hits.in_l1), percent(hits.unstored), percent(hits.stored_in_l2)));
    return passes_stores_on(hits, lab.parameters().nearly_all);
  });
  return measured(lab.conditions(), std::string(through ? "write_through" : "write_back"), "", std::nullopt,
                  "loads_past_l1_after_stores");
}

Attribute measure_write_policy_beside_reads(Lab& lab, Space space, std::uint64_t cache_bytes,
                                            std::uint64_t memory_bytes, double memory_bytes_per_second) {
  constexpr double kBytes = 8e9;  // of a stream: some milliseconds, on whatever GPU
  // What is written, and read where nothing comes from memory.
  const std::uint64_t part = std::bit_floor(cache_bytes / 8);
  // The reads alone of each, bytes per second.
  const auto rate = [&](StreamOp op, std::uint64_t bytes, std::uint64_t write_span_bytes) {
    StreamProgram program{.op = op, .space = space, .bytes = bytes, .write_span_bytes = write_span_bytes};
    program.repeats = static_cast<std::uint32_t>(std::max(1.0, kBytes / static_cast<double>(bytes)));
    return median_bandwidth(lab, program) / (op == StreamOp::kCopy ? 2 : 1);
  };
  const double alone = rate(StreamOp::kRead, memory_bytes, 0);
  const double in_cache = rate(StreamOp::kCopy, part, 0);
  const double beside_memory = rate(StreamOp::kCopy, memory_bytes, 0);
  const double beside_cache = rate(StreamOp::kCopy, memory_bytes, part);
  lab.log(
      fmt::format("stores: {:.0f} GB/s are read from memory, {:.0f} while as much is written there, {:.0f} while it "
                  "is written to {} bytes; {:.0f} from a cache to itself",
                  alone / 1e9, beside_memory / 1e9, beside_cache / 1e9, part, in_cache / 1e9));
  const auto answer = [&](const char* policy) {
    Attribute attribute =
        measured(lab.conditions(), std::string(policy), "", std::nullopt, "reads_from_memory_beside_writes");
    attribute.details = {{"read_bytes_per_second", std::round(alone)},
                         {"read_beside_memory_writes_bytes_per_second", std::round(beside_memory)},
                         {"read_beside_cached_writes_bytes_per_second", std::round(beside_cache)},
                         {"copy_within_cache_bytes_per_second", std::round(in_cache)}};
    return attribute;
  };
  // More than memory could move, were the writes to go there as well.
  constexpr double kClear = 1.02;
  if (memory_bytes_per_second > 0 && 2 * beside_cache > kClear * memory_bytes_per_second) return answer("write_back");
  // Between what writes to memory leave of the reads, and what the caches could copy at best.
  const double best = std::min(alone, in_cache);
  constexpr double kLeastContrast = 0.2;
  if (best - beside_memory < kLeastContrast * beside_memory) {
    throw Inconclusive("writes to memory hardly slow reads from it, so they do not tell where writes go");
  }
  const double kept = (beside_cache - beside_memory) / (best - beside_memory);
  constexpr double kBack = 0.5;
  constexpr double kThrough = 0.2;
  if (kept >= kBack) return answer("write_back");
  if (kept <= kThrough) return answer("write_through");
  throw Inconclusive(
      fmt::format("writes that could stay in the cache slow reads from memory by {:.0f}% of what writes to memory do",
                  100 * (1 - kept)));
}

Attribute write_policy_by_bandwidth(const Parameters& parameters, double written, double next) {
  const double ratio = written / next;
  if (ratio < parameters.write_back_ratio) {
    throw NotSupportedError(
        fmt::format("it takes writes {:.2f} times as fast as what is behind it can: too little to tell write-back from "
                    "write-through",
                    ratio));
  }
  Attribute attribute = inferred_value(std::string("write_back"), "", "write_bandwidth_against_memory");
  attribute.add_detail("times_memory_bandwidth", std::round(100 * ratio) / 100);
  return attribute;
}

}  // namespace gputopo::probe
