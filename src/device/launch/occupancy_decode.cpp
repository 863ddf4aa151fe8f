#include "device/launch/occupancy_decode.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gputopo::launch {
namespace {

// The most blocks at one time, by the clock of their SM.
std::uint32_t most_at_once(const std::vector<const BlockRecord*>& blocks) {
  std::vector<std::pair<std::uint64_t, int>> changes;
  for (const BlockRecord* block : blocks) {
    changes.emplace_back(block->start_cycles, 1);
    changes.emplace_back(block->end_cycles, -1);
  }
  std::ranges::sort(changes);  // at equal times, ends come before starts
  int now = 0;
  int most = 0;
  for (const auto& [cycles, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint32_t>(most);
}

// The timer counts from 1970, more than a double holds to the nanosecond. Only differences matter, so 52 days are kept.
constexpr std::uint64_t kTimerPeriod = 1ull << 52;

}  // namespace

OccupancyResult decode_occupancy(const std::vector<BlockRecord>& blocks, const std::vector<ClockRecord>& clocks,
                                 const std::function<std::uint32_t(std::uint32_t)>& sm_of) {
  std::map<std::uint32_t, std::vector<const BlockRecord*>> by_sm;
  for (const BlockRecord& block : blocks) by_sm[sm_of(block.sm)].push_back(&block);
  OccupancyResult result;
  for (const auto& [sm, own] : by_sm) {
    result.sms.push_back(sm);
    result.resident.push_back(most_at_once(own));
    if (clocks.empty()) continue;
    const auto first = std::ranges::min_element(own, {}, [](const BlockRecord* block) { return block->start_cycles; });
    const ClockRecord& clock = clocks[static_cast<std::size_t>(*first - blocks.data())];
    result.timer_ns.push_back(static_cast<double>(clock.timer % kTimerPeriod));
    result.clock_cycles.push_back(static_cast<double>(clock.cycles));
    result.timer_step_ns.push_back(static_cast<double>(clock.timer_step));
    result.clock_read_cycles.push_back(static_cast<double>(clock.clock_read));
    result.clock_step_cycles.push_back(static_cast<double>(clock.clock_bits & (~clock.clock_bits + 1)));
  }
  return result;
}

}  // namespace gputopo::launch
