// Whether other processes have work for the GPU. Drivers let processes take turns: while another has its turn nothing
// of ours runs, and what our caches and TLBs held is gone afterwards. The clock of an SM counts on meanwhile, so cycles
// against time do not tell. What does, as seen on an H200: a launch that must wait for its turn ends later than its
// blocks do, by far; and from its start on a launch has a whole turn for itself, which is always equally long. So of a
// launch that met others, what ended within a turn is as good as if it had been alone.
#pragma once

#include <cstdint>

namespace gputopo::launch {

struct CompanyParameters {
  // That the host waits longer for a launch than its blocks run. On an idle H200 9 to 25 us, once in 430 launches 95;
  // where another process had its turn first, its turn: 280 us at the least, mostly 2,400.
  std::uint64_t wait_ns = 150'000;
  // Of a turn, that a launch may count on: every first turn of 200 launches was 2,095 to 2,097 us.
  double turn_part = 0.9;
  // Launches that take longer are followed by another, which waits where others have come meanwhile. More: what comes
  // in between is missed where turns are short.
  std::uint64_t unwatched_ns = 1'000'000;
  // Waits in a row, of launches after which the next did not have to wait: then it is the kernel that takes longer than
  // its blocks say. A neighbour that ended meanwhile does so once.
  int unconfirmed_waits = 2;
  // How long a launch looks for the end of its turn, and how often that is tried where there is none.
  std::uint64_t search_ns = 20'000'000;
  int searches = 5;
};

class Company {
 public:
  explicit Company(CompanyParameters parameters = {}) : parameters_(parameters) {}

  [[nodiscard]] const CompanyParameters& parameters() const { return parameters_; }

  // Of a launch for which the host waited so long, and whose blocks ran for `span_ns`, first start to last end.
  [[nodiscard]] bool had_to_wait(std::uint64_t host_ns, std::uint64_t span_ns) const {
    return host_ns > span_ns + parameters_.wait_ns;
  }

  // Whether others had work for the GPU, of a launch that had to wait or not, and of an empty one after it, if any.
  [[nodiscard]] bool met_others(bool waited, bool waited_after) {
    if (!waited || waited_after) {
      unconfirmed_ = 0;
      return waited_after;
    }
    return ++unconfirmed_ <= parameters_.unconfirmed_waits;
  }

  // A launch was stopped for the first time so long after its start; 0: it was not.
  void note_turn(std::uint64_t ns) {
    if (ns != 0 && (turn_ns_ == 0 || ns < turn_ns_)) turn_ns_ = ns;
  }
  // Whether a launch should look for the end of its turn.
  [[nodiscard]] bool wants_search() { return turn_ns_ == 0 && searches_++ < parameters_.searches; }

  // For so long from its start on a launch that meets others is alone; 0 while no turn's end was seen.
  [[nodiscard]] std::uint64_t alone_ns() const {
    return static_cast<std::uint64_t>(parameters_.turn_part * static_cast<double>(turn_ns_));
  }

 private:
  CompanyParameters parameters_;
  std::uint64_t turn_ns_ = 0;
  int searches_ = 0;
  int unconfirmed_ = 0;
};

}  // namespace gputopo::launch
