// The header of a module, and instructions that several kernels share.
#include "device/cuda/ptx_text.h"

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_target.h"
#include "gputopo/error.h"

namespace gputopo::cuda {

std::string module_header(const PtxTarget& target) {
  return fmt::format(
      ".version {}.{}\n.target sm_{}{}\n.address_size 64\n\n"
      ".visible .const .align 256 .b8 constant_bank[{}];\n"
      ".extern .shared .align 16 .b8 dynamic_shared[];\n",
      target.ptx_major, target.ptx_minor, target.sm, target.specific ? "a" : "", kConstantBankBytes);
}

void kernel_line(PtxText& text, std::string_view name, std::size_t parameter_bytes) {
  text.line("\n.visible .entry {}(.param .align 8 .b8 parameters[{}])", name, parameter_bytes);
}

void load_parameter(PtxText& text, std::string_view type, std::string_view reg, std::size_t offset) {
  text.line("ld.param.{} {}, [parameters + {}];", type, reg, offset);
}

void stamp_clocks(PtxText& text, std::string_view record, std::size_t cycles_offset, std::size_t ns_offset) {
  text.line("mov.u64 %stamp, %globaltimer;");
  text.line("@%first_thread st.global.u64 [{} + {}], %stamp;", record, ns_offset);
  text.line("mov.u64 %stamp, %clock64;");
  text.line("@%first_thread st.global.u64 [{} + {}], %stamp;", record, cycles_offset);
}

std::string_view load_opcode(Space space) {
  switch (space) {
    case Space::kGlobal:
      return "ld.global.ca";
    case Space::kGlobalBypassL1:
      return "ld.global.cg";
    case Space::kReadOnly:
      return "ld.global.nc";
    case Space::kConstant:
      return "ld.const";
    case Space::kShared:
      return "ld.shared";
    case Space::kLocal:
      return "ld.local";
    case Space::kTexture:
    case Space::kScalar:
      break;
  }
  throw NotSupportedError(fmt::format("PTX has no load of the {} space", to_string(space)));
}

std::string_view chain_load_opcode(const PtxTarget& target, Space space) {
  constexpr int kFirstWithOrderedLoads = 70;
  if (space == Space::kGlobal && target.sm >= kFirstWithOrderedLoads) return "ld.global";
  return load_opcode(space);
}

}  // namespace gputopo::cuda
