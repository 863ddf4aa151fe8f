#include "device/launch/stream_span.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gputopo::launch {

StreamSpan span_of(const std::vector<BlockRecord>& records, double mhz) {
  // The shared clock ticks only about once a microsecond on some GPUs.
  constexpr std::uint64_t kMinSpanNanoseconds = 1'000'000;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> of_sm;
  std::uint64_t first_ns = UINT64_MAX;
  std::uint64_t last_ns = 0;
  for (const BlockRecord& record : records) {
    auto& [start, end] = of_sm.try_emplace(record.sm, record.start_cycles, record.end_cycles).first->second;
    start = std::min(start, record.start_cycles);
    end = std::max(end, record.end_cycles);
    first_ns = std::min(first_ns, record.start_ns);
    last_ns = std::max(last_ns, record.end_ns);
  }
  std::uint64_t cycles = 0;
  for (const auto& [sm, interval] : of_sm) cycles = std::max(cycles, interval.second - interval.first);
  const bool long_enough = last_ns - first_ns >= kMinSpanNanoseconds;
  return {static_cast<double>(cycles),
          long_enough ? 1e-9 * static_cast<double>(last_ns - first_ns) : static_cast<double>(cycles) / (1e6 * mhz)};
}

StreamResult result_of(const StreamLayout& layout, const StreamSpan& span) {
  const double moved = static_cast<double>(layout.passes) * static_cast<double>(layout.pass_bytes);
  const double scale = moved == 0 ? 1 : static_cast<double>(layout.wanted_bytes) / moved;
  return {.bytes_moved = layout.wanted_bytes, .seconds = span.seconds * scale, .cycles = span.cycles * scale};
}

}  // namespace gputopo::launch
