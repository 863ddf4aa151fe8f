// Results of `gputopo get` and the library, kept for later: reports in $XDG_CACHE_HOME/gputopo (or ~/.cache/gputopo),
// one file for each request to each device. The folder is private; files that others own or may write are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gputopo/model.h"

namespace gputopo {

// Identifies a device, if possible without opening it: what the system reports about its GPUs and their driver (names,
// PCI addresses, UUIDs, partitions), and the variables that select GPUs. For simulated devices and recordings: their
// files. Nothing if the system does not report it, as without /proc/driver/nvidia. Throws FileError.
[[nodiscard]] std::optional<std::string> identity_of_device(const std::string& spec, std::uint64_t seed);

class ReportCache {
 public:
  // The cached answer of a device (a --device argument) to a request. For one value, the request is its path, so that
  // all who ask for it share the answer.
  ReportCache(const std::string& spec, std::uint64_t seed, const std::string& request);

  // Nothing if there is no answer, it is too old, or it is not what store() wrote. It is then measured again.
  [[nodiscard]] std::optional<Topology> load(std::optional<double> max_age_seconds) const;
  // A failure costs only time later, so it throws nothing; `warn` receives one line.
  void store(const Topology& topology, const std::function<void(const std::string&)>& warn) const;

 private:
  bool is_of_a_gpu_ = false;  // a GPU of the system, not a requested simulation
  std::string folder_;        // empty: no usable place
  std::string name_;
};

}  // namespace gputopo
