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

TEST_F(SysfsTest, WhatIsNotToldStaysUnset) {
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.0"), PciLink{});
  EXPECT_EQ(read_pci_link(root(), ""), PciLink{});
  write("current_link_width", "0");
  write("max_link_width", "sixteen");
  EXPECT_EQ(read_pci_link(root(), "0000:c1:00.0"), PciLink{});
}

}  // namespace
}  // namespace gputopo
