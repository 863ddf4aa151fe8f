#include "device/cuda/machine_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

template <typename T>
T read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) {
    throw DeviceError("the driver's compiler returned a truncated file; update the NVIDIA driver");
  }
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::string_view text_at(std::string_view file, std::uint64_t offset) {
  const std::string_view rest = file.substr(std::min<std::uint64_t>(offset, file.size()));
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

std::uint64_t code_bytes(std::string_view elf, std::string_view kernel) {
  const std::string wanted = fmt::format(".text.{}", kernel);
  const auto header = read_at<Elf64_Ehdr>(elf, 0);
  const auto section = [&](std::uint64_t index) {
    return read_at<Elf64_Shdr>(elf, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  if (elf.substr(0, SELFMAG) == ELFMAG) {
    const std::uint64_t names = section(header.e_shstrndx).sh_offset;
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
      if (text_at(elf, names + section(i).sh_name) == wanted) return section(i).sh_size;
    }
  }
  throw DeviceError(
      fmt::format("the driver's compiler returned no code for the kernel '{}'; update the NVIDIA driver", kernel));
}

}  // namespace gputopo::cuda
