// Limits of a context that programs may set. They are restored afterwards.
#pragma once

#include <cstdint>
#include <optional>

#include "device/cuda/driver_api.h"

namespace gputopo::cuda {

// Empty if the GPU has no such limit or the driver does not report it.
[[nodiscard]] std::optional<std::uint64_t> context_limit(const Driver& driver, ContextLimit limit);

// Limits the bytes that L2 fetches for a miss while it lives, as far as the driver takes the hint.
class L2FetchLimit {
 public:
  // 0 bytes: sets nothing. Throws DeviceError if the driver refuses.
  L2FetchLimit(const Driver& driver, std::uint64_t bytes, std::uint64_t before_bytes);
  L2FetchLimit(const L2FetchLimit&) = delete;
  L2FetchLimit& operator=(const L2FetchLimit&) = delete;
  ~L2FetchLimit();

 private:
  const Driver& driver_;
  std::uint64_t bytes_;
  std::uint64_t before_bytes_;
};

}  // namespace gputopo::cuda
