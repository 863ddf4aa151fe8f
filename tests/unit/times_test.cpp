// The time of a device: how calls are classified, the share of a step, and the text of a report.
#include "gputopo/times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "device/cuda/driver_api.h"
#include "device/driver/driver_call.h"
#include "gputopo/report.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(DeviceTimes, CallsAreToldApartByTheirNames) {
  EXPECT_EQ(kind_of_call("cuModuleLoadDataEx"), CallKind::kCompile);
  EXPECT_EQ(kind_of_call("cuLinkComplete"), CallKind::kCompile);
  EXPECT_EQ(kind_of_call("hiprtcCompileProgram"), CallKind::kCompile);
  EXPECT_EQ(kind_of_call("cuMemAlloc_v2"), CallKind::kAllocate);
  EXPECT_EQ(kind_of_call("cuMemFree_v2"), CallKind::kAllocate);
  EXPECT_EQ(kind_of_call("hipFree"), CallKind::kAllocate);
  EXPECT_EQ(kind_of_call("cuMemcpyDtoH_v2"), CallKind::kCopy);
  EXPECT_EQ(kind_of_call("cuMemsetD8_v2"), CallKind::kCopy);
  EXPECT_EQ(kind_of_call("hipMemset"), CallKind::kCopy);
  EXPECT_EQ(kind_of_call("cuLaunchKernel"), CallKind::kLaunch);
  EXPECT_EQ(kind_of_call("cuFuncSetAttribute"), CallKind::kLaunch);
  EXPECT_EQ(kind_of_call("hipModuleLaunchKernel"), CallKind::kLaunch);
  EXPECT_EQ(kind_of_call("cuCtxSynchronize"), CallKind::kWait);
  EXPECT_EQ(kind_of_call("hipDeviceSynchronize"), CallKind::kWait);
  EXPECT_EQ(kind_of_call("cuMemGetInfo_v2"), CallKind::kOther);
  EXPECT_EQ(kind_of_call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"), CallKind::kOther);
  EXPECT_EQ(kind_of_call("nvmlInit_v2"), CallKind::kOther);
  EXPECT_EQ(kind_of_call(""), CallKind::kOther);
}

TEST(DeviceTimes, ByKindTheyAreSums) {
  const DeviceTimes times = by_kind({{"cuMemAlloc_v2", {2, 0.5}}, {"cuMemFree_v2", {1, 0.25}}, {"cuInit", {1, 1}}});
  EXPECT_EQ(times.of(CallKind::kAllocate), (CallTimes{3, 0.75}));
  EXPECT_EQ(times.of(CallKind::kOther), (CallTimes{1, 1}));
  EXPECT_EQ(times.of(CallKind::kWait), CallTimes{});
  EXPECT_DOUBLE_EQ(times.driver_seconds(), 1.75);
}

TEST(DeviceTimes, OfASpanAreADifference) {
  DeviceTimes begin = by_kind({{"cuMemcpyDtoH_v2", {2, 0.5}}});
  begin.gpu_seconds = 1;
  DeviceTimes end = by_kind({{"cuMemcpyDtoH_v2", {5, 0.75}}, {"cuLaunchKernel", {1, 0.125}}});
  end.gpu_seconds = 1.5;
  end -= begin;
  EXPECT_EQ(end.of(CallKind::kCopy), (CallTimes{3, 0.25}));
  EXPECT_EQ(end.of(CallKind::kLaunch), (CallTimes{1, 0.125}));
  EXPECT_DOUBLE_EQ(end.gpu_seconds, 0.5);
}

// Runs in a separate thread, because times are kept per thread.
void in_a_thread(const std::function<void()>& action) { std::thread(action).join(); }

TEST(DriverCalls, AreCountedAndTimedOnceTimesAreKept) {
  in_a_thread([] {
    { const InDriverCall before("cuInit"); }
    time_driver_calls();
    for (int i = 0; i < 2; ++i) {
      const InDriverCall outer("cuCtxSynchronize");
      const InDriverCall inner("cuGetErrorName");  // within the outer call
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const std::vector<NamedCallTimes> calls = driver_call_times();
    ASSERT_THAT(calls, SizeIs(1));
    EXPECT_EQ(calls[0].name, "cuCtxSynchronize");
    EXPECT_EQ(calls[0].times.calls, 2u);
    EXPECT_GE(calls[0].times.seconds, 0.004);
  });
}

TEST(DriverCalls, AreNotKeptOtherwise) {
  in_a_thread([] {
    const InDriverCall call("cuInit");
    EXPECT_FALSE(driver_calls_are_timed());
  });
  in_a_thread([] { EXPECT_THAT(driver_call_times(), IsEmpty()); });
}

DeviceTimes times_of(double scale) {
  DeviceTimes times{.gpu_seconds = scale};
  std::uint64_t calls = 1;
  for (const CallKind kind : kAllCallKinds) times.of(kind) = {.calls = calls++, .seconds = scale / 8};
  return times;
}

Topology profiled() {
  Topology topology = test::sample_topology();
  topology.total_seconds = 4;
  topology.timing = {{.probe = "l1.size", .seconds = 1, .programs = 7, .device = times_of(0.5)},
                     {.probe = "l2.size", .seconds = 2, .programs = 9, .device = times_of(1)},
                     {.probe = "l2.banks", .seconds = 0.0001, .programs = 0, .device = DeviceTimes{}}};
  topology.profile = {.opening = times_of(0.25), .total = times_of(2), .calls = {{"cuMemAlloc_v2", {3, 0.75}}}};
  return topology;
}

TEST(ProfileReports, TheJsonKeepsIt) {
  const Topology topology = profiled();
  const Topology read = read_json(to_json(topology));
  EXPECT_EQ(read.timing, topology.timing);
  EXPECT_EQ(read.profile, topology.profile);
}

TEST(ProfileReports, WithoutOneTheJsonIsAsBefore) {
  const std::string json = to_json(test::sample_topology());
  EXPECT_EQ(json.find("gpu_seconds"), std::string::npos);
  EXPECT_EQ(json.find("\"profile\""), std::string::npos);
  EXPECT_EQ(profile_text(test::sample_topology()), "");
}

TEST(ProfileReports, TheTableBeginsWithTheLongestStep) {
  const std::string text = profile_text(profiled());
  EXPECT_LT(text.find("l2.size"), text.find("l1.size"));
  EXPECT_EQ(text.find("l2.banks"), std::string::npos) << "too short for a row of its own";
  // GPU, then six kinds of calls of 125 ms each, and the rest of 2 s.
  EXPECT_THAT(text, ::testing::ContainsRegex("l2.size +2000.0 +9 +1000.0( +125.0)+ +1250.0\n"));
  // 4 s minus the three steps. Calls: those that belong to neither a step nor the opening of the device.
  EXPECT_THAT(text, ::testing::ContainsRegex("between the probes +999.9 +250.0( +31.2)+ +812.4\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("cuMemAlloc_v2 +3 +750.0 +250000.0  allocate\n"));
}

}  // namespace
}  // namespace gputopo
