// Which of the faults that a GPU counts itself are findings.
#include "model/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "device/driver/kernel_log.h"
#include "device/hip/kfd_topology.h"
#include "gputopo/file.h"
#include "node/node_health.h"
#include "support/command.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttributeMap device_with(AttributeId id, const Value& value) {
  AttributeMap device;
  get_or_add(device, id) = api_value(value, "");
  return device;
}

std::vector<std::string> texts_of(const AttributeMap& device) {
  std::vector<std::string> texts;
  for (const HealthFinding& finding : judge_health(device)) {
    EXPECT_FALSE(finding.next_step.empty());
    texts.push_back(finding.text);
  }
  return texts;
}

TEST(Health, CountsStatesAndTextsThatShowAFaultAreFindings) {
  const struct {
    AttributeId id;
    Value good;
    Value bad;
    const char* text;
  } cases[] = {
      {AttributeId::kEccUncorrected, std::int64_t{0}, std::int64_t{3},
       "3 uncorrected ECC errors since the driver was "
       "loaded"},
      {AttributeId::kRowRemapPending, false, true, "a memory repair is pending until a reset"},
      {AttributeId::kRowRemapFailed, false, true, "a memory repair failed"},
      {AttributeId::kSlowdown, std::string("none"), std::string("thermal"), "its clocks are throttled: thermal"},
      {AttributeId::kNvlinkErrors, std::int64_t{0}, std::int64_t{12}, "12 NVLink errors"},
      {AttributeId::kXids, std::string("13, 31, 43, 45, 63"), std::string("13, 48, 79"),
       "Xid 48, 79 in the kernel log"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(texts_of(device_with(one.id, one.good)), IsEmpty()) << to_string(one.id);
    EXPECT_THAT(texts_of(device_with(one.id, one.bad)), ElementsAre(one.text));
    AttributeMap unknown;
    get_or_add(unknown, one.id) = unavailable(Reason::kNotSupported, "");
    EXPECT_THAT(texts_of(unknown), IsEmpty());
  }
  EXPECT_THAT(texts_of({}), IsEmpty());
}

TEST(Health, CorrectedErrorsAreShownButAreNoFault) {
  AttributeMap device = device_with(AttributeId::kEccCorrected, std::int64_t{7});
  get_or_add(device, AttributeId::kPcieReplays) = api_value(std::int64_t{2}, "");
  get_or_add(device, AttributeId::kRemappedRows) = api_value(std::int64_t{0}, "");
  EXPECT_THAT(texts_of(device), IsEmpty());
  EXPECT_EQ(health_text(device), "Corrected ECC errors: 7, PCIe replays: 2");
}

TEST(Health, APowerLimitBelowTheDefaultIsShownButIsNoFault) {
  for (const auto& [limit, text] :
       {std::pair(700.0, ""), std::pair(699.5, ""), std::pair(400.0, "power limit: 400 W (default: 700 W)")}) {
    AttributeMap device = device_with(AttributeId::kPowerLimit, limit);
    EXPECT_EQ(health_text(device), "");
    get_or_add(device, AttributeId::kPowerLimitDefault) = api_value(700.0, "W");
    EXPECT_EQ(health_text(device), text) << limit;
    EXPECT_THAT(texts_of(device), IsEmpty());
  }
}

TEST(Health, ANodeNamesTheGpuAndShowsItsCountersBesideItsLinks) {
  NodeReport report;
  report.gpus.resize(2);
  report.gpus[1].report = Topology{};
  report.gpus[1].report->device = device_with(AttributeId::kNvlinkErrors, std::int64_t{12});
  report.verdicts = {{.part = "gpu0 to gpu1", .outcome = Outcome::kBad, .text = "44% of its capacity"},
                     {.part = "host0 to gpu1", .outcome = Outcome::kGood, .text = "84%"}};
  node::add_health(report);
  ASSERT_EQ(report.verdicts.size(), 3u);
  EXPECT_EQ(report.verdicts[0].text, "44% of its capacity (gpu1: NVLink errors: 12)");
  EXPECT_EQ(report.verdicts[1].text, "84%");
  EXPECT_EQ(report.verdicts[2].part, "gpu1");
  EXPECT_EQ(report.verdicts[2].outcome, Outcome::kBad);
}

TEST(HealthOfAmd, IsWhatTheKernelDriverCounts) {
  const test::TemporaryFolder folder;
  const std::filesystem::path device = folder.path() / "bus/pci/devices/0000:c1:00.0";
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((device / path).parent_path());
    write_file((device / path).string(), text);
  };
  EXPECT_EQ(hip::read_health(folder.path(), "0000:c1:00.0"), DeviceHealth{});
  write("ras/umc_err_count", "ue: 2\nce: 5\n");
  write("ras/gfx_err_count", "ue: 1\nce: 0\n");
  write("ras/xgmi_wafl_err_count", "nothing\n");
  write("pcie_replay_count", "4\n");
  write("hwmon/hwmon1/power1_cap_default", "750000000\n");
  const DeviceHealth health = hip::read_health(folder.path(), "0000:c1:00.0");
  EXPECT_EQ(health.ecc_uncorrected, 3u);
  EXPECT_EQ(health.ecc_corrected, 5u);
  EXPECT_EQ(health.pcie_replays, 4u);
  EXPECT_EQ(health.power_limit_default_watts, 750);
}

constexpr const char* kLog =
    "6,339,5140900,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n"
    "3,340,5140901,-;NVRM: Xid (PCI:0000:1B:00): 79, pid=1234, GPU has fallen off the bus.\n"
    "3,341,5140902,-;NVRM: Xid (PCI:0000:2c:00): 48, pid=7, DBE\n"
    "3,342,5140903,-;NVRM: Xid (0000:1b:00): 48, 0000 00000000\n"
    "3,343,5140904,-;NVRM: Xid (PCI:0000:1b:00): 79, again\n"
    "3,344,5140905,-;NVRM: Xid (PCI:0000:1b:00";

TEST(KernelLog, XidsOfOneGpuAreFound) {
  EXPECT_EQ(xids_in(kLog, "0000:1b:00.0"), "48, 79");
  EXPECT_EQ(xids_in(kLog, "0000:3d:00.0"), "none");
  EXPECT_EQ(xids_in("", "0000:1b:00.0"), "none");
}

TEST(KernelLog, OneThatCannotBeReadOrIsEmptyTellsNothing) {
  const test::TemporaryFolder folder;
  write_file(folder.file("kmsg"), kLog);
  setenv("GPUTOPO_KMSG", folder.file("kmsg").c_str(), 1);
  EXPECT_EQ(read_xids("0000:1b:00.0"), "48, 79");
  EXPECT_EQ(read_xids(""), std::nullopt);
  for (const std::string& path : {std::string("/dev/null"), folder.file("none"), folder.path().string()}) {
    setenv("GPUTOPO_KMSG", path.c_str(), 1);
    EXPECT_EQ(read_xids("0000:1b:00.0"), std::nullopt) << path;
  }
  unsetenv("GPUTOPO_KMSG");
}

}  // namespace
}  // namespace gputopo
