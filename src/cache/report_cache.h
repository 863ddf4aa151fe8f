// What `gputopo get` and the library have found out, kept for the next time: reports in $XDG_CACHE_HOME/gputopo (or
// ~/.cache/gputopo), a file for each request to each device. The folder is for its user alone: what belongs to others,
// or what others may write to, is ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gputopo/model.h"

namespace gputopo {

// Which device it is, without opening it where that can be: what the system says of its GPUs and their driver (names,
// PCI addresses, UUIDs, partitions), and the variables that choose one of them. Of simulated devices and recordings,
// their files. Nothing where the system does not tell, as without /proc/driver/nvidia. Throws FileError.
[[nodiscard]] std::optional<std::string> identity_of_device(const std::string& spec, std::uint64_t seed);

class ReportCache {
 public:
  // Of a device, as --device names it, and what was asked of it: for one value its path, so that all who ask for it
  // share the answer.
  ReportCache(const std::string& spec, std::uint64_t seed, const std::string& request);

  // Nothing where there is none, it is older than that, or it is not what store() wrote: then it is measured again.
  [[nodiscard]] std::optional<Topology> load(std::optional<double> max_age_seconds) const;
  // Where it cannot be kept, nothing is lost but time: `warn` gets a line that says so, and nothing is thrown.
  void store(const Topology& topology, const std::function<void(const std::string&)>& warn) const;

 private:
  bool is_of_a_gpu_ = false;  // of the system, not of a simulation that was asked for
  std::string folder_;        // empty: there is no place for one
  std::string name_;
};

}  // namespace gputopo
