// Programs that run alone, one launch behind the other: rows of them, of which only the end is waited for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gputopo::launch {

// As many as take about a millisecond, by what the ones before took: other processes have their turns, from its start
// on a launch has a whole one for itself (see Company), and so has a row that is no longer; who interrupts a
// measurement does not wait for more either.
//
// `Placed`: a program with its `layout`, and the `offset` of its memory in that of the row, which add() sets.
template <typename Placed>
class Row {
 public:
  // Returns how long it took, 0 where nobody tells.
  using Run = std::function<std::uint64_t(std::vector<Placed>& row, std::uint64_t bytes)>;
  explicit Row(Run run) : run_(std::move(run)) {}

  // Runs what is there first where there is no room for it, or it is to be a row by itself.
  void add(Placed placed, bool by_itself = false) {
    constexpr std::uint64_t kMostBytes = 32ull << 20;
    constexpr std::uint64_t kAlignment = 256;
    const std::uint64_t bytes = (placed.layout.bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (by_itself || row_.size() >= most_ || bytes_ + bytes > kMostBytes) end();
    placed.offset = bytes_;
    bytes_ += bytes;
    row_.push_back(std::move(placed));
    if (by_itself) end();
  }

  // Runs what is there.
  void end() {
    if (!row_.empty()) adapt(run_(row_, bytes_));
    row_.clear();
    bytes_ = 0;
  }

 private:
  void adapt(std::uint64_t ns) {
    constexpr std::uint64_t kWantedNs = 1'000'000;
    // More would hardly save a wait.
    constexpr std::size_t kMostPrograms = 64;
    const std::size_t wanted = ns == 0 ? kMostPrograms : row_.size() * kWantedNs / ns;
    most_ = std::clamp<std::size_t>(wanted, 1, std::min(kMostPrograms, 2 * most_));
  }

  Run run_;
  std::size_t most_ = 8;
  std::vector<Placed> row_;
  std::uint64_t bytes_ = 0;
};

}  // namespace gputopo::launch
