#include "device/driver/sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/command.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

class SysfsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const fs::path device = fs::path(root()) / "bus/pci/devices/0000:c1:00.0";
    fs::create_directories(device);
    std::ofstream(device / name) << text << '\n';
  }
  [[nodiscard]] std::string root() const { return folder_.path().string(); }

  test::TemporaryFolder folder_;
};

TEST(PcieGeneration, FollowsFromTheSpeed) {
  EXPECT_EQ(pcie_generation_of("2.5 GT/s PCIe"), 1u);
  EXPECT_EQ(pcie_generation_of("5.0 GT/s PCIe"), 2u);
  EXPECT_EQ(pcie_generation_of("8.0 GT/s"), 3u);
  EXPECT_EQ(pcie_generation_of("64.0 GT/s PCIe"), 6u);
  EXPECT_EQ(pcie_generation_of("Unknown"), std::nullopt);
  EXPECT_EQ(pcie_generation_of(""), std::nullopt);
}

TEST_F(SysfsTest, TheLinkIsReadAsItIsAndAsItCouldBe) {
  write("current_link_speed", "2.5 GT/s PCIe");  // the link sleeps
  write("current_link_width", "8");
  write("max_link_speed", "32.0 GT/s PCIe");
  write("max_link_width", "16");
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.0"),
            (PciLink{.generation = 1, .width = 8, .generation_max = 5, .width_max = 16}));
  // Another partition of the same device.
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.3").generation_max, 5u);
}

// A GPU in a switch whose upstream link has fewer lanes than its ends.
TEST_F(SysfsTest, LinksAboveTheSlotAreRead) {
  const fs::path root_port = fs::path(root()) / "devices/pci0000:00/0000:00:01.0";
  const fs::path upstream = root_port / "0000:01:00.0";
  const fs::path slot = upstream / "0000:02:00.0";
  const fs::path gpu = slot / "0000:c1:00.0";
  const auto write_port = [](const fs::path& port, const char* speed, const char* width, const char* width_max) {
    fs::create_directories(port);
    std::ofstream(port / "max_link_speed") << speed << '\n';
    std::ofstream(port / "current_link_width") << width << '\n';
    std::ofstream(port / "max_link_width") << width_max << '\n';
  };
  write_port(gpu, "32.0 GT/s PCIe", "16", "16");
  write_port(slot, "32.0 GT/s PCIe", "16", "16");
  write_port(upstream, "32.0 GT/s PCIe", "8", "16");
  write_port(root_port, "8.0 GT/s PCIe", "8", "16");
  fs::create_directories(fs::path(root()) / "bus/pci/devices");
  fs::create_directory_symlink(gpu, fs::path(root()) / "bus/pci/devices/0000:c1:00.0");
  const PciLink link = read_pci_link(root(), "0000:c1:00.0");
  EXPECT_EQ(link.slot_generation_max, 5u);
  EXPECT_EQ(link.hops,
            (std::vector<PciHop>{{.port = "0000:00:01.0", .width = 8, .generation_max = 3, .width_max = 16}}));
  fs::remove(root_port / "max_link_speed");  // what nobody reports stays unknown
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.0").hops.front().generation_max, std::nullopt);
}

TEST_F(SysfsTest, WhatIsNotToldStaysUnset) {
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.0"), PciLink{});
  EXPECT_EQ(read_pci_link(root(), ""), PciLink{});
  write("current_link_width", "0");
  write("max_link_width", "sixteen");
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.0"), PciLink{});
}

}  // namespace
}  // namespace gputopo
