#include "device/driver/kernel_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <set>

#include "file/environment.h"

namespace gputopo {
namespace {

constexpr std::size_t kMostBytes = 64u << 20;  // more than any kernel keeps

// A device returns one message for each read, and EAGAIN after the last one. EPIPE: the kernel has overwritten some.
std::string read_log(int file) {
  std::string log;
  std::array<char, 8192> part{};
  while (log.size() < kMostBytes) {
    const ssize_t bytes = read(file, part.data(), part.size());
    if (bytes < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (bytes <= 0) break;
    log.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return log;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

// "NVRM: Xid (PCI:0000:1b:00): 79, pid=..., GPU has fallen off the bus."
std::string xids_in(std::string_view log, const std::string& pci_address) {
  constexpr std::string_view kBegin = "NVRM: Xid (";
  constexpr std::string_view kPci = "PCI:";
  constexpr std::string_view kEnd = "): ";
  const std::string own = lower(pci_address.substr(0, pci_address.rfind('.')));
  std::set<unsigned> codes;
  for (std::size_t at = log.find(kBegin); at != std::string_view::npos; at = log.find(kBegin, at + 1)) {
    std::string_view rest = log.substr(at + kBegin.size());
    if (rest.starts_with(kPci)) rest.remove_prefix(kPci.size());
    const std::size_t end = rest.find(kEnd);
    if (own.empty() || end == std::string_view::npos || lower(rest.substr(0, end)) != own) continue;
    rest.remove_prefix(end + kEnd.size());
    unsigned code = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), code).ec == std::errc()) codes.insert(code);
  }
  return codes.empty() ? "none" : fmt::format("{}", fmt::join(codes, ", "));
}

std::optional<std::string> read_xids(const std::string& pci_address) {
  const char* replacement = environment_variable("GPUTOPO_KMSG");
  const char* path = replacement != nullptr && *replacement != '\0' ? replacement : "/dev/kmsg";
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const std::string log = read_log(file);
  close(file);
  // Containers put an empty file there.
  if (log.empty() || pci_address.empty()) return std::nullopt;
  return xids_in(log, pci_address);
}

}  // namespace gputopo
