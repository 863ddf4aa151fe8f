// Facts about the kernels of a compiled module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo::cuda {

// The bytes of a kernel's machine code in a 64-bit ELF file: of its section ".text.KERNEL", which ends with a few
// instructions of padding. Throws DeviceError if the file has no such kernel.
[[nodiscard]] std::uint64_t code_bytes(std::string_view elf, std::string_view kernel);

}  // namespace gputopo::cuda
