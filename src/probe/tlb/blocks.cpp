#include "probe/tlb/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

namespace gputopo::probe {
namespace {

// A random line of each block: the lines must not conflict in the sets of the cache behind the TLB either.
ChaseArray random_lines(const PageChaser& page_chaser, std::uint64_t block, std::uint64_t span,
                        std::mt19937_64& random) {
  const std::uint64_t line = page_chaser.line_for(span);
  ChaseArray array = make_array(page_chaser.site(), span / block * block, line);
  const std::uint64_t lines = block / line;
  for (std::uint64_t first = 0; first + lines <= array.element_count(); first += lines) {
    array.elements.push_back(static_cast<std::uint32_t>(first + ((random() >> 32) * lines >> 32)));
  }
  return array;
}

// At least two blocks; if a cache of the SM serves loads, they must have as many lines as exceed it.
std::uint64_t largest_block(const PageChaser& page_chaser, std::uint64_t span) {
  std::uint64_t block = std::bit_floor(span / 2);
  while (block > page_chaser.parameters().line_bytes &&
         span / block * page_chaser.window_lines(block) < page_chaser.nearest().lines) {
    block /= 2;
  }
  return block;
}

std::vector<std::uint64_t> places_of(const ChaseArray& array) {
  std::vector<std::uint64_t> places;
  for (const std::uint32_t element : array.elements) places.push_back(element * array.stride_bytes);
  return places;
}

}  // namespace

std::vector<TouchedBlocks> touch_blocks(const PageChaser& page_chaser, const MissSignature& signature,
                                        const NearerTlb& nearer, double span_bytes,
                                        const TlbBlockParameters& parameters) {
  const auto span = static_cast<std::uint64_t>(span_bytes);
  const std::uint64_t rounds = is_noisy(signature) ? page_chaser.parameters().orders : 1;
  std::mt19937_64 random(page_chaser.runner().seed());
  std::vector<TouchedBlocks> found;  // largest first: they are few, and small ones tell nothing of large pages
  const std::uint64_t smallest =
      std::max(page_chaser.parameters().smallest_page_bytes, std::bit_ceil(span / page_chaser.max_pages()));
  for (std::uint64_t block = largest_block(page_chaser, span); block >= smallest && !are_within_page(found);
       block /= 2) {
    TouchedBlocks& blocks = found.emplace_back(TouchedBlocks{.bytes = block});
    std::vector<double> missed;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      ChaseArray array = random_lines(page_chaser, block, span, random);
      if (round == 0 || array.elements.size() <= parameters.many_blocks) {
        blocks.places_bytes.push_back(places_of(array));
      }
      array.elements = past_nearer(array.elements, block, nearer);
      const ChaseProgram program = page_chaser.program_over(std::move(array), page_chaser.max_pages(), block);
      const stats::Histogram paired = page_chaser.run({program}).front();
      page_chaser.require_past_nearest(paired);
      missed.push_back(missed_part(paired, signature));
    }
    blocks.missed = std::max(0.0, stats::mean(missed));
    page_chaser.runner().log(fmt::format("tlb: {} blocks of {} B: a fraction of {:.3f} misses",
                                         blocks.places_bytes.front().size(), block, blocks.missed));
  }
  std::ranges::reverse(found);
  return up_to_fitting(std::move(found));
}

}  // namespace gputopo::probe
