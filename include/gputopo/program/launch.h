// Launches of a kernel that does nothing: what the host, the driver and the GPU need for one.
#pragma once

#include <cstdint>
#include <string_view>

namespace gputopo {

struct LaunchResult;

enum class LaunchWay : std::uint8_t {
  kCalls,  // a call of the driver for each
  kGraph,  // all of them as one graph, each after the one before, which is launched by one call
};
[[nodiscard]] std::string_view to_string(LaunchWay way);

// One block of one warp that ends at once, `launches` times in a row. It always runs alone, once untimed before.
struct LaunchProgram {
  static constexpr std::string_view kKind = "launch";
  using Result = LaunchResult;

  LaunchWay way = LaunchWay::kCalls;
  std::uint32_t launches = 1;
  std::uint32_t argument_bytes = 8;  // of each launch, a multiple of 8
  friend bool operator==(const LaunchProgram&, const LaunchProgram&) = default;
};

inline constexpr std::uint32_t kMaxLaunches = 4096;
inline constexpr std::uint32_t kMaxArgumentBytes = 65536;

struct LaunchResult {
  double seconds = 0;         // by the host's clock, from before the first call until it knows that all have ended
  double submit_seconds = 0;  // until the last call was back
  friend bool operator==(const LaunchResult&, const LaunchResult&) = default;
};

}  // namespace gputopo
