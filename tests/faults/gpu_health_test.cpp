// What a GPU counts of its faults, and whether it is a client of an MPS server, from the driver to the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gputopo/device.h"
#include "gputopo/file.h"
#include "support/command.h"
#include "support/fake_cuda.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;
using test::CommandResult;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GpuHealth : public ::testing::Test {
 protected:
  GpuHealth() {
    setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
    setenv("GPUTOPO_KMSG", folder_.file("kmsg").c_str(), 1);
  }
  ~GpuHealth() override {
    for (const char* name : {"GPUTOPO_FAKE_NVML", "GPUTOPO_KMSG", "GPUTOPO_FAKE_HOSTILE", "GPUTOPO_FAKE_MPS"}) {
      unsetenv(name);
    }
  }
  static DeviceHealth health_with(const char* readings) {
    setenv("GPUTOPO_FAKE_NVML", readings, 1);
    return open_device("cuda:0", 1)->health().value();
  }

  TemporaryFolder folder_;
  test::FakeCuda fake_;
};

TEST_F(GpuHealth, IsReadFromTheManagementLibraryAndTheKernelLog) {
  write_file(folder_.file("kmsg"), "3,1,1,-;NVRM: Xid (PCI:0000:0f:00): 94, pid=1\n");
  const DeviceHealth health = health_with(
      "ecc=2,corrected=5,remapped=3,pending=1,failed=0,default_limit=700000,throttle=0x28,nvlinks=4,nvlink_errors=6,"
      "replays=9");
  EXPECT_EQ(health.ecc_uncorrected, 2u);
  EXPECT_EQ(health.ecc_corrected, 5u);
  EXPECT_EQ(health.remapped_rows, 3u);
  EXPECT_EQ(health.row_remap_pending, true);
  EXPECT_EQ(health.row_remap_failed, false);
  EXPECT_EQ(health.power_limit_default_watts, 700);
  EXPECT_EQ(health.slowdown, "thermal, hardware");
  EXPECT_EQ(health.nvlink_errors, 24u);
  EXPECT_EQ(health.pcie_replays, 9u);
  EXPECT_EQ(health.xids, "94");
}

TEST_F(GpuHealth, OldGpusRetirePages) {
  const DeviceHealth health = health_with("old=1,pending=1");
  EXPECT_EQ(health.row_remap_pending, true);
  EXPECT_EQ(health.remapped_rows, std::nullopt);
}

TEST_F(GpuHealth, WhatCannotBeReadStaysUnknown) {
  for (const char* mode : {"error", "unknown", "huge"}) {
    setenv("GPUTOPO_FAKE_HOSTILE", (std::string(mode) + ":nvmlDeviceGetTotalEccErrors").c_str(), 1);
    const DeviceHealth health = health_with("replays=1");
    EXPECT_EQ(health.ecc_uncorrected, std::nullopt) << mode;
    EXPECT_EQ(health.pcie_replays, 1u);
    EXPECT_EQ(health.nvlink_errors, std::nullopt);  // no links
    EXPECT_EQ(health.xids, std::nullopt);           // no kernel log
  }
  unsetenv("GPUTOPO_FAKE_HOSTILE");
  setenv("GPUTOPO_LIBNVML", "/nonexistent", 1);
  EXPECT_EQ(open_device("cuda:0", 1)->health(), DeviceHealth{});
}

TEST_F(GpuHealth, AClientOfAnMpsServerSaysSo) {
  setenv("GPUTOPO_FAKE_NVML", "mps=2", 1);
  EXPECT_EQ(open_device("cuda:0", 1)->info().mps_enabled, false);
  setenv("GPUTOPO_FAKE_MPS", "1", 1);
  const DeviceInfo info = open_device("cuda:0", 1)->info();
  EXPECT_EQ(info.mps_enabled, true);
  EXPECT_EQ(info.mps_clients, 1u);  // one of two is this process
}

// A value of a saved report as if the driver had reported it.
Json reported(const Json& device, const Json& value) {
  Json attribute = device["driver_version"];
  attribute["value"] = value;
  return attribute;
}

// A saved report of a GPU with a fault, which no baseline shows.
TEST(CheckOfHealth, FaultsThatTheGpuCountsAreViolationsWithoutABaseline) {
  const TemporaryFolder folder;
  const auto check = [&](const std::function<void(Json&)>& change, const std::string& options) {
    Json report = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
    change(report["device"]);
    write_file(folder.file("r.json"), report.dump());
    return test::run_command(GPUTOPO_BINARY " check " + folder.file("r.json") + options);
  };
  const auto healthy = [](Json&) {};
  const auto faulty = [](Json& device) { device["row_remap_failed"] = reported(device, true); };
  const auto corrected = [](Json& device) { device["ecc_corrected"] = reported(device, 12); };
  const std::string baseline = " --baseline " GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";
  EXPECT_EQ(check(healthy, baseline).exit_code, 0);
  EXPECT_EQ(check(corrected, baseline).exit_code, 0);
  EXPECT_EQ(check(faulty, baseline).exit_code, 1);
  const CommandResult alone = check(faulty, "");
  EXPECT_EQ(alone.exit_code, 1) << alone.out << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("a memory repair failed"));
  const CommandResult unknown = check(healthy, "");
  EXPECT_EQ(unknown.exit_code, 3) << unknown.out << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("--baseline"));
}

TEST(FleetOfHealth, AFaultThatAGpuCountsIsAFinding) {
  const TemporaryFolder folder;
  Json report = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  report["device"]["ecc_uncorrected"] = reported(report["device"], 3);
  write_file(folder.file("r.json"), report.dump());
  const CommandResult merged =
      test::run_command(GPUTOPO_BINARY " fleet merge --out " + folder.file("s.arrow") + " " + folder.file("r.json"));
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  const CommandResult fleet = test::run_command(GPUTOPO_BINARY " fleet report " + folder.file("s.arrow"));
  EXPECT_EQ(fleet.exit_code, 1) << fleet.out << fleet.err;
  EXPECT_THAT(fleet.out, HasSubstr("3 uncorrected ECC errors"));
}

// One value of each kind that needs all SMs is withheld; latencies stay.
TEST(Mps, AClientMakesNoClaimThatDependsOnThePlaceOfBlocks) {
  const TemporaryFolder folder;
  Json machine = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/h200.json"));
  machine["info"]["mps_enabled"] = true;
  machine["info"]["mps_clients"] = 3;
  write_file(folder.file("m.json"), machine.dump());
  const CommandResult run = test::run_command(GPUTOPO_BINARY " --quiet --device sim:" + folder.file("m.json") +
                                              " --only shared,cluster --attribute "
                                              "latency,read_bandwidth,cluster_sms,gpc_sms --json " +
                                              folder.file("r.json"));
  const Json report = Json::parse(read_file(folder.file("r.json")));
  EXPECT_EQ(report["device"]["mps"]["value"], true);
  EXPECT_EQ(report["memory"]["shared"]["latency"]["source"], "measured") << run.err;
  for (const auto& [element, attribute] :
       {std::pair("shared", "read_bandwidth"), std::pair("cluster", "cluster_sms"), std::pair("cluster", "gpc_sms")}) {
    const Json& withheld = report["memory"][element][attribute];
    EXPECT_EQ(withheld["reason"], "disturbed") << element << "." << attribute;
    EXPECT_THAT(withheld["detail"].get<std::string>(), HasSubstr("MPS"));
  }
  EXPECT_THAT(report["warnings"].dump(),
              AllOf(HasSubstr("with 3 other clients of an MPS server"), Not(HasSubstr("unknown"))));
}

}  // namespace
}  // namespace gputopo
