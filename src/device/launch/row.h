// Programs that run alone, one launch behind the other: rows of them, of which only the end is waited for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gputopo::launch {

struct RowParameters {
  // A row is of as many as take so long, by what the ones before took: other processes have their turns, from its start
  // on a launch has a whole one for itself (see Company), and so has a row that is no longer; who interrupts a
  // measurement does not wait for more either.
  std::uint64_t wanted_ns = 1'000'000;
  // Programs of the first row, and of any. More would hardly save a wait.
  std::size_t first_programs = 8;
  std::size_t most_programs = 64;
};

//
// `Placed`: a program with its `layout`, and the `offset` of its memory in that of the row, which add() sets.
template <typename Placed>
class Row {
 public:
  // Returns how long it took, 0 where nobody tells.
  using Run = std::function<std::uint64_t(std::vector<Placed>& row, std::uint64_t bytes)>;
  explicit Row(Run run, const RowParameters& parameters = {})
      : run_(std::move(run)), parameters_(parameters), most_(parameters.first_programs) {}

  // Runs what is there first where there is no room for it.
  void add(Placed placed) {
    constexpr std::uint64_t kMostBytes = 32ull << 20;
    constexpr std::uint64_t kAlignment = 256;
    const std::uint64_t bytes = (placed.layout.bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (row_.size() >= most_ || bytes_ + bytes > kMostBytes) end();
    placed.offset = bytes_;
    bytes_ += bytes;
    row_.push_back(std::move(placed));
  }

  // Runs what is there.
  void end() {
    if (!row_.empty()) adapt(run_(row_, bytes_));
    row_.clear();
    bytes_ = 0;
  }

 private:
  void adapt(std::uint64_t ns) {
    const std::size_t wanted = ns == 0 ? parameters_.most_programs : row_.size() * parameters_.wanted_ns / ns;
    most_ = std::clamp<std::size_t>(wanted, 1, std::min(parameters_.most_programs, 2 * most_));
  }

  Run run_;
  RowParameters parameters_;
  std::size_t most_;
  std::vector<Placed> row_;
  std::uint64_t bytes_ = 0;
};

}  // namespace gputopo::launch
