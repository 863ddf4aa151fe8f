#include "probe/eviction_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kVictims = 64;
constexpr std::size_t kRounds = 3;
// Of touching everything, where one evicts the victim by chance only: enough for nearly always.
constexpr std::size_t kPassesByChance = 16;

// Consecutive lines.
struct Piece {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class EvictionSearch {
 public:
  EvictionSearch(Lab& lab, const Cache& cache, const EvictionPool& pool, std::uint32_t victim, std::uint64_t seed)
      : lab_(lab), cache_(cache), pool_(pool), victim_(pool.lines + victim), random_(seed) {}

  std::optional<LineGroup> run() {
    if (evicts({})) return std::nullopt;
    constexpr std::size_t kTrials = 9;
    if (missed_rounds({{0, pool_.lines}}, kTrials) < kTrials) passes_ = kPassesByChance;
    constexpr std::uint32_t kPieces = 32;
    constexpr std::size_t kMostPieces = 256;  // several times the ways of any cache
    std::vector<Piece> pieces = split({0, fewest_lines()}, kPieces);
    for (;;) {
      if (!still_evicts(pieces)) return std::nullopt;
      leave_out(pieces);
      if (pieces.size() > kMostPieces) return std::nullopt;
      const std::uint32_t lines = std::accumulate(
          pieces.begin(), pieces.end(), 0u, [](std::uint32_t sum, const Piece& piece) { return sum + piece.count; });
      if (lines <= kFew) break;
      std::vector<Piece> halves;
      for (const Piece& piece : pieces) {
        for (const Piece& half : split(piece, 2)) halves.push_back(half);
      }
      pieces = std::move(halves);
    }
    LineGroup lines;
    for (const Piece& piece : pieces) {
      for (std::uint32_t line = 0; line < piece.count; ++line) lines.push_back(piece.first + line);
    }
    std::sort(lines.begin(), lines.end());
    lab_.log(fmt::format("structure: {} lines evict line {}, of {} programs", lines.size(), victim_, programs_));
    lines.push_back(victim_);
    return lines;
  }

 private:
  static constexpr std::uint32_t kFew = 2048;  // lines that are looked at one by one more surely than here

  // The first so many of the pool, which are enough.
  std::uint32_t fewest_lines() {
    constexpr double kStep = 0.9;
    std::uint32_t lines = pool_.lines;
    while (lines > kFew) {
      const auto fewer = static_cast<std::uint32_t>(kStep * lines);
      if (!evicts({{0, fewer}})) break;
      lines = fewer;
    }
    return lines;
  }

  static std::vector<Piece> split(const Piece& whole, std::uint32_t parts) {
    std::vector<Piece> pieces;
    for (std::uint32_t i = 0; i < parts; ++i) {
      const auto begin = static_cast<std::uint32_t>(std::uint64_t{whole.count} * i / parts);
      const auto end = static_cast<std::uint32_t>(std::uint64_t{whole.count} * (i + 1) / parts);
      if (end > begin) pieces.push_back({whole.first + begin, end - begin});
    }
    return pieces;
  }

  // One after the other, what is not needed for the rest to evict.
  void leave_out(std::vector<Piece>& pieces) {
    std::shuffle(pieces.begin(), pieces.end(), random_);
    for (std::size_t i = 0; i < pieces.size();) {
      const Piece piece = pieces[i];
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
      if (evicts(pieces)) continue;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i), piece);
      ++i;
    }
  }

  // By chance it may not.
  bool still_evicts(const std::vector<Piece>& pieces) {
    constexpr int kLooks = 3;
    for (int look = 0; look < kLooks; ++look) {
      if (evicts(pieces)) return true;
    }
    return false;
  }

  // Whether the victim misses in most rounds.
  bool evicts(const std::vector<Piece>& pieces) { return 2 * missed_rounds(pieces, kRounds) > kRounds; }

  // Of rounds of touching the pieces, those after which the victim misses. A round before does not count: what it
  // brings in evicts others than it will later. The victim's neighbour is loaded right before, so that it waits for no
  // translation.
  std::size_t missed_rounds(const std::vector<Piece>& pieces, std::size_t rounds) {
    const std::uint64_t neighbour = victim_ % 2 == 0 ? victim_ + 1 : victim_ - 1;
    ChaseProgram program = make_program(cache_.site(), {pool_.array}, {});
    program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = victim_});
    for (std::size_t round = 0; round <= rounds; ++round) {
      for (std::size_t pass = 0; pass < passes_; ++pass) {
        for (const Piece& piece : pieces) {
          program.steps.push_back({.kind = StepKind::kTouch, .loads = piece.count, .first = piece.first});
        }
      }
      program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = neighbour});
      program.steps.push_back({.kind = round == 0 ? StepKind::kWarm : StepKind::kTimed, .loads = 1, .first = victim_});
    }
    ++programs_;
    const ChaseResult result = lab_.chase({program}).front();
    std::size_t missed = 0;
    for (const StepResult& step : result.steps) {
      if (!step.latencies.empty() && step.latencies.front() >= cache_.hit_limit_cycles()) ++missed;
    }
    return missed;
  }

  Lab& lab_;
  const Cache& cache_;
  const EvictionPool& pool_;
  std::uint32_t victim_;  // line of the pool
  std::mt19937_64 random_;
  std::size_t passes_ = 1;  // of touching the pieces, in a round
  std::size_t programs_ = 0;
};

}  // namespace

EvictionPool make_eviction_pool(const Cache& cache, double lines) {
  constexpr double kCapacities = 2;  // of sets that are full under any index
  EvictionPool pool{.lines = static_cast<std::uint32_t>(kCapacities * lines) / 2 * 2, .victims = kVictims};
  pool.array = make_array(cache.site(), (std::uint64_t{pool.lines} + kVictims) * cache.line->bytes, cache.line->bytes);
  return pool;
}

std::optional<LineGroup> lines_evicting(Lab& lab, const Cache& cache, const EvictionPool& pool, std::uint32_t victim,
                                        std::uint64_t seed) {
  return EvictionSearch(lab, cache, pool, victim, seed).run();
}

}  // namespace gputopo::probe
