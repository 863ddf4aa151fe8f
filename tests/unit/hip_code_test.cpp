// The HIP kernels as clang, and AMD's hiprtc if installed, compile them for every target. The load under test is
// between the two clock readings, with its cache bits and waits. Nothing is spilled or folded away.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>

#include "device/hip/access_source.h"
#include "device/hip/chase_source.h"
#include "device/hip/code_source.h"
#include "device/hip/gfx_target.h"
#include "device/hip/occupancy_source.h"
#include "device/hip/operation_source.h"
#include "device/hip/runtime_api.h"
#include "device/hip/stream_source.h"
#include "device/hip/transfer_source.h"
#include "device/launch/access_kernels.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/program/unrolled_loads.h"
#include "support/command.h"
#include "support/compiled.h"
#include "support/fake_hip.h"

namespace gputopo::hip {

// For GoogleTest, which otherwise prints the bytes of each target whenever the program starts.
void PrintTo(const GfxTarget& target, std::ostream* out) { *out << target.name; }

namespace {

using ::testing::ElementsAre;

bool is_installed(const std::string& tool) {
  static std::map<std::string, bool> found;
  const auto [entry, is_new] = found.try_emplace(tool);
  if (is_new) entry->second = test::run_command("command -v " + tool).exit_code == 0;
  return entry->second;
}

// The list of the assembler.
const std::string& targets_known_to(const std::string& suffix) {
  static std::map<std::string, std::string> known;
  const auto [entry, is_new] = known.try_emplace(suffix);
  if (is_new) {
    entry->second =
        test::run_command(fmt::format("llvm-mc{} -triple=amdgcn-amd-amdhsa -mcpu=help < /dev/null 2>&1", suffix)).out;
  }
  return entry->second;
}

// Suffix of the newest of these tools that knows the target; Debian appends a number to each name.
std::string tool_suffix(const std::string& target, const std::vector<std::string>& tools) {
  for (const char* suffix : {"-22", "-21", "-20", "-19", "-18", "-17", "-16", "-15"}) {
    const bool are_here =
        std::ranges::all_of(tools, [&](const std::string& tool) { return is_installed(tool + suffix); });
    if (are_here && targets_known_to(suffix).find(target) != std::string::npos) return suffix;
  }
  return {};
}

std::string opcode_of(const std::string& instruction) { return instruction.substr(0, instruction.find(' ')); }

// A scalar load may return after a later clock reading into the same registers, so a wait must be between them. Returns
// the first reading without one; empty if all have one.
std::string reading_without_wait(const std::vector<std::string>& code) {
  bool is_under_way = false;
  for (const std::string& line : code) {
    const std::string opcode = opcode_of(line);
    const bool is_reading = opcode == "s_memtime" || opcode == "s_memrealtime";
    const bool waits = line.starts_with("s_waitcnt") && line.find("lgkmcnt(0)") != std::string::npos;
    if (waits || opcode == "s_endpgm") is_under_way = false;
    if (is_reading && is_under_way) return line;
    if (is_reading || opcode.starts_with("s_load") || opcode.starts_with("s_buffer_load")) is_under_way = true;
  }
  return {};
}

TEST(ReadingsOfClocks, WaitForWhatComesIntoTheirRegisters) {
  const std::string load = "s_load_dwordx2 s[4:5], s[0:1], 0x0";
  const std::string reading = "s_memrealtime s[4:5]";
  EXPECT_EQ(reading_without_wait({load, reading}), reading);
  EXPECT_EQ(reading_without_wait({load, "s_waitcnt vmcnt(0)", reading}), reading);
  EXPECT_EQ(reading_without_wait({reading, reading}), reading);
  EXPECT_EQ(reading_without_wait({load, "s_waitcnt vmcnt(0) lgkmcnt(0)", reading}), "");
  EXPECT_EQ(reading_without_wait({load, "s_endpgm", reading}), "");
}

// AMD's own compiler, if installed: libhiprtc, or a runtime that contains it (Debian: libamdhip64-5 and
// libhiprtc-builtins5). It needs no GPU, but its runtime does, so a fake runtime of its version stands in.
struct Hiprtc {
  std::string path;
  int version = 0;
};

std::optional<Hiprtc> installed_hiprtc() {
  for (const char* folder : {"", "/opt/rocm/lib/"}) {
    for (const int major : {7, 6, 5}) {
      void* const runtime = dlopen(fmt::format("{}libamdhip64.so.{}", folder, major).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (runtime == nullptr) continue;
      Hiprtc hiprtc;
      const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(runtime, "hipRuntimeGetVersion"));
      const link_map* map = nullptr;
      if (get_version == nullptr || get_version(&hiprtc.version) != 0) continue;
      if (dlinfo(runtime, RTLD_DI_LINKMAP, &map) != 0) continue;
      const std::filesystem::path file = map->l_name;
      hiprtc.path = file.parent_path() / fmt::format("libhiprtc.so.{}", major);
      if (!std::filesystem::exists(hiprtc.path)) hiprtc.path = file;
      return hiprtc;
    }
  }
  return std::nullopt;
}

enum class Compiler { kClang, kHiprtc };

class HipCode : public ::testing::TestWithParam<std::tuple<GfxTarget, Compiler>> {
 protected:
  void SetUp() override {
    std::vector<std::string> tools = {"llvm-mc", "llvm-objdump", "llvm-readelf"};
    if (!is_hiprtc()) tools.emplace_back("clang");
    suffix_ = tool_suffix(target().name, tools);
    if (suffix_.empty()) {
      GTEST_SKIP() << fmt::format("no {} (Debian: clang-22, llvm-22) that know {}", fmt::join(tools, ", "),
                                  target().name);
    }
    if (is_hiprtc()) load_hiprtc();
  }

  [[nodiscard]] const GfxTarget& target() const { return std::get<GfxTarget>(GetParam()); }
  [[nodiscard]] bool is_hiprtc() const { return std::get<Compiler>(GetParam()) == Compiler::kHiprtc; }

  // Compiles, checks the rules for every kernel, and returns the instructions of one kernel.
  std::vector<std::string> instructions_of(const std::string& source, const std::string& kernel) {
    compile(source);
    return disassembled(kernel);
  }

  // Nothing may spill, and each clock reading must wait for the scalar loads before it.
  void compile(const std::string& source) {
    write_file(object(), is_hiprtc() ? runtime_->compile(source, target().name) : compiled_by_clang(source));
    const std::string notes = test::run_command(fmt::format("llvm-readelf{} --notes {}", suffix_, object())).out;
    read_registers(notes);
    for (const char* field : {"private_segment_fixed_size", "sgpr_spill_count", "vgpr_spill_count"}) {
      const std::regex figure(fmt::format("\\.{}: +([0-9]+)", field));
      std::size_t figures = 0;
      for (std::sregex_iterator at(notes.begin(), notes.end(), figure), end; at != end; ++at, ++figures) {
        if (may_spill_ && (*at)[1].str() != "0") GTEST_SKIP() << "this compiler spills a register: " << field;
        EXPECT_EQ((*at)[1].str(), "0") << field;
      }
      EXPECT_GE(figures, 1u) << field;
    }
    disassemble();
  }

  // Registers of each thread of a kernel, as its notes tell the driver.
  [[nodiscard]] std::uint32_t vector_registers_of(const std::string& kernel) const { return registers_.at(kernel); }

  // Instructions of a symbol of the compiled object.
  [[nodiscard]] std::vector<std::string> disassembled(const std::string& symbol) const {
    const auto found = instructions_.find(symbol);
    return found == instructions_.end() ? std::vector<std::string>{} : found->second;
  }

 private:
  [[nodiscard]] std::string object() const { return folder_.file("kernel.o"); }

  void load_hiprtc() {
    static const std::optional<Hiprtc> hiprtc = installed_hiprtc();
    if (!hiprtc) GTEST_SKIP() << "no HIP runtime (Debian: libamdhip64-5 and libhiprtc-builtins5)";
    fake_.emplace("version=" + std::to_string(hiprtc->version));
    // For gfx906, ROCm 5.2.3 spills one register of a copy through shared memory; 6.4 and 7.2 spill none.
    may_spill_ = hiprtc->version < 60000000;
    setenv("GPUTOPO_LIBHIPRTC", hiprtc->path.c_str(), 1);
    runtime_ = Runtime::load();
    try {
      runtime_->check_compiler(target().name);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  [[nodiscard]] std::string compiled_by_clang(const std::string& source) const {
    // Emits the object of what -S would list, which saves one tool start and the linker.
    const test::Compiled compiled =
        test::compiled({"clang" + suffix_,
                        fmt::format("-x hip --offload-arch={} --cuda-device-only -nogpulib -nogpuinc -O3 -std=c++17 "
                                    "-Werror -S -Xclang -emit-obj",
                                    target().name),
                        source, ".hip", 60});
    EXPECT_EQ(compiled.exit_code, 0) << compiled.messages.substr(0, 2000);
    return compiled.result;
  }

  void read_registers(const std::string& notes) {
    registers_.clear();
    const std::regex field("\\.(name|vgpr_count): +([A-Za-z0-9_]+)");
    std::string kernel;
    for (std::sregex_iterator at(notes.begin(), notes.end(), field), end; at != end; ++at) {
      const std::string value = (*at)[2].str();
      if ((*at)[1].str() == "name") {
        kernel = value;
      } else {
        registers_[kernel] = static_cast<std::uint32_t>(std::stoul(value));
      }
    }
  }

  void disassemble() {
    instructions_.clear();
    std::istringstream lines(test::run_command(fmt::format("llvm-objdump{} -d {}", suffix_, object())).out);
    std::vector<std::string> all;
    std::string symbol;
    const std::regex heading("[0-9a-f]+ <(.*)>:");
    for (std::string line; std::getline(lines, line);) {
      std::smatch parts;
      if (line.starts_with("\t")) {
        line = line.substr(1, line.find("//") - 1);
        line.erase(line.find_last_not_of(' ') + 1);
        instructions_[symbol].push_back(line);
        all.push_back(line);
      } else if (std::regex_match(line, parts, heading)) {
        symbol = parts[1];
      }
    }
    EXPECT_EQ(reading_without_wait(all), "");
  }

  std::string suffix_;
  const test::TemporaryFolder folder_;
  std::map<std::string, std::vector<std::string>> instructions_;  // by symbol
  std::map<std::string, std::uint32_t> registers_;                // by kernel
  bool may_spill_ = false;
  std::optional<test::FakeHip> fake_;
  std::shared_ptr<const Runtime> runtime_;
};

bool is_load(const std::string& instruction) {
  const std::string opcode = opcode_of(instruction);
  return opcode.rfind("global_load", 0) == 0 || opcode.rfind("ds_read", 0) == 0 || opcode.rfind("s_load", 0) == 0;
}

// Largest distance of two clock readings that belong to one load, in instructions.
constexpr std::size_t kLongestTimedCode = 8;

std::vector<std::vector<std::string>> timed_pieces(const std::vector<std::string>& code) {
  std::vector<std::vector<std::string>> pieces;
  std::size_t previous = code.size();
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (opcode_of(code[i]) != "s_memtime") continue;
    if (previous < i && i - previous <= kLongestTimedCode) {
      const std::vector<std::string> piece(code.begin() + static_cast<std::ptrdiff_t>(previous) + 1,
                                           code.begin() + static_cast<std::ptrdiff_t>(i));
      if (std::any_of(piece.begin(), piece.end(), is_load)) pieces.push_back(piece);
    }
    previous = i;
  }
  return pieces;
}

TEST_P(HipCode, ChaseKernelTimesOneLoadAndWaitsForIt) {
  const std::vector<std::string> code = instructions_of(generate_chase_source(target()), "chase");
  ASSERT_GT(code.size(), 300u);
  std::map<std::string, int> timed;
  for (const std::vector<std::string>& piece : timed_pieces(code)) {
    // A wait for the first reading, a load, and a wait for its data.
    ASSERT_GE(piece.size(), 3u);
    EXPECT_EQ(piece.front(), "s_waitcnt lgkmcnt(0)");
    const auto load = std::find_if(piece.begin(), piece.end(), is_load);
    EXPECT_EQ(std::count_if(piece.begin(), piece.end(), is_load), 1);
    ASSERT_EQ(load + 2, piece.end()) << "one wait behind the load and nothing else";
    const bool in_vector_memory = load->rfind("global_load", 0) == 0;
    EXPECT_EQ(piece.back(), in_vector_memory ? "s_waitcnt vmcnt(0)" : "s_waitcnt lgkmcnt(0)");
    // The address of a chained load is the result of the previous one: nothing is folded.
    std::string shape = opcode_of(*load);
    if (in_vector_memory) {
      const std::regex same("global_load_dwordx2 (v\\[[0-9:]+\\]), (v\\[[0-9:]+\\]), off(.*)");
      std::smatch parts;
      ASSERT_TRUE(std::regex_match(*load, parts, same)) << *load;
      EXPECT_EQ(parts[1], parts[2]);
      shape += parts[3];
      EXPECT_EQ(piece.size(), 3u);
    } else if (shape == "ds_read_b32") {
      EXPECT_EQ(piece.size(), 3u);
    } else {
      ASSERT_EQ(piece.size(), 4u);  // scalar: the dry pass skips the load
      EXPECT_THAT(piece[1], ::testing::StartsWith("s_cbranch_scc1"));
    }
    ++timed[shape];
  }
  const std::map<std::string, int> expected = {{"global_load_dwordx2", 3},  // one of a timed step, two of a paired one
                                               {"global_load_dwordx2 " + target().bypass, 3},
                                               {"ds_read_b32", 1},
                                               {"s_load_dwordx2", 1}};
  EXPECT_EQ(timed, expected);
}

// In untimed chains, each load directly follows the wait for the previous one.
TEST_P(HipCode, ChainsFollowEachLinkAsSoonAsItIsThere) {
  const std::vector<std::string> code = instructions_of(generate_chase_source(target()), "chase");
  std::map<std::string, std::size_t> longest;
  std::map<std::string, std::size_t> run_of;
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    if (!is_load(code[i]) || opcode_of(code[i + 1]) != "s_waitcnt") continue;
    std::string shape = opcode_of(code[i]);
    if (code[i].find(" " + target().bypass) != std::string::npos) shape += " " + target().bypass;
    const bool goes_on = i >= 2 && is_load(code[i - 2]) && opcode_of(code[i - 1]) == "s_waitcnt";
    run_of[shape] = goes_on ? run_of[shape] + 1 : 1;
    longest[shape] = std::max(longest[shape], run_of[shape]);
  }
  for (const std::string& shape : {std::string("global_load_dwordx2"), "global_load_dwordx2 " + target().bypass,
                                   std::string("ds_read_b32"), std::string("s_load_dwordx2")}) {
    EXPECT_GE(longest[shape], kUnrolledLoads) << shape;
  }
}

// The scalar cache may be the cache under test. After the first clock reading, only the loads under test pass through
// it, and nothing flushes vL1 or the scalar cache.
TEST_P(HipCode, NothingElseGoesThroughTheScalarCache) {
  const std::vector<std::string> code = instructions_of(generate_chase_source(target()), "chase");
  const auto first_clock =
      std::find_if(code.begin(), code.end(), [](const std::string& line) { return opcode_of(line) == "s_memtime"; });
  std::map<std::string, int> scalar;
  for (auto line = first_clock; line != code.end(); ++line) {
    if (line->rfind("s_load", 0) == 0 || line->rfind("s_buffer_load", 0) == 0) ++scalar[opcode_of(*line)];
    for (const char* emptying : {"buffer_inv", "buffer_wbinvl1", "s_dcache"}) {
      EXPECT_NE(line->rfind(emptying, 0), 0u) << *line;
    }
  }
  // A single link, those of a pass, and a timed one; a word to touch an array.
  const std::map<std::string, int> expected = {{"s_load_dwordx2", 1 + static_cast<int>(kUnrolledLoads) + 1},
                                               {"s_load_dword", 1}};
  EXPECT_EQ(scalar, expected);
}

std::vector<StreamShape> stream_shapes() {
  std::vector<StreamShape> shapes;
  for (const StreamOp op : {StreamOp::kRead, StreamOp::kWrite, StreamOp::kCopy}) {
    for (const Space space : kHipSpaces) {
      if (op != StreamOp::kRead && space == Space::kScalar) continue;
      for (const std::uint32_t vector : {4u, 16u}) {
        for (const std::uint32_t in_flight : {1u, 8u}) shapes.push_back({op, space, vector, in_flight});
      }
    }
  }
  return shapes;
}

// The kernels of all shapes as one source, with distinct names: starting a compiler takes longer than a kernel.
std::string all_streams(const GfxTarget& target) {
  std::string all;
  int number = 0;
  for (const StreamShape& shape : stream_shapes()) {
    std::string source = generate_stream_source(target, shape);
    const std::string entry = "KERNEL void stream(";
    const std::size_t at = source.find(entry);
    if (at == std::string::npos) return {};
    source.replace(at, entry.size(), fmt::format("KERNEL void stream_{}(", number));
    all += fmt::format("namespace shape_{} {{\n{}}}\n", number++, source);
  }
  return all;
}

TEST_P(HipCode, StreamKernelsHaveAllTheirAccessesInFlight) {
  const std::map<Space, std::string> reads = {{Space::kGlobal, "global_load"},
                                              {Space::kGlobalBypassL1, "global_load"},
                                              {Space::kShared, "ds_read"},
                                              {Space::kScalar, "s_load"}};
  compile(all_streams(target()));
  int number = 0;
  for (const StreamShape& shape : stream_shapes()) {
    SCOPED_TRACE(fmt::format("{} {} {} B x {}", to_string(shape.op), to_string(shape.space), shape.vector_bytes,
                             shape.loads_in_flight));
    const std::vector<std::string> code = disassembled(fmt::format("stream_{}", number++));
    const std::string wanted = shape.op != StreamOp::kWrite    ? reads.at(shape.space)
                               : shape.space == Space::kShared ? "ds_write"
                                                               : "global_store";
    // The longest run of accesses without a wait.
    std::size_t longest = 0;
    std::size_t in_a_row = 0;
    for (const std::string& line : code) {
      in_a_row = line.rfind(wanted, 0) == 0 ? in_a_row + 1 : 0;
      longest = std::max(longest, in_a_row);
    }
    EXPECT_GE(longest, shape.loads_in_flight);
    if (shape.space == Space::kGlobalBypassL1) {
      EXPECT_TRUE(std::any_of(code.begin(), code.end(), [&](const std::string& line) {
        return line.rfind(wanted, 0) == 0 && line.find(" " + target().bypass) != std::string::npos;
      }));
    }
  }
}

// The chain of an access kernel, instruction by instruction, without registers.
std::vector<std::string> expected_chain(const GfxTarget& target, const launch::AccessKernel& kernel) {
  const std::string bypass = kernel.space == Space::kGlobalBypassL1 ? " " + target.bypass : "";
  const bool shared = kernel.shared();
  const std::string wait = shared ? "s_waitcnt lgkmcnt(0)" : "s_waitcnt vmcnt(0)";
  const std::string store = shared ? "ds_write_b32" : "global_store_dword" + bypass;
  const std::string back = shared ? "ds_read_b32" : "global_load_dword" + bypass;
  std::vector<std::string> access;
  if (kernel.op != AccessOp::kStore) access.push_back(wait);
  const std::string read = kernel.load_bytes == 8    ? "ds_read_b64"
                           : kernel.load_bytes == 16 ? "ds_read_b128"
                                                     : "ds_read_b32";
  if (kernel.op == AccessOp::kLoad) access.push_back(shared ? read : "global_load_dwordx2" + bypass);
  if (kernel.op == AccessOp::kStore || kernel.op == AccessOp::kStoreLoad) access.push_back(store);
  if (kernel.op == AccessOp::kStoreLoad) access.push_back(back);
  if (kernel.op == AccessOp::kAtomicAdd)
    access.push_back(shared ? "ds_add_rtn_u32" : "global_atomic_add " + target.returning);
  std::vector<std::string> chain = {"s_waitcnt vmcnt(0) lgkmcnt(0)", "s_memtime", "s_waitcnt lgkmcnt(0)", "s_memtime",
                                    "s_waitcnt lgkmcnt(0)"};
  for (std::uint32_t i = 0; i < kAccessUnroll; ++i) chain.insert(chain.end(), access.begin(), access.end());
  chain.insert(chain.end(), {"s_sub_u32", "s_cmp_lg_u32", "s_cbranch_scc1"});
  if (kernel.op == AccessOp::kStore) chain.push_back(back);
  chain.insert(chain.end(), {wait, "s_memtime", "s_waitcnt lgkmcnt(0)"});
  return chain;
}

// Turns "global_load_dword v1, v[2:3], off glc" into "global_load_dword glc". Waits stay as they are.
std::string without_registers(const std::string& instruction) {
  const std::string opcode = opcode_of(instruction);
  if (opcode == "s_waitcnt") return instruction;
  const std::size_t off = instruction.find(" off ");
  return off == std::string::npos ? opcode : opcode + instruction.substr(off + 4);
}

// A chain has only its accesses, their waits and one loop. Each access uses the latest address or value.
TEST_P(HipCode, AccessKernelsAreTheirChains) {
  compile(generate_access_source(target()));
  for (const launch::AccessKernel& kernel : launch::kAccessKernels) {
    if (kernel.constant()) continue;  // AMD GPUs have no constant bank
    SCOPED_TRACE(kernel.name());
    const std::vector<std::string> code = disassembled(kernel.name());
    std::vector<std::string> shapes;
    for (const std::string& line : code) shapes.push_back(without_registers(line));
    const std::vector<std::string> expected = expected_chain(target(), kernel);
    const auto chain = std::search(shapes.begin(), shapes.end(), expected.begin(), expected.end());
    ASSERT_NE(chain, shapes.end());
    EXPECT_EQ(std::search(chain + 1, shapes.end(), expected.begin(), expected.end()), shapes.end());
    const std::string accesses = fmt::format(
        "{}", fmt::join(code.begin() + (chain - shapes.begin()),
                        code.begin() + (chain - shapes.begin()) + static_cast<std::ptrdiff_t>(expected.size()), "\n"));
    const std::regex follows(
        kernel.load_bytes != 0              ? "_read_b(?:64|128) v\\[8:[0-9]+\\], v8(?=,|\n)"
        : kernel.op == AccessOp::kLoad      ? "_(?:read_b32|load_dwordx2) (\\S+), \\1(?=,|\n)"
        : kernel.op == AccessOp::kAtomicAdd ? "_add(?:_rtn_u32)? (\\S+), \\S+, \\1(?=,|\n)"
        : kernel.op == AccessOp::kStore
            ? "_(?:write_b32|store_dword) (\\S+), (\\S+)(?=,|\n)"
            : "_(?:write_b32|store_dword) (\\S+), ([^\\s,]+).*\n.*_(?:read_b32|load_dword) \\2, \\1(?=,|\n)");
    EXPECT_EQ(std::distance(std::sregex_iterator(accesses.begin(), accesses.end(), follows), std::sregex_iterator()),
              kAccessUnroll);
  }
}

// Eight loads are in flight at once. Each access of a chain is one instruction past all GPU caches, and its wait.
TEST_P(HipCode, TransferKernelsAccessWhatIsElsewhere) {
  compile(generate_transfer_source(target(), {.threads = 512, .blocks = 440}));
  const auto lines_with = [&](const char* kernel, const std::string& opcode) {
    std::vector<std::string> found;
    for (const std::string& line : disassembled(kernel)) {
      if (opcode_of(line).starts_with(opcode)) found.push_back(line);
    }
    return found;
  };
  EXPECT_EQ(lines_with("read", "global_load_dwordx4").size() + lines_with("read", "flat_load_dwordx4").size(), 8u);
  EXPECT_GE(lines_with("write", "global_store_dwordx4").size() + lines_with("write", "flat_store_dwordx4").size(), 1u);
  const auto expect_all = [&](const char* kernel, const std::string& opcode, const std::string& bits) {
    const std::vector<std::string> lines = lines_with(kernel, opcode);
    EXPECT_GE(lines.size(), 1u) << kernel;
    for (const std::string& line : lines) EXPECT_TRUE(line.ends_with(" off " + bits)) << kernel << ": " << line;
  };
  expect_all("load", "global_load_dwordx2", target().of_system);
  expect_all("atomic", "global_atomic_add_x2", target().returning + target().atomic_of_system);
  expect_all("atomic_of_gpu", "global_atomic_add_x2", target().returning);
}

// The stretch is complete, contiguous and in order, and its blocks are alike: 8-byte arithmetic on eight registers in
// turn, a countdown, and a branch to the end of the pass. That end is before the stretch or, if out of reach, behind
// it.
TEST_P(HipCode, CodeKernelIsStraight) {
  compile(generate_code_source(target()));
  const std::vector<std::string> stretch = disassembled("gputopo_stretch");
  ASSERT_EQ(stretch.size(), kMaxCodeInstructions);
  for (std::size_t first = 0; first < stretch.size(); first += kCodeBlockInstructions) {
    const auto at = [&](std::size_t i) { return stretch[first + i]; };
    for (std::size_t i = 0; i + 2 < kCodeBlockInstructions; ++i) {
      ASSERT_EQ(at(i), stretch[i % 8]);
      ASSERT_EQ(opcode_of(at(i)), "v_fma_f32");
    }
    ASSERT_EQ(at(kCodeBlockInstructions - 2), "s_sub_u32 s51, s51, 1");
    const bool front = first / kCodeBlockInstructions < kMaxCodeBlocks / 2;
    ASSERT_EQ(at(kCodeBlockInstructions - 1),
              front ? "s_cbranch_scc1 gputopo_pass_end" : "s_cbranch_scc1 gputopo_stretch_end");
  }
  const std::vector<std::string> lead = disassembled("gputopo_lead");
  ASSERT_GT(lead.size(), kCodeLeadInstructions);
  for (std::size_t i = 0; i < kCodeLeadInstructions; ++i) EXPECT_EQ(lead[i], stretch[i % 8]);
  EXPECT_EQ(lead[kCodeLeadInstructions], "s_branch gputopo_stretch");
  const std::set<std::string> results(stretch.begin(), stretch.begin() + 8);
  EXPECT_EQ(results.size(), 8u);
  EXPECT_THAT(disassembled("gputopo_stretch_end"), ElementsAre("s_setpc_b64 s[56:57]"));
}

// A compiler may clone the call of the stretch, but the stretch must exist once.
TEST_P(HipCode, TheStretchIsThereOnceHoweverOftenItIsCalled) {
  const std::string source = generate_code_source(target());
  compile(source);
  const std::vector<std::string> stretch = disassembled("gputopo_stretch");
  const std::size_t kernel_size = disassembled("code").size();
  const std::string call = "run_stretch(result, passes, last + 1 - first, entry, (float)thread);";
  const std::size_t at = source.find(call);
  ASSERT_NE(at, std::string::npos);
  compile(std::string(source).replace(at, call.size(), "if (passes % 2 == 0) " + call + " else " + call));
  EXPECT_EQ(disassembled("gputopo_stretch"), stretch);
  const std::size_t cloned_size = disassembled("code").size();
  if (is_hiprtc() && cloned_size == kernel_size) GTEST_SKIP() << "this compiler makes one call of the two";
  EXPECT_GT(cloned_size, kernel_size);
}

// Between two passes: the clock, its difference to the last reading, and the next jump.
TEST_P(HipCode, PassesAreTimedInFrontOfTheStretch) {
  compile(generate_code_source(target()));
  EXPECT_THAT(disassembled("gputopo_pass_end"),
              ElementsAre("s_memtime s[46:47]", "s_waitcnt lgkmcnt(0)", "s_sub_u32 s48, s46, s44",
                          "s_subb_u32 s49, s47, s45", "s_mov_b64 s[44:45], s[46:47]", "v_mov_b32_e32 v42, s48",
                          "v_mov_b32_e32 v43, s49", "global_store_dwordx2 v40, v[42:43], s[40:41] " + target().bypass,
                          "s_add_u32 s40, s40, 8", "s_addc_u32 s41, s41, 0", "s_sub_u32 s50, s50, 1",
                          "s_cmp_eq_u32 s50, 0", "s_cbranch_scc1 gputopo_return"));
  EXPECT_THAT(disassembled("gputopo_next_pass"), ElementsAre("s_mov_b32 s51, s52", "s_setpc_b64 s[54:55]"));
  // The assembler has filled in the sizes: 30 instructions of 8 bytes and two of 4 in each block.
  const std::vector<std::string> sizes = disassembled("code_sizes");
  const std::uint32_t bytes = kMaxCodeBlocks * (30 * 8 + 2 * 4);
  EXPECT_TRUE(std::any_of(sizes.begin(), sizes.end(), [&](const std::string& line) {
    return line.find(fmt::format(", {:#x}", bytes)) != std::string::npos;
  }));
}

// The place of a block: the fields of HW_ID and, on GPUs of several dies, of XCC_ID, in every kernel that reports it.
TEST_P(HipCode, KernelsReadTheRegistersThatSayWhereTheyRun) {
  std::set<std::string> expected = {"hwreg(HW_REG_HW_ID, 8, 4)",
                                    fmt::format("hwreg(HW_REG_HW_ID, 13, {})", target().engine_bits)};
  if (target().has_xcc_id) expected.insert("hwreg(HW_REG_XCC_ID, 0, 4)");
  const auto check = [&](const std::string& source, const std::vector<std::string>& kernels) {
    compile(source);
    for (const std::string& kernel : kernels) {
      std::set<std::string> read;
      const std::vector<std::string> code = disassembled(kernel);
      for (const std::string& line : code) {
        if (opcode_of(line) == "s_getreg_b32") read.insert(line.substr(line.find("hwreg")));
      }
      EXPECT_EQ(read, expected) << kernel;
    }
  };
  check(generate_chase_source(target()), {"chase", "spin"});
  check(generate_stream_source(target(), {}), {"stream"});
  check(generate_access_source(target()), {"load_global", "store_shared"});
  check(generate_code_source(target()), {"code"});
}

// From AMD's instruction set references: Vega 20 numbers 4 engines, MI100 and MI200 8, and each die of MI300 4.
TEST(GfxTargets, HaveTheFieldsOfTheirIds) {
  std::map<std::string, std::pair<std::uint32_t, bool>> fields;
  for (const GfxTarget& target : gfx_targets()) fields[target.name] = {target.engine_bits, target.has_xcc_id};
  const std::map<std::string, std::pair<std::uint32_t, bool>> expected = {{"gfx906", {2, false}},
                                                                          {"gfx908", {3, false}},
                                                                          {"gfx90a", {3, false}},
                                                                          {"gfx942", {2, true}},
                                                                          {"gfx950", {2, true}}};
  EXPECT_EQ(fields, expected);
  EXPECT_EQ(die_of(gfx_target("gfx90a"), 0x7f), 0u);
  EXPECT_EQ(die_of(gfx_target("gfx942"), 0x7f), 1u);
}

// hiprtc puts its own declarations before a source, some with the same names.
TEST_P(HipCode, SourcesStandBesideWhatHiprtcDeclares) {
  if (is_hiprtc()) GTEST_SKIP() << "every test of hiprtc shows it";
  const std::string before =
      "typedef long clock_t;\n"
      "static inline __attribute__((device)) clock_t clock() { return 0; }\n"
      "static inline __attribute__((device)) void barrier(int) {}\n"
      "typedef unsigned long u64;\n";
  EXPECT_FALSE(instructions_of(before + generate_chase_source(target()), "chase").empty());
  EXPECT_FALSE(instructions_of(before + generate_stream_source(target(), {}), "stream").empty());
  EXPECT_FALSE(instructions_of(before + generate_access_source(target()), "fill_links").empty());
  EXPECT_FALSE(instructions_of(before + generate_code_source(target()), "code").empty());
}

// A chain of each operation, within its loop. Operations that the target lacks are refused without affecting others.
TEST_P(HipCode, OperationsAreChained) {
  const std::vector<launch::OperationShape> shapes = {
      {OperationId::kFmaF32},   {OperationId::kAddF64},
      {OperationId::kFmaF16x2}, {OperationId::kMulHiU32},
      {OperationId::kPopcB32},  {OperationId::kRcpF32},
      {OperationId::kShflIdx},  {OperationId::kFmaF32, OperationId::kMulF64, 2}};
  compile(generate_operation_source(target(), shapes));
  const std::vector<std::string> opcodes = {"v_fma_f32",      "v_add_f64", "v_pk_fma_f16",    "v_mul_hi_u32",
                                            "v_bcnt_u32_b32", "v_rcp_f32", "ds_bpermute_b32", "v_fma_f32"};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<std::string> code = disassembled(shapes[i].kernel_name());
    const auto found =
        std::ranges::count_if(code, [&](const std::string& line) { return line.starts_with(opcodes[i]); });
    EXPECT_EQ(static_cast<std::uint32_t>(found), shapes[i].operations() / shapes[i].streams) << shapes[i].kernel_name();
    EXPECT_EQ(reading_without_wait(code), "") << shapes[i].kernel_name();
  }
}

// A barrier each, and a branch each over code that no lane runs.
TEST_P(HipCode, BarriersAndBranchesAreInARow) {
  const std::vector<launch::OperationShape> shapes = {{OperationId::kBarSync}, {OperationId::kBra}};
  compile(generate_operation_source(target(), shapes));
  const auto count = [&](const launch::OperationShape& shape, const char* opcode) {
    return std::ranges::count_if(disassembled(shape.kernel_name()),
                                 [&](const std::string& line) { return opcode_of(line) == opcode; });
  };
  const auto operations = static_cast<std::ptrdiff_t>(shapes[0].operations());
  EXPECT_GE(count(shapes[0], "s_barrier"), operations);
  EXPECT_LE(count(shapes[0], "s_barrier"), operations + 8) << "and those of the common start";
  EXPECT_GE(count(shapes[1], "s_branch"), operations);
  EXPECT_GE(count(shapes[1], "s_nop"), 4 * operations);
}

// Calls of one function; and barriers of all blocks, for which one lane counts and waits.
TEST_P(HipCode, CallsAndBarriersOfAllBlocksAreInARow) {
  const std::vector<launch::OperationShape> shapes = {{OperationId::kCall}, {OperationId::kBarrierGrid}};
  compile(generate_operation_source(target(), shapes));
  const auto operations = static_cast<std::ptrdiff_t>(shapes[0].operations());
  const std::vector<std::string> calls = disassembled(shapes[0].kernel_name());
  const std::vector<std::string> barriers = disassembled(shapes[1].kernel_name());
  const auto count = [](const std::vector<std::string>& code, const char* opcode) {
    return std::ranges::count_if(code, [&](const std::string& line) { return opcode_of(line) == opcode; });
  };
  EXPECT_EQ(count(calls, "s_call_b64"), operations);
  EXPECT_EQ(count(calls, "s_setpc_b64"), 1);
  const auto first = std::ranges::find_if(barriers, [](const std::string& line) {
    return line.starts_with("global_atomic_add") && line.ends_with("offset:4");
  });
  ASSERT_GE(first - barriers.begin(), 4);
  EXPECT_EQ(std::ranges::count(barriers, *first), operations) << *first;
  EXPECT_EQ(opcode_of(*(first - 1)), "s_cbranch_execz");
  EXPECT_EQ(opcode_of(*(first - 2)), "s_and_saveexec_b64");
  EXPECT_TRUE(opcode_of(*(first - 3)).starts_with("v_add_u32"));
  EXPECT_EQ(opcode_of(*(first - 4)), "s_barrier");
  ASSERT_GE(barriers.end() - first, 7);
  EXPECT_TRUE((first + 1)->starts_with("global_load_dword") && (first + 1)->ends_with(target().bypass)) << *(first + 1);
  EXPECT_TRUE((first + 2)->starts_with("s_waitcnt vmcnt(0)"));
  EXPECT_EQ(opcode_of(*(first + 4)), "s_cbranch_vccnz");
  EXPECT_TRUE((first + 5)->starts_with("s_mov_b64 exec"));
  EXPECT_EQ(opcode_of(*(first + 6)), "s_barrier");
}

// Each side of a branch runs with the lanes that take it. Afterwards all restore the previous lane mask.
TEST_P(HipCode, SidesHaveTheirLanes) {
  const launch::OperationShape shape = {.operation = OperationId::kFmaF32, .sides = 4};
  compile(generate_operation_source(target(), std::vector{shape}));
  const std::vector<std::string> code = disassembled(shape.kernel_name());
  const auto count = [&](const char* opcode) {
    return std::ranges::count_if(code, [&](const std::string& line) { return opcode_of(line) == opcode; });
  };
  EXPECT_EQ(count("v_fma_f32"), 4 * static_cast<std::ptrdiff_t>(shape.operations()));
  const auto first = std::ranges::find_if(code, [](const std::string& line) { return line.starts_with("v_fma_f32"); });
  ASSERT_GE(first - code.begin(), 3);
  EXPECT_EQ(opcode_of(*(first - 1)), "s_cbranch_execz");
  EXPECT_EQ(opcode_of(*(first - 2)), "s_and_saveexec_b64");
  EXPECT_TRUE(opcode_of(*(first - 3)).starts_with("v_cmp_eq_u32"));
  const auto together =
      std::ranges::count_if(code, [](const std::string& line) { return line.starts_with("s_mov_b64 exec"); });
  EXPECT_GE(together, 4);
}

// The clock is read twice in a row and the timer once, in a loop without loads or stores.
TEST_P(HipCode, BlocksThatStayReadTheClocks) {
  const std::vector<std::string> code =
      instructions_of(generate_occupancy_source(target(), std::vector<std::uint32_t>{0}), occupancy_kernel_name(0));
  const auto is = [](const char* opcode) {
    return [opcode](const std::string& line) { return opcode_of(line) == opcode; };
  };
  // Around the loop: the beginning and the end of the block, and of the stay.
  EXPECT_EQ(std::ranges::count_if(code, is("s_memtime")), 5);
  EXPECT_EQ(std::ranges::count_if(code, is("s_memrealtime")), 4);
  EXPECT_EQ(std::ranges::count_if(code, is("s_barrier")), 1);
}

// Counts the whole register file of a thread, which on some targets has as many accumulation registers in addition.
TEST_P(HipCode, BlocksThatStayHaveTheirRegisters) {
  const std::vector<std::uint32_t> counts = {0, kLeastVectorRegisters, 72, 128, 168, 224};
  compile(generate_occupancy_source(target(), counts));
  EXPECT_LT(vector_registers_of(occupancy_kernel_name(0)), kLeastVectorRegisters);
  for (const std::uint32_t count : std::span(counts).subspan(1)) {
    EXPECT_EQ(vector_registers_of(occupancy_kernel_name(count)), count);
  }
}

TEST_P(HipCode, TheEmptyKernelOnlyEnds) {
  const std::vector<std::string> code = instructions_of(generate_empty_source(target(), 4096), "empty");
  const auto end = std::ranges::find(code, "s_endpgm");
  EXPECT_EQ(end - code.begin(), 0);
}

struct MatrixRow {
  OperationId operation;
  std::vector<std::string> targets;
};
const MatrixRow kMatrixRows[] = {
    {OperationId::kMfmaF32F16, {"gfx908", "gfx90a", "gfx942", "gfx950"}},
    {OperationId::kMfmaF32Bf16, {"gfx90a", "gfx942", "gfx950"}},
    {OperationId::kMfmaSmallF32Bf16, {"gfx908", "gfx90a"}},
    {OperationId::kMfmaF32F32, {"gfx908", "gfx90a", "gfx942", "gfx950"}},
    {OperationId::kMfmaF32E4m3, {"gfx942", "gfx950"}},
    {OperationId::kMfmaS32S8, {"gfx908", "gfx90a"}},
    {OperationId::kMfmaWideS32S8, {"gfx942", "gfx950"}},
    {OperationId::kMfmaF64, {"gfx90a", "gfx942", "gfx950"}},
};

// Each on the targets that have it, with as many chains as a probe runs.
TEST_P(HipCode, MatricesAreChained) {
  std::vector<launch::OperationShape> shapes;
  for (const MatrixRow& row : kMatrixRows) {
    if (std::ranges::find(row.targets, target().name) == row.targets.end()) continue;
    shapes.push_back({row.operation});
    shapes.push_back({.operation = row.operation, .streams = 4});
  }
  if (shapes.empty()) GTEST_SKIP() << target().name << " has no matrix unit";
  compile(generate_operation_source(target(), shapes));
  for (const launch::OperationShape& shape : shapes) {
    const std::vector<std::string> code = disassembled(shape.kernel_name());
    const auto found = std::ranges::count_if(code, [](const std::string& line) { return line.starts_with("v_mfma_"); });
    EXPECT_EQ(static_cast<std::uint32_t>(found), shape.operations()) << shape.kernel_name();
    const bool spills = std::ranges::any_of(code, [](const std::string& line) { return line.starts_with("scratch_"); });
    EXPECT_FALSE(spills) << shape.kernel_name();
  }
}

std::string compiled_by(Compiler compiler) { return compiler == Compiler::kHiprtc ? "Hiprtc" : ""; }

INSTANTIATE_TEST_SUITE_P(EveryTarget, HipCode,
                         ::testing::Combine(::testing::ValuesIn(gfx_targets()),
                                            ::testing::Values(Compiler::kClang, Compiler::kHiprtc)),
                         [](const auto& test) {
                           return std::get<GfxTarget>(test.param).name + compiled_by(std::get<Compiler>(test.param));
                         });

// The check of reading_without_wait on the source, independent of how a compiler arranges the surrounding code.
TEST(GfxTargets, ReadingsOfClocksWaitForScalarLoadsFirst) {
  for (const GfxTarget& target : gfx_targets()) {
    std::vector<std::string> sources = {generate_chase_source(target), generate_access_source(target),
                                        generate_code_source(target)};
    for (const StreamShape& shape : stream_shapes()) sources.push_back(generate_stream_source(target, shape));
    for (const std::string& source : sources) {
      int readings = 0;
      for (std::size_t at = 0; (at = source.find("s_mem", at)) != std::string::npos; ++at) {
        const std::size_t statement = source.rfind("asm volatile(", at);
        const std::string before = source.substr(statement, at - statement);
        EXPECT_THAT(before, ::testing::HasSubstr("lgkmcnt(0)")) << source.substr(statement, 200);
        ++readings;
      }
      EXPECT_GE(readings, 2) << target.name;  // of clock() and wall_clock()
    }
  }
}

TEST(GfxTargets, AreThoseOfCdnaAndVega20) {
  std::vector<std::string> names;
  for (const GfxTarget& target : gfx_targets()) names.push_back(target.name);
  EXPECT_THAT(names, ElementsAre("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"));
  EXPECT_EQ(gfx_target("gfx90a:sramecc+:xnack-").name, "gfx90a");
}

// Checks of one target thus hold for the other if no installed compiler knows it.
TEST(GfxTargets, Gfx950RunsTheKernelsOfGfx942) {
  EXPECT_EQ(generate_access_source(gfx_target("gfx950")), generate_access_source(gfx_target("gfx942")));
  EXPECT_EQ(generate_code_source(gfx_target("gfx950")), generate_code_source(gfx_target("gfx942")));
  EXPECT_EQ(generate_chase_source(gfx_target("gfx950")), generate_chase_source(gfx_target("gfx942")));
  for (const StreamShape& shape : stream_shapes()) {
    EXPECT_EQ(generate_stream_source(gfx_target("gfx950"), shape), generate_stream_source(gfx_target("gfx942"), shape));
  }
}

// The bits in the source text, from the instruction set references of MI100, MI200 and MI300.
TEST(GfxTargets, LoadsPastVl1CarryTheBitsOfTheirInstructionSet) {
  for (const GfxTarget& target : gfx_targets()) {
    SCOPED_TRACE(target.name);
    const bool gfx94x = target.name == "gfx942" || target.name == "gfx950";
    const std::string bypass = gfx94x ? "sc1" : "glc";
    const std::string foreign = gfx94x ? " glc" : " sc";
    for (const std::string& source :
         {generate_chase_source(target), generate_access_source(target), generate_code_source(target),
          generate_stream_source(target, {.space = Space::kGlobalBypassL1})}) {
      EXPECT_THAT(source, ::testing::HasSubstr(bypass + "\\n"));
      EXPECT_EQ(source.find(foreign + "\\n"), std::string::npos);
      EXPECT_EQ(source.find(foreign + "0\\n"), std::string::npos);
    }
    EXPECT_THAT(generate_access_source(target),
                ::testing::HasSubstr(std::string("global_atomic_add %[value], %[link], %[value], off ") +
                                     (gfx94x ? "sc0" : "glc")));
  }
}

}  // namespace
}  // namespace gputopo::hip
