// Launches of an empty kernel: the time that the host, the driver and the GPU need for one.
#pragma once

#include <cstdint>
#include <string_view>

namespace gputopo {

struct LaunchResult;

enum class LaunchMethod : std::uint8_t {
  kCalls,  // one driver call for each launch
  kGraph,  // one driver call launches a graph of all of them, each after the one before
};
[[nodiscard]] std::string_view to_string(LaunchMethod way);

// One block of one warp that ends at once, `launches` times in a row. Always runs alone, after one untimed run.
struct LaunchProgram {
  static constexpr std::string_view kKind = "launch";
  using Result = LaunchResult;

  LaunchMethod way = LaunchMethod::kCalls;
  std::uint32_t launches = 1;
  std::uint32_t argument_bytes = 8;  // per launch, a multiple of 8
  friend bool operator==(const LaunchProgram&, const LaunchProgram&) = default;
};

inline constexpr std::uint32_t kMaxLaunches = 4096;
inline constexpr std::uint32_t kMaxArgumentBytes = 65536;

struct LaunchResult {
  double seconds = 0;  // by the host's clock, from before the first call until all launches are known to have ended
  double submit_seconds = 0;  // until the last call returned
  friend bool operator==(const LaunchResult&, const LaunchResult&) = default;
};

}  // namespace gputopo
