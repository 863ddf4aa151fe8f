// The text of a module, and instructions that several kernels share.
#include "device/cuda/ptx_text.h"

#include <algorithm>
#include <cctype>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_target.h"
#include "device/cuda/stream_ptx.h"
#include "device/launch/kernel_fields.h"
#include "gputopo/error.h"
#include "program/text.h"

namespace gputopo::cuda {
namespace {

const KernelField& field_of(std::string_view name) {
  static constexpr KernelField kFields[] = {
      GPUTOPO_KERNEL_STRUCT(ClusterParameters, working_set, bytes, share_bytes, records, warp_records, arrived, hop,
                            reader, copy_bytes, in_flight, warm_rounds, rounds, never, longest_wait_cycles),
      GPUTOPO_KERNEL_STRUCT(StreamParameters, source, target_delta, records, texture, zero, never, rounds, singles,
                            tiles, visits, step, shift, step_shift, rest_vectors, target_tiles)};
  return kernel_field(name, kFields);
}

void fill_in(std::string& text, std::string_view lines, const PtxText::Values& values) {
  std::size_t begin = 0;  // of the text after the last name
  for (std::size_t at = lines.find('{'); at != std::string_view::npos; at = lines.find('{', at)) {
    const std::size_t first = at++;
    if (at == lines.size() || std::isalpha(lines[at]) == 0) continue;
    const std::size_t end = lines.find('}', at);
    const std::string_view name = lines.substr(at, end - at);
    text += lines.substr(begin, first - begin);
    const auto value = std::ranges::find(values, name, &PtxText::Value::name);
    if (value != values.end()) {
      fill_in(text, value->text, values);
    } else {
      const KernelField& field = field_of(name);
      text += std::to_string(name.find('.') == std::string_view::npos ? field.bytes : field.offset);
    }
    begin = at = end + 1;
  }
  text += lines.substr(begin);
}

}  // namespace

PtxText::PtxText(const PtxTarget& target) : target_(target) {
  add(R"(.version {major}.{minor}
.target sm_{sm}{specific}
.address_size 64

.visible .const .align 256 .b8 constant_bank[{bank_bytes}];
.extern .shared .align 16 .b8 dynamic_shared[];)",
      {{"major", target.ptx_major},
       {"minor", target.ptx_minor},
       {"sm", target.sm},
       {"specific", target.specific ? "a" : ""},
       {"bank_bytes", kConstantBankBytes}});
}

void PtxText::add(std::string_view lines, const Values& values) {
  fill_in(text_, lines, values);
  text_ += '\n';
}

void PtxText::repeat(std::uint32_t times, std::string_view lines) {
  for (std::uint32_t i = 0; i < times; ++i) add(lines, {{"i", i}});
}

void begin_kernel(PtxText& text, std::string_view name, std::string_view parameters, std::string_view directives) {
  text.line("\n.visible .entry {}(.param .align 8 .b8 parameters[{}])", name, field_of(parameters).bytes);
  if (!directives.empty()) text.add(directives);
  text.add("{");
}

void end_kernel(PtxText& text) { text.add("ret;\n}"); }

void load_fields(PtxText& text, std::string_view opcode, std::string_view address, std::string_view type,
                 std::string_view fields) {
  for (const std::string_view loaded : text::split(fields, ' ')) {
    const std::string_view name = loaded.substr(loaded.find('=') + 1);
    const KernelField& field = field_of(fmt::format("{}.{}", type, name));
    text.line("{}.u{} %{}, [{} + {}];", opcode, 8 * field.bytes, loaded.substr(0, loaded.find('=')), address,
              field.offset);
  }
}

void load_parameters(PtxText& text, std::string_view type, std::string_view fields) {
  load_fields(text, "ld.param", "parameters", type, fields);
}

void move_to_element(PtxText& text, std::string_view pointer, std::string_view index, std::string_view type) {
  text.line("mul.wide.u32 %wide, {}, {};", index, field_of(type).bytes);
  text.line("add.u64 {0}, {0}, %wide;", pointer);
}

void stamp_clocks(PtxText& text, std::string_view moment, std::string_view record, std::string_view opcode) {
  const auto stamp = [&](std::string_view clock, std::string_view unit) {
    const std::size_t offset = field_of(fmt::format("BlockRecord.{}_{}", moment, unit)).offset;
    text.line("mov.u64 %stamp, {};", clock);
    text.line("@%first_thread {}.u64 [{} + {}], %stamp;", opcode, record, offset);
  };
  stamp("%globaltimer", "ns");
  stamp("%clock64", "cycles");
}

void claim_record(PtxText& text, std::string_view record) {
  text.add(R"(mov.u32 %old, 0;
@%first_thread atom.global.exch.b32 %old, [{record} + {BlockRecord.claimed}], 1;
@%first_thread st.shared.u32 [%shared], %old;
bar.sync 0;
ld.shared.u32 %old, [%shared];
bar.sync 0;
setp.ne.u32 %taken, %old, 0;
@%taken bra EXIT;)",
           {{"record", record}});
}

void linger_and_exit(PtxText& text, std::string_view label) {
  text.add(R"(bra EXIT;
WRONG_SM:
mov.u32 %before, %clock;
{label}:
mov.u32 %after, %clock;
sub.u32 %after, %after, %before;
setp.lt.u32 %more, %after, %patience;
@%more bra {label};
EXIT:
ret;
})",
           {{"label", label}});
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
  throw NotSupportedError(fmt::format("PTX has no load from the {} space", to_string(space)));
}

std::string_view chain_load_opcode(const PtxTarget& target, Space space) {
  constexpr int kFirstWithOrderedLoads = 70;
  if (space == Space::kGlobal && target.sm >= kFirstWithOrderedLoads) return "ld.global";
  return load_opcode(space);
}

}  // namespace gputopo::cuda
