#include "device/driver/sysfs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

#include "file/environment.h"
#include "file/limits.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

// Accepts only widths of PCI Express.
std::optional<std::uint32_t> width_at(const fs::path& device, const char* name) {
  const std::string text = read_line(device / name).value_or("");
  constexpr std::uint32_t kMaxLanes = 32;
  std::uint32_t lanes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lanes);
  const bool is_width = error == std::errc() && end == text.data() + text.size() && lanes >= 1 && lanes <= kMaxLanes;
  return is_width ? std::optional(lanes) : std::nullopt;
}

std::optional<std::uint32_t> generation_at(const fs::path& device, const char* name) {
  return pcie_generation_of(read_line(device / name).value_or(""));
}

// True for a folder such as "0000:c1:00.0". The root of a hierarchy is "pci0000:c0".
bool is_pci_device(const fs::path& folder) {
  const std::string name = folder.filename();
  return std::ranges::count(name, ':') == 2 && std::ranges::count(name, '.') == 1;
}

PciHop read_hop(const fs::path& lower, const fs::path& upper) {
  const auto least = [](std::optional<std::uint32_t> one, std::optional<std::uint32_t> other) {
    return one && other ? std::min(one, other) : std::nullopt;
  };
  return {.port = upper.filename(),
          .width = width_at(lower, "current_link_width"),
          .generation_max = least(generation_at(lower, "max_link_speed"), generation_at(upper, "max_link_speed")),
          .width_max = least(width_at(lower, "max_link_width"), width_at(upper, "max_link_width"))};
}

}  // namespace

std::string sysfs_root() {
  const char* replacement = environment_variable("GPUTOPO_SYSFS");
  return replacement != nullptr && *replacement != '\0' ? replacement : "/sys";
}

std::optional<std::string> read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text) || text.empty()) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> read_meminfo(const fs::path& path, std::string_view label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t place = line.find(label);
    if (place == std::string::npos) continue;
    std::istringstream rest(line.substr(place + label.size()));
    std::uint64_t kib = 0;
    if (rest >> kib && kib <= limits::kMaxDeviceBytes >> 10) return kib << 10;
    return std::nullopt;
  }
  return std::nullopt;
}

fs::path pci_folder(const std::string& root, const std::string& pci_address) {
  const fs::path devices = fs::path(root) / "bus/pci/devices";
  std::error_code ignored;
  const std::size_t dot = pci_address.rfind('.');
  if (dot == std::string::npos || fs::exists(devices / pci_address, ignored)) return devices / pci_address;
  return devices / (pci_address.substr(0, dot) + ".0");
}

std::optional<std::string> read_pci_attribute(const std::string& root, const std::string& pci_address,
                                              const std::string& name) {
  return read_line(pci_folder(root, pci_address) / name);
}

std::optional<std::uint32_t> pcie_generation_of(const std::string& speed) {
  constexpr std::array kGigatransfers{"2.5", "5", "8", "16", "32", "64"};  // from generation 1 on
  const std::string rate = speed.substr(0, speed.find(' '));
  for (std::uint32_t i = 0; i < kGigatransfers.size(); ++i) {
    const std::string exact = kGigatransfers[i];
    if (rate == exact || rate == exact + ".0") return i + 1;
  }
  return std::nullopt;
}

PciLink read_pci_link(const std::string& root, const std::string& pci_address) {
  if (pci_address.empty()) return {};
  const fs::path folder = pci_folder(root, pci_address);
  // sysfs nests each device in the folder of the port that it is plugged into. Virtual machines often hide the port.
  std::error_code ignored;
  const fs::path slot = fs::canonical(folder, ignored).parent_path();
  PciLink link{.generation = generation_at(folder, "current_link_speed"),
               .width = width_at(folder, "current_link_width"),
               .generation_max = generation_at(folder, "max_link_speed"),
               .width_max = width_at(folder, "max_link_width"),
               .slot_generation_max = generation_at(slot, "max_link_speed"),
               .slot_width_max = width_at(slot, "max_link_width")};
  // Above a slot of a switch is the switch's upstream port, whose link ends at the next port. AMD's boards have a
  // switch of their own.
  for (fs::path lower = slot.parent_path(); is_pci_device(lower); lower = lower.parent_path().parent_path()) {
    link.hops.push_back(read_hop(lower, lower.parent_path()));
  }
  return link;
}

}  // namespace gputopo
