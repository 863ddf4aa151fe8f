// Launches of an empty kernel, on every device that times them.
#include <gtest/gtest.h>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

TEST_P(DeviceConformance, LaunchesAreTimedByTheHost) {
  on_device([](Device& device) {
    for (const LaunchMethod way : {LaunchMethod::kCalls, LaunchMethod::kGraph}) {
      try {
        const auto result = std::get<LaunchResult>(run_one(device, LaunchProgram{.way = way, .launches = 4}).data);
        EXPECT_GT(result.submit_seconds, 0);
        EXPECT_GE(result.seconds, result.submit_seconds);
      } catch (const NotSupportedError&) {
        GTEST_SKIP() << "the device does not time launches";
      }
    }
  });
}

TEST_P(DeviceConformance, NoMoreArgumentsThanAKernelTakes) {
  on_device([](Device& device) {
    EXPECT_THROW(static_cast<void>(run_one(device, LaunchProgram{.argument_bytes = 65'536})), NotSupportedError);
  });
}

}  // namespace
}  // namespace gputopo::conformance
