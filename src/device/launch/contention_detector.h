// Finds out whether other processes have work for the GPU. Drivers let processes take turns: during another's turn
// nothing of ours runs, and our caches and TLBs are empty afterwards. SM clocks count on meanwhile, so cycles over time
// do not show it. On an H200 this does: a launch that must wait for its turn ends far later than its blocks do, and a
// launch has a whole turn, which is always equally long, from its start on. So in a launch that met others, whatever
// ended within a turn is as good as if it had been alone.
#pragma once

#include <cstdint>

namespace gputopo::launch {

struct ContentionParameters {
  // Excess of the host's wait over the blocks' run time, in ns, that shows a wait for a turn. On an idle H200 it is 9
  // to 25 us, once in 430 launches 95 us. After another process's turn it is at least 280 us, mostly 2,400 us.
  std::uint64_t wait_ns = 150'000;
  // Fraction of a turn that a launch may count on. Every first turn of 200 launches was 2,095 to 2,097 us.
  double turn_part = 0.9;
  // Longer launches, in ns, are followed by an empty one, which has to wait if others have come. Larger values miss
  // processes that come and go meanwhile, if turns are short.
  std::uint64_t unwatched_ns = 1'000'000;
  // Consecutive waits after which the next launch did not have to wait. With more of them, the kernel itself takes
  // longer than its blocks say: a neighbor that ended meanwhile explains only one.
  int unconfirmed_waits = 2;
  // How long a launch looks for the end of its turn, in ns, and how many such launches are tried if none finds it.
  std::uint64_t search_ns = 20'000'000;
  int searches = 5;
};

class ContentionDetector {
 public:
  explicit ContentionDetector(ContentionParameters parameters = {}) : parameters_(parameters) {}

  [[nodiscard]] const ContentionParameters& parameters() const { return parameters_; }

  // Whether a launch waited for its turn, by the host's wait and the time from its blocks' first start to last end.
  [[nodiscard]] bool had_to_wait(std::uint64_t host_ns, std::uint64_t span_ns) const {
    return host_ns > span_ns + parameters_.wait_ns;
  }

  // Whether others had work for the GPU: `waited` is of the launch, `waited_after` of an empty one after it, if any.
  [[nodiscard]] bool saw_contention(bool waited, bool waited_after) {
    if (!waited || waited_after) {
      unconfirmed_ = 0;
      return waited_after;
    }
    return ++unconfirmed_ <= parameters_.unconfirmed_waits;
  }

  // `ns`: from a launch's start until it was first stopped; 0: it was not stopped.
  void record_time_slice(std::uint64_t ns) {
    if (ns != 0 && (turn_ns_ == 0 || ns < turn_ns_)) turn_ns_ = ns;
  }
  // Whether a launch should look for the end of its turn.
  [[nodiscard]] bool wants_search() { return turn_ns_ == 0 && searches_++ < parameters_.searches; }

  // How long, from its start, a launch that meets others is alone; 0 until the end of a turn was seen.
  [[nodiscard]] std::uint64_t alone_ns() const {
    return static_cast<std::uint64_t>(parameters_.turn_part * static_cast<double>(turn_ns_));
  }

 private:
  ContentionParameters parameters_;
  std::uint64_t turn_ns_ = 0;
  int searches_ = 0;
  int unconfirmed_ = 0;
};

}  // namespace gputopo::launch
