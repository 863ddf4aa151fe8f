// Rows of programs that run alone: their launches are queued, and the host waits only for the end of the row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gputopo::launch {

struct RowParameters {
  // Wanted duration of a row in ns, estimated from earlier rows. A launch has a whole turn to itself from its start on
  // (see ContentionDetector), and so has a row of this length. An interrupted measurement also waits no longer than
  // this.
  std::uint64_t wanted_ns = 1'000'000;
  // Programs of the first row, and of any row. More would hardly save a wait.
  std::size_t first_programs = 8;
  std::size_t most_programs = 64;
};

// `Placed`: a program with its `layout`, and the `offset` of its memory within that of the row, which add() sets.
template <typename Placed>
class Row {
 public:
  // Returns the duration in ns, or 0 if it is unknown.
  using Run = std::function<std::uint64_t(std::vector<Placed>& row, std::uint64_t bytes)>;
  explicit Row(Run run, const RowParameters& parameters = {})
      : run_(std::move(run)), parameters_(parameters), most_(parameters.first_programs) {}

  // Runs the waiting programs first if there is no room for this one.
  void add(Placed placed) {
    constexpr std::uint64_t kMostBytes = 32ull << 20;
    constexpr std::uint64_t kAlignment = 256;
    const std::uint64_t bytes = (placed.layout.bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (row_.size() >= most_ || bytes_ + bytes > kMostBytes) end();
    placed.offset = bytes_;
    bytes_ += bytes;
    row_.push_back(std::move(placed));
  }

  // Runs the waiting programs.
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
