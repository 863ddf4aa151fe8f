// `gputopo get`: paths, and the cache of measured values for a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cache/report_cache.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/export/value_path.h"
#include "support/command.h"
#include "support/message_of.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kReport = GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";

test::CommandResult get(const std::string& arguments, const test::TemporaryFolder& cache) {
  return test::run_command("XDG_CACHE_HOME=" + cache.path().string() + " " GPUTOPO_BINARY " get " + arguments);
}

std::vector<std::string> kept(const test::TemporaryFolder& cache) {
  std::vector<std::string> files;
  if (!std::filesystem::exists(cache.file("gputopo"))) return files;
  for (const auto& entry : std::filesystem::directory_iterator(cache.file("gputopo"))) files.push_back(entry.path());
  return files;
}

// In the JSON, peaks and instructions are in section "compute", but have own names.
TEST(ValuePath, MayNameWhatComputesWithItsSection) {
  Topology topology;
  topology.memory.push_back({"peaks", "Peak arithmetic throughput", {{"f32", api_value(6.6e13, "FLOP/s")}}});
  topology.instructions.push_back({"fma.f32", "Fused multiply-add", {{"latency", api_value(4.0, "cycles")}}});
  for (const char* path : {"peaks.f32", "compute.peaks.f32"}) {
    EXPECT_EQ(report::value_at(topology, path).value().number(), 6.6e13) << path;
    EXPECT_NO_THROW(report::require_known_path(path, nullptr)) << path;
    EXPECT_EQ(report::element_to_measure(path), "peaks.f32");
  }
  EXPECT_EQ(report::value_at(topology, "compute.instructions.fma.f32.latency").value().number(), 4);
  EXPECT_EQ(report::element_to_measure("compute.instructions.fma.f32.latency"), "instructions.fma.f32");
  EXPECT_FALSE(report::value_at(topology, "compute.peaks.f64"));
  EXPECT_THROW(report::require_known_path("compute.peaks.l1", nullptr), UsageError);
}

TEST(ValuePath, FindsWhatReportsHold) {
  const Topology topology = test::sample_topology();
  const auto number = [&](const char* path) { return report::value_at(topology, path).value().number(); };
  EXPECT_EQ(number("l2.size"), 62914560);
  EXPECT_EQ(number("memory.l2.size"), 62914560);
  EXPECT_EQ(number("compute.sm_count"), 132);
  EXPECT_EQ(std::get<std::string>(report::value_at(topology, "device.name").value().value), "NVIDIA H200");
  EXPECT_EQ(std::get<std::string>(report::value_at(topology, "device.compute_capability").value().value), "9.0");
  for (const char* path : {"", ".", "l2", "l2.", ".size", "l2.size.width", "instructions.", "instructions.fma.f32"}) {
    EXPECT_FALSE(report::value_at(topology, path)) << path;
  }
}

// Everything that the JSON has about a value, by the paths of the page.
TEST(ValuePath, FindsWhatStandsBesideAValue) {
  Topology topology = test::sample_topology();
  topology.instructions.push_back({"fma.f32", "Fused multiply-add", {{"latency", api_value(4.0, "cycles")}}});
  const auto value = [&](const char* path) { return report::value_at(topology, path).value(); };
  const auto text = [&](const char* path) { return std::get<std::string>(value(path).value); };
  EXPECT_EQ(value("l2.latency.low").number(), 240);
  EXPECT_EQ(value("memory.l2.latency.high").number(), 280);
  EXPECT_EQ(value(".memory.l2.latency.value").number(), 260);
  EXPECT_EQ(text("l2.latency.unit"), "cycles");
  EXPECT_EQ(text("l2.latency.source"), "measured");
  EXPECT_EQ(text("l2.latency.method"), "untimed_chain");
  EXPECT_EQ(value("l2.latency.details.far_cycles").number(), 474);
  EXPECT_EQ(value("l2.latency.details.far_cycles").unit, "cycles");
  EXPECT_EQ(value("l2.latency.conditions.sm_clock_mhz").number(), 1980);
  EXPECT_EQ(value("compute.instructions[\"fma.f32\"].latency").number(), 4);
  EXPECT_EQ(value("compute.instructions[\"fma.f32\"].latency.value").number(), 4);
  EXPECT_FALSE(value("l2.size.low").available());
  // If a value is missing, its text fields give the reason, and all other paths are unavailable.
  EXPECT_EQ(text("constant_l1.latency.reason"), "inconclusive");
  EXPECT_FALSE(value("constant_l1.latency.low").available());
  EXPECT_FALSE(value("constant_l1.latency.details.far_cycles").available());
  EXPECT_EQ(report::attribute_path("l2.latency.details.far_cycles"), "l2.latency");
  EXPECT_EQ(report::attribute_path("device.name"), "device.name");
  EXPECT_EQ(report::element_to_measure(".memory.l2.latency.high"), "l2.latency");
  EXPECT_EQ(report::element_to_measure("compute.instructions[\"fma.f32\"].latency.low"), "instructions.fma.f32");
}

TEST(ValuePath, SaysWhatThereIsBesideAValue) {
  const Topology topology = test::sample_topology();
  const auto message = [](const char* path, const Topology* report) {
    return test::message_of<UsageError>(path, [&] { report::require_known_path(path, report); });
  };
  EXPECT_EQ(message("l2.latency.details.farr", &topology),
            "l2.latency has no 'details.farr'; its details are near_cycles, far_cycles");
  EXPECT_THAT(message("l2.latency.details", &topology), HasSubstr("its details are near_cycles, far_cycles"));
  EXPECT_EQ(message("l1.line_size.details.x", &topology), "l1.line_size has no 'details.x'; it has no details");
  for (const Topology* report : {static_cast<const Topology*>(nullptr), &topology}) {
    EXPECT_EQ(message("l2.latency.lowest", report),
              "l2.latency has no 'lowest'; its fields are value, unit, low, high, source, reason, detail, method, "
              "flags, details.NAME and conditions.NAME");
  }
  // Only a report tells which details exist.
  EXPECT_NO_THROW(report::require_known_path("l2.latency.details.farr", nullptr));
}

// "device" names both the GPU and its memory.
TEST(ValuePath, FindsTheMemoryOfTheDevice) {
  Topology topology = test::sample_topology();
  topology.memory.push_back({"device", "Device memory", {{"size", api_value(std::int64_t{7}, "B")}}});
  for (const char* path : {"device.size", "memory.device.size"}) {
    EXPECT_EQ(report::value_at(topology, path).value().number(), 7) << path;
  }
}

TEST(ValuePath, UnknownNamesHaveNeighbours) {
  EXPECT_EQ(test::message_of<UsageError>("a slip", [] { report::require_known_path("l2.latncy", nullptr); }),
            "no value is called 'l2.latncy'; the closest names are l2.latency, l1.latency, l3.latency");
  const std::string long_path(100000, 'x');
  EXPECT_THAT(test::message_of<UsageError>("a long one", [&] { report::require_known_path(long_path, nullptr); }),
              SizeIs(testing::Lt(400u)));
  EXPECT_NO_THROW(report::require_known_path("l2.size", nullptr));
  EXPECT_NO_THROW(report::require_known_path("memory.device.size", nullptr));
}

TEST(ValuePath, WhatIsMeasuredForIt) {
  EXPECT_EQ(report::element_to_measure("l2.ways"), "l2.ways");
  EXPECT_EQ(report::element_to_measure("memory.device.latency"), "device.latency");
  EXPECT_EQ(report::element_to_measure("device.latency"), "device.latency");
  EXPECT_EQ(report::element_to_measure("device.driver_version"), "device.size");
  EXPECT_EQ(report::element_to_measure("compute.sm_count"), "device.size");
  EXPECT_EQ(report::element_to_measure("compute.pipes"), "pipes");
  EXPECT_EQ(report::element_to_measure("instructions.fma.f32.latency"), "instructions.fma.f32");
}

TEST(Get, OfAReport) {
  const test::TemporaryFolder cache;
  const test::CommandResult size = get("l2.size --report " + kReport, cache);
  EXPECT_EQ(size.exit_code, 0);
  EXPECT_EQ(size.out, "62914560\n");
  EXPECT_EQ(size.err, "");
  const test::CommandResult absent = get("l2.slices --report " + kReport, cache);
  EXPECT_EQ(absent.exit_code, 5);
  EXPECT_EQ(absent.out, "");
  EXPECT_THAT(absent.err, HasSubstr("l2.slices is unavailable: device error"));
  const test::CommandResult unknown = get("l2.sizes --report " + kReport, cache);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the closest names are l2.size"));
  // Fields beside the value in the JSON, by the path that the page shows.
  EXPECT_EQ(get("memory.l2.latency.unit --report " + kReport, cache).out, "cycles\n");
  EXPECT_EQ(get("memory.l2.latency.details.far_cycles --report " + kReport, cache).exit_code, 0);
  EXPECT_EQ(get("l2.size.low --report " + kReport, cache).exit_code, 5);
  const test::CommandResult no_detail = get("l2.latency.details.farr --report " + kReport, cache);
  EXPECT_EQ(no_detail.exit_code, 2);
  EXPECT_EQ(no_detail.out, "");
  EXPECT_THAT(no_detail.err,
              HasSubstr("l2.latency has no 'details.farr'; its details are minimum_cycles, p50_cycles,"));
  EXPECT_EQ(std::ranges::count(no_detail.err, '\n'), 1);
  EXPECT_THAT(kept(cache), IsEmpty());
}

// One measurement serves all paths of a value.
TEST(Get, OfAValueThatWasMeasured) {
  const test::TemporaryFolder cache;
  EXPECT_EQ(get("shared.latency --device sim:h200", cache).exit_code, 0);
  EXPECT_EQ(get("shared.latency.unit --device sim:h200", cache).out, "cycles\n");
  EXPECT_EQ(get("memory.shared.latency.conditions.sm_clock_mhz --device sim:h200", cache).out, "1980\n");
  const test::CommandResult unknown = get("shared.latency.details.x --device sim:h200", cache);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("shared.latency has no 'details.x'; it"));
  EXPECT_THAT(kept(cache), SizeIs(1));
}

TEST(Get, KeepsWhatItMeasured) {
  const test::TemporaryFolder cache;
  const test::CommandResult first = get("shared.latency --device sim:h200", cache);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("SIMULATED"));
  ASSERT_THAT(kept(cache), SizeIs(1));
  const std::string file = kept(cache).front();
  const std::string before = read_file(file);
  EXPECT_EQ(get("shared.latency --device sim:h200", cache).out, first.out);
  EXPECT_EQ(read_file(file), before);
  // Another device, value or seed has its own entry.
  for (const char* other : {"shared.latency --device sim:a100", "shared.size --device sim:h200",
                            "shared.latency --device sim:h200 --seed 2"}) {
    const std::size_t entries = kept(cache).size();
    EXPECT_EQ(get(other, cache).exit_code, 0);
    EXPECT_THAT(kept(cache), SizeIs(entries + 1)) << other;
  }
}

TEST(Get, ReplacesWhatIsDamagedOrOld) {
  const test::TemporaryFolder cache;
  const std::string arguments = "shared.latency --device sim:h200";
  const std::string value = get(arguments, cache).out;
  const std::string file = kept(cache).front();
  const std::string whole = read_file(file);
  std::string other_digit = whole;
  other_digit[whole.find("\"value\": 1") + 9] = '7';
  for (const std::string& damaged : {std::string{}, std::string("{"), whole.substr(0, whole.size() / 2), whole + "x",
                                     other_digit, whole.substr(whole.find('\n') + 1)}) {
    write_file(file, damaged);
    EXPECT_EQ(get(arguments, cache).out, value);
    EXPECT_NE(read_file(file), damaged);
  }
  for (const char* option : {" --fresh", " --max-age 0"}) {
    const auto before = std::filesystem::last_write_time(file);
    EXPECT_EQ(get(arguments + option, cache).out, value);
    EXPECT_GT(std::filesystem::last_write_time(file), before) << option;
  }
  const auto before = std::filesystem::last_write_time(file);
  EXPECT_EQ(get(arguments + " --max-age 3600", cache).out, value);
  EXPECT_EQ(std::filesystem::last_write_time(file), before);
}

TEST(Get, SaysWhatIsNoDevice) {
  const test::TemporaryFolder cache;
  const test::CommandResult machine = get("l2.size --device sim:h20", cache);
  EXPECT_EQ(machine.exit_code, 2);
  EXPECT_THAT(machine.err, HasSubstr("no simulated machine 'h20'; did you mean"));
  EXPECT_EQ(get("l2.size --device replay:/nowhere", cache).exit_code, 1);
  EXPECT_EQ(get("l2.size --device nonsense", cache).exit_code, 2);
  EXPECT_THAT(kept(cache), IsEmpty());
}

TEST(Get, WorksWhereNothingCanBeKept) {
  const test::CommandResult nowhere =
      test::run_command("env -u HOME -u XDG_CACHE_HOME " GPUTOPO_BINARY " get shared.size --device sim:h200");
  EXPECT_EQ(nowhere.out, "233472\n");
  const test::TemporaryFolder cache;
  write_file(cache.file("gputopo"), "a file where the folder is to be");
  const test::CommandResult blocked = get("shared.size --device sim:h200", cache);
  EXPECT_EQ(blocked.exit_code, 0);
  EXPECT_EQ(blocked.out, "233472\n");
  EXPECT_THAT(blocked.err, HasSubstr("not cached"));
}

// Reasons for missing values never change on a GPU, so they are kept as well.
TEST(Get, KeepsWhyThereIsNoValue) {
  const test::TemporaryFolder cache;
  for (int i = 0; i < 2; ++i) {
    const test::CommandResult result = get("cluster.latency --device sim:a100", cache);
    EXPECT_EQ(result.exit_code, 5);
    EXPECT_THAT(result.err, HasSubstr("cluster.latency is unavailable: not supported"));
    EXPECT_THAT(kept(cache), SizeIs(1));
  }
}

// The system's information about its GPUs, in a folder of the test.
class GpuIdentity : public ::testing::Test {
 protected:
  GpuIdentity() {
    ::setenv("GPUTOPO_PROC", proc_.path().c_str(), 1);
    ::setenv("GPUTOPO_SYSFS", sys_.path().c_str(), 1);
  }
  ~GpuIdentity() override {
    ::unsetenv("GPUTOPO_PROC");
    ::unsetenv("GPUTOPO_SYSFS");
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, text);
  }
  [[nodiscard]] std::string gpu(const std::string& name) const {
    return proc_.file("driver/nvidia/gpus/0000:0f:00.0/" + name);
  }
  static std::optional<std::string> identity(const char* spec = "cuda:0") { return identity_of_device(spec, 1); }

  test::TemporaryFolder proc_;
  test::TemporaryFolder sys_;
};

TEST_F(GpuIdentity, IsUnknownWhereTheSystemDoesNotTell) {
  EXPECT_EQ(identity("cuda:0"), std::nullopt);
  EXPECT_EQ(identity("hip:3"), std::nullopt);
}

TEST_F(GpuIdentity, IsOfHardwareDriverAndChoice) {
  write(proc_.file("driver/nvidia/version"), "NVRM version: 580.159.04\n");
  write(gpu("information"), "Model: NVIDIA H200\nGPU UUID: GPU-1\n");
  const std::optional<std::string> first = identity();
  ASSERT_TRUE(first);
  EXPECT_EQ(identity(), first);
  write(gpu("information"), "Model: NVIDIA H200\nGPU UUID: GPU-2\n");
  const std::optional<std::string> other_gpu = identity();
  EXPECT_NE(other_gpu, first);
  write(proc_.file("driver/nvidia/version"), "NVRM version: 590.1\n");
  const std::optional<std::string> other_driver = identity();
  EXPECT_NE(other_driver, other_gpu);
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const std::optional<std::string> other_choice = identity();
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_NE(other_choice, other_driver);
  std::filesystem::create_directories(proc_.file("driver/nvidia/capabilities/gpu0/mig/gi3"));
  EXPECT_NE(identity(), other_driver);
}

TEST_F(GpuIdentity, IsOfAmdsPartitionsToo) {
  write(sys_.file("class/kfd/kfd/topology/nodes/1/properties"), "gfx_target_version 90402\nunique_id 77\n");
  const std::optional<std::string> whole = identity("hip:0");
  ASSERT_TRUE(whole);
  write(sys_.file("class/drm/card1/device/current_compute_partition"), "CPX\n");
  EXPECT_NE(identity("hip:0"), whole);
}

}  // namespace
}  // namespace gputopo
