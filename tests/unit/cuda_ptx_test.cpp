// The PTX generators: targets and versions. If NVIDIA's assembler is installed, every kernel must assemble for every
// target that it knows, without register spills, and the machine code must keep the order on which the timing depends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "device/cuda/access_ptx.h"
#include "device/cuda/chase_ptx.h"
#include "device/cuda/cluster_ptx.h"
#include "device/cuda/code_ptx.h"
#include "device/cuda/kernel_layout.h"
#include "device/cuda/launch_ptx.h"
#include "device/cuda/machine_code.h"
#include "device/cuda/occupancy_ptx.h"
#include "device/cuda/operation_ptx.h"
#include "device/cuda/stream_ptx.h"
#include "device/launch/access_kernels.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "operation/capability.h"
#include "support/command.h"
#include "support/compiled.h"

namespace gputopo::cuda {

// For GoogleTest, which otherwise prints the bytes of each target whenever the program starts.
void PrintTo(const PtxTarget& target, std::ostream* out) { *out << "sm_" << target.sm; }

namespace {

using ::testing::HasSubstr;

TEST(PtxTarget, IsTheDevicesOwnWhereTheDriverKnowsIt) {
  EXPECT_EQ(choose_ptx_target(9, 0, 13000), (PtxTarget{7, 8, 90}));
  EXPECT_EQ(choose_ptx_target(3, 5, 9000), (PtxTarget{6, 0, 35}));
  EXPECT_EQ(choose_ptx_target(7, 5, 11000), (PtxTarget{6, 3, 75}));
  EXPECT_EQ(choose_ptx_target(12, 0, 13000), (PtxTarget{8, 7, 120}));
}

TEST(PtxTarget, IsAnOlderOneForDevicesThatTheDriverOrWeDoNotKnow) {
  EXPECT_EQ(choose_ptx_target(9, 0, 11000), (PtxTarget{7, 0, 80}));
  EXPECT_EQ(choose_ptx_target(14, 0, 15000), (PtxTarget{8, 8, 121}));
  EXPECT_EQ(choose_ptx_target(7, 5, 9020), (PtxTarget{6, 1, 72}));
}

TEST(PtxTarget, IsNoneOfWhatNoGpuHas) {
  EXPECT_THROW(static_cast<void>(choose_ptx_target(2139062143, 0, 13000)), DeviceError);
  EXPECT_THROW(static_cast<void>(choose_ptx_target(9, 2139062143, 13000)), DeviceError);
  EXPECT_THROW(static_cast<void>(choose_ptx_target(-9, 0, 13000)), DeviceError);
}

TEST(PtxTarget, SaysWhatIsTooOld) {
  EXPECT_THROW(static_cast<void>(choose_ptx_target(3, 0, 11000)), NotSupportedError);
  try {
    static_cast<void>(choose_ptx_target(9, 0, 8000));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("driver too old: it supports CUDA 8.0"));
  }
}

TEST(PtxTarget, OfClustersNeedsHopperAndItsPtx) {
  EXPECT_EQ(cluster_target({7, 8, 90}, 12000), (PtxTarget{8, 0, 90}));
  EXPECT_EQ(cluster_target({8, 6, 100}, 13000), (PtxTarget{8, 6, 100}));
  EXPECT_THROW(static_cast<void>(cluster_target({7, 8, 89}, 13000)), NotSupportedError);
  EXPECT_THROW(static_cast<void>(cluster_target({7, 8, 90}, 11080)), NotSupportedError);
}

TEST(Ptx, HeaderFollowsTheTarget) {
  const std::string ptx = generate_chase_ptx({8, 6, 100});
  EXPECT_THAT(ptx, ::testing::StartsWith(".version 8.6\n.target sm_100\n.address_size 64\n"));
}

TEST(StreamShape, BodiesHoldWhatIsInFlight) {
  for (const std::uint32_t in_flight : {1u, 2u, 3u, 4u, 8u, 16u}) {
    const StreamShape shape{.loads_in_flight = in_flight};
    EXPECT_EQ(stream_body_accesses(shape) % in_flight, 0u);
    EXPECT_GE(stream_body_accesses(shape), 8u);
    EXPECT_EQ(stream_tile_bytes(shape), 1024u * 16 * stream_body_accesses(shape));
  }
  // With slices of one access per thread, the body needs as many passes as loads in flight.
  EXPECT_EQ(stream_body_passes({.loads_in_flight = 16, .slice_bytes = 16 * 1024}), 16u);
  EXPECT_EQ(stream_body_passes({.loads_in_flight = 4, .slice_bytes = 1 << 20}), 1u);
}

// ---- With the assembler ----

std::string ptxas() {
  static const std::string path = [] {
    const std::string toolkit = "/usr/local/cuda/bin/ptxas";
    if (access(toolkit.c_str(), X_OK) == 0) return toolkit;
    const std::string found = test::run_command("command -v ptxas").out;
    return found.substr(0, found.find('\n'));
  }();
  return path;
}

// For the names of tests, which otherwise show the bytes.
[[maybe_unused]] void PrintTo(const PtxTarget& target, std::ostream* out) { *out << "sm_" << target.sm; }

class Assembled : public ::testing::TestWithParam<PtxTarget> {
 protected:
  void SetUp() override {
    if (ptxas().empty()) GTEST_SKIP() << "ptxas is not installed";
    if (test::run_command(ptxas() + " --help").out.find("'compute_" + arch().substr(3) + "'") == std::string::npos) {
      GTEST_SKIP() << "this ptxas does not know " << arch();
    }
  }

  [[nodiscard]] std::string arch() const { return "sm_" + std::to_string(GetParam().sm); }

  // Registers of each assembled kernel.
  [[nodiscard]] const std::vector<int>& registers() const { return registers_; }

  // The target that the text names, such as "sm_90a".
  static std::string target_of(const std::string& ptx) {
    constexpr std::string_view kTarget = ".target ";
    const std::size_t first = ptx.find(kTarget) + kTarget.size();
    return ptx.substr(first, ptx.find('\n', first) - first);
  }

  // Returns the ELF file of the machine code. Fails the test if registers spill.
  std::string assemble(const std::string& ptx, bool may_spill = false, unsigned optimization = 3) {
    const std::string options = fmt::format("-v -O{} -arch={}", optimization, target_of(ptx));
    const test::Compiled assembled = test::compiled({ptxas(), options, ptx, ".ptx"});
    if (assembled.exit_code != 0) throw std::runtime_error(assembled.messages.substr(0, 2000));
    std::istringstream lines(assembled.messages);
    std::string entry;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("Compiling entry") != std::string::npos) entry = line;
      constexpr std::string_view kUsed = "Used ";
      if (const std::size_t used = line.find(kUsed); used != std::string::npos) {
        registers_.push_back(std::stoi(line.substr(used + kUsed.size())));
      }
      if (may_spill || line.find("spill stores") == std::string::npos) continue;
      EXPECT_THAT(line, HasSubstr(" 0 bytes spill stores, 0 bytes spill loads")) << entry;
    }
    return assembled.result;
  }

 private:
  std::vector<int> registers_;
};

std::vector<StreamShape> stream_shapes() {
  std::vector<StreamShape> shapes;
  for (const StreamOp op : {StreamOp::kRead, StreamOp::kWrite, StreamOp::kCopy}) {
    for (const Space space : kCudaSpaces) {
      if (space == Space::kLocal) continue;  // only chases use it
      const bool writable = space == Space::kGlobal || space == Space::kGlobalBypassL1 || space == Space::kShared;
      if (op != StreamOp::kRead && !writable) continue;
      for (const std::uint32_t vector : {4u, 8u, 16u}) {
        for (const std::uint32_t in_flight : {1u, 2u, 4u, 8u, 16u}) {
          // A shared array, less than a row of the block, a few rows and a part, more than one unrolled body.
          for (const std::uint64_t slice : {0u, 2048u, 40'000u, 1'500'000u}) {
            if (slice == 0 && (space == Space::kShared || space == Space::kConstant)) continue;
            if (slice > kConstantBankBytes && space == Space::kConstant) continue;
            shapes.push_back({op, space, vector, in_flight, 1024, slice});
          }
        }
      }
    }
  }
  return shapes;
}

// Some targets get the PTX and the instructions of 8.0, 10.0 or 12.0, for which everything is assembled. Returns the
// place of such a target among them.
std::optional<std::size_t> place_if_alike(const PtxTarget& target) {
  constexpr std::array kAlike = {86, 87, 103, 110, 121};
  const auto* const found = std::ranges::find(kAlike, target.sm);
  return found == kAlike.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - kAlike.begin()));
}

// For such a target a quarter of many kernels suffices to show that the assembler accepts them; each target gets
// another quarter.
template <typename T>
void keep_a_quarter_if_alike(std::vector<T>& kernels, const PtxTarget& target) {
  const std::optional<std::size_t> place = place_if_alike(target);
  if (!place) return;
  std::size_t index = *place;
  std::erase_if(kernels, [&](const T&) { return index++ % 4 != 0; });
}

const std::vector<PtxTarget> kTargets = {{6, 3, 75},  {7, 0, 80},  {7, 1, 86},  {7, 4, 87},  {7, 8, 89}, {7, 8, 90},
                                         {8, 6, 100}, {8, 8, 103}, {9, 0, 110}, {8, 7, 120}, {8, 8, 121}};

// Long kernels take seconds to assemble. There are two kinds, and each target like another gets one of them.
std::vector<PtxTarget> targets_of_long_kernels(std::size_t kind) {
  std::vector<PtxTarget> targets = kTargets;
  std::erase_if(targets, [kind](const PtxTarget& target) {
    const std::optional<std::size_t> place = place_if_alike(target);
    return place && *place % 2 != kind;
  });
  return targets;
}

std::string name_of_target(const ::testing::TestParamInfo<PtxTarget>& target) {
  return "sm_" + std::to_string(target.param.sm);
}

class AssembledCode : public Assembled {};
class AssembledJumps : public Assembled {};

// All shapes as kernels of one module, with the header of the first and a different name for each kernel.
TEST_P(Assembled, EveryStreamShape) {
  std::string module;
  int number = 0;
  std::vector<StreamShape> shapes = stream_shapes();
  keep_a_quarter_if_alike(shapes, GetParam());
  for (const StreamShape& shape : shapes) {
    std::string ptx = generate_stream_ptx(GetParam(), shape);
    const std::string entry = ".visible .entry stream(";
    const std::size_t at = ptx.find(entry);
    ASSERT_NE(at, std::string::npos);
    if (module.empty()) module = ptx.substr(0, at);
    std::string kernel = ptx.substr(at + entry.size());
    module += ".visible .entry stream_" + std::to_string(number++) + "(" + kernel;
  }
  assemble(module);
}

// ---- The machine code of the timed loops. ----
// NVIDIA documents no encoding. These are the low 12 bits of the 128-bit instructions of sm_75 to sm_110, with the
// names of nvdisasm.

constexpr unsigned kReadClock = 0x805;    // CS2R
constexpr unsigned kBranch = 0x947;       // BRA
constexpr unsigned kMultiplyAdd = 0x023;  // FFMA, in its lowest nine bits
constexpr unsigned kLocalLoad = 0x183;    // LDL and STL, in their lowest nine bits
constexpr unsigned kLocalStore = 0x187;
constexpr std::array kGlobalLoads = {0x381u, 0x981u};
constexpr std::array kTextureLoads = {0x361u, 0x367u, 0xf66u, 0xf60u, 0xb60u, 0xb66u, 0xd66u};
constexpr std::array kSharedLoads = {0x984u};
constexpr std::array kConstantLoads = {0xb82u};
constexpr std::array kGlobalStores = {0x386u, 0x986u};
constexpr std::array kSharedStores = {0x388u, 0x988u};
constexpr std::array kGlobalAtomics = {0x3a8u, 0x9a8u};
constexpr std::array kSharedAtomics = {0x38cu};
constexpr std::array kGenericLoads = {0x980u};  // also load another block's shared memory
constexpr std::array kBulkCopies = {0x3bau};
constexpr std::array kBarrierTests = {0x5a7u};
constexpr unsigned kUniformBranch =
    0x547;  // BRA.U of sm_100, whose condition is not the predicate of other instructions

constexpr unsigned kEvent = 0x801;  // PMTRIG
constexpr unsigned kXor = 0x012;    // LOP3, in its lowest nine bits
constexpr unsigned kXorOfConstant = 0xa12;
constexpr std::array kConstantsOfWarps = {0xab9u, 0x7acu};  // ULDC, LDCU

struct MachineInstruction {
  unsigned opcode;
  bool predicated;
  std::uint64_t word;  // low half
};

template <typename T>
T read_at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// The code of a kernel in an ELF file.
std::vector<MachineInstruction> instructions_of(const std::string& bytes, const std::string& kernel) {
  const auto sections = read_at<std::uint64_t>(bytes, 0x28);
  const auto count = read_at<std::uint16_t>(bytes, 0x3c);
  const auto names_section = read_at<std::uint16_t>(bytes, 0x3e);
  const auto names = read_at<std::uint64_t>(bytes, sections + 64u * names_section + 0x18);
  std::vector<MachineInstruction> code;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t section = sections + 64u * i;
    if (".text." + kernel != bytes.c_str() + names + read_at<std::uint32_t>(bytes, section)) continue;
    const auto start = read_at<std::uint64_t>(bytes, section + 0x18);
    const auto size = read_at<std::uint64_t>(bytes, section + 0x20);
    for (std::uint64_t at = start; at < start + size; at += 16) {
      const auto word = read_at<std::uint64_t>(bytes, at);
      code.push_back({static_cast<unsigned>(word & 0xfff), (word >> 12 & 0xf) != 7, word});
    }
  }
  return code;
}

template <std::size_t N>
bool contains(const std::array<unsigned, N>& set, unsigned opcode) {
  return std::find(set.begin(), set.end(), opcode) != set.end();
}

constexpr const char* kOtherClock = "assembled, but it reads the clock with instructions that this test does not know";

// Number of loads of each kind between two clock readings that belong to them.
std::map<std::string, int> timed_loads(const std::vector<MachineInstruction>& code) {
  std::map<std::string, int> timed;
  std::size_t previous = code.size();
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].opcode != kReadClock) continue;
    // Two clock readings this close belong to one load.
    constexpr std::size_t kLongestTimedCode = 16;
    if (previous < i && i - previous < kLongestTimedCode) {
      std::vector<std::string> loads;
      for (std::size_t j = previous + 1; j < i; ++j) {
        if (contains(kGlobalLoads, code[j].opcode)) loads.emplace_back("global");
        if (contains(kTextureLoads, code[j].opcode)) loads.emplace_back("texture");
        if (contains(kSharedLoads, code[j].opcode)) loads.emplace_back("shared");
        if (contains(kConstantLoads, code[j].opcode)) loads.emplace_back("constant");
        if ((code[j].opcode & 0x1ff) == kLocalLoad) loads.emplace_back("local");
      }
      if (!loads.empty()) {
        EXPECT_EQ(loads.size(), 1u) << "at instruction " << i;
        ++timed[loads[0]];
        // The second reading follows a branch on the loaded value.
        EXPECT_EQ(code[i - 1].opcode, kBranch) << "at instruction " << i;
        EXPECT_TRUE(code[i - 1].predicated) << "at instruction " << i;
      }
    }
    previous = i;
  }
  return timed;
}

TEST_P(Assembled, ChaseKernelsTimeOneLoadAndWaitForIt) {
  const std::string elf = assemble(generate_chase_ptx(GetParam()));
  if (GetParam().sm > 110) GTEST_SKIP() << kOtherClock;
  const std::vector<MachineInstruction> code = instructions_of(elf, "chase");
  ASSERT_GT(code.size(), 500u);
  const std::map<std::string, int> expected = {{"global", 7}, {"texture", 1}, {"shared", 1}, {"constant", 1}};
  EXPECT_EQ(timed_loads(code), expected);
}

// The array is in memory, not in registers: one load for each that the kernel writes, timed like the others.
TEST_P(Assembled, LocalChaseKernelsLoadFromLocalMemory) {
  const std::string elf = assemble(generate_local_chase_ptx(GetParam(), local_frame_bytes(kMaxLocalBytes)));
  if (GetParam().sm > 110) GTEST_SKIP() << kOtherClock;
  const std::vector<MachineInstruction> code = instructions_of(elf, "chase");
  const std::map<std::string, int> expected = {
      {"global", 7}, {"texture", 1}, {"shared", 1}, {"constant", 1}, {"local", 1}};
  EXPECT_EQ(timed_loads(code), expected);
  const auto count = [&](unsigned opcode) {
    return std::ranges::count_if(code, [&](const MachineInstruction& i) { return (i.opcode & 0x1ff) == opcode; });
  };
  EXPECT_EQ(count(kLocalLoad), 16 + 1 + 1) << "a pass of an untimed chain, what is left over, a timed load";
  EXPECT_GE(count(kLocalStore), 1);
}

// Every access chain is complete, and the clock reading behind it waits for its end.
TEST_P(Assembled, AccessKernelsKeepEveryAccess) {
  const std::string elf = assemble(generate_access_ptx(GetParam()));
  if (GetParam().sm > 110) GTEST_SKIP() << kOtherClock;
  const auto count = [](const std::vector<MachineInstruction>& code, const auto& opcodes) {
    return std::count_if(code.begin(), code.end(), [&](const auto& i) { return contains(opcodes, i.opcode); });
  };
  const auto is_there = [&](AccessOp op, Space space, const auto& opcodes) {
    const std::string kernel = launch::AccessKernel{op, space}.name();
    const std::vector<MachineInstruction> code = instructions_of(elf, kernel);
    EXPECT_GE(count(code, opcodes), kAccessUnroll) << kernel;
    constexpr std::uint32_t kOthers = 12;  // stores of records, readings of the common start
    EXPECT_LE(count(code, opcodes), kAccessUnroll + kOthers) << kernel;
    // A waiting branch precedes the second and the third of a chain's readings, with at most one instruction between.
    int waiting = 0;
    const auto branches = [&](std::size_t i) { return code[i].opcode == kBranch && code[i].predicated; };
    for (std::size_t i = 2; i < code.size(); ++i) {
      const bool waits = branches(i - 1) || branches(i - 2);
      waiting += code[i].opcode == kReadClock && waits ? 1 : 0;
    }
    EXPECT_GE(waiting, 2) << kernel;
  };
  is_there(AccessOp::kLoad, Space::kShared, kSharedLoads);
  is_there(AccessOp::kLoad, Space::kGlobal, kGlobalLoads);
  is_there(AccessOp::kLoad, Space::kGlobalBypassL1, kGlobalLoads);
  is_there(AccessOp::kStore, Space::kShared, kSharedStores);
  is_there(AccessOp::kStore, Space::kGlobalBypassL1, kGlobalStores);
  is_there(AccessOp::kStoreLoad, Space::kShared, kSharedStores);
  is_there(AccessOp::kStoreLoad, Space::kShared, kSharedLoads);
  is_there(AccessOp::kStoreLoad, Space::kGlobalBypassL1, kGlobalLoads);
  is_there(AccessOp::kAtomicAdd, Space::kShared, kSharedAtomics);
  is_there(AccessOp::kAtomicAdd, Space::kGlobalBypassL1, kGlobalAtomics);
}

// The loads of a chain are consecutive, without counted instructions between them. All loads of a read are there, and
// so are a copy and the tests of its barrier.
TEST_P(Assembled, ClusterKernelsKeepEveryAccess) {
  if (GetParam().sm < 90) GTEST_SKIP() << arch() << " has no clusters";
  const std::string elf = assemble(generate_cluster_ptx(cluster_target(GetParam(), 13000)));
  if (GetParam().sm > 110) GTEST_SKIP() << kOtherClock;
  const auto code_of = [&](ClusterOp op) { return instructions_of(elf, cluster_kernel_name(op)); };
  const auto count = [](const std::vector<MachineInstruction>& code, const auto& opcodes) {
    return std::count_if(code.begin(), code.end(), [&](const auto& i) { return contains(opcodes, i.opcode); });
  };
  const std::vector<MachineInstruction> chase = code_of(ClusterOp::kChase);
  EXPECT_EQ(count(chase, kGenericLoads), kClusterUnroll);
  const auto first =
      std::find_if(chase.begin(), chase.end(), [](const auto& i) { return i.opcode == kGenericLoads[0]; });
  constexpr std::ptrdiff_t kOthers = 4;  // the loop counter
  EXPECT_GE(std::count_if(first, first + kClusterUnroll + kOthers,
                          [](const auto& i) { return i.opcode == kGenericLoads[0]; }),
            kClusterUnroll);
  EXPECT_EQ(count(code_of(ClusterOp::kRead), kGenericLoads), kClusterUnroll);
  const std::vector<MachineInstruction> copy = code_of(ClusterOp::kBulkCopy);
  EXPECT_EQ(count(copy, kBulkCopies), 1);
  EXPECT_GE(count(copy, kBarrierTests), 2);
  for (const ClusterOp op : {ClusterOp::kChase, ClusterOp::kRead, ClusterOp::kBulkCopy}) {
    const std::vector<MachineInstruction> code = code_of(op);
    int waiting = 0;
    const auto branches = [&](std::size_t i) {
      return (code[i].opcode == kBranch && code[i].predicated) || code[i].opcode == kUniformBranch;
    };
    for (std::size_t i = 2; i < code.size(); ++i) {
      waiting += code[i].opcode == kReadClock && (branches(i - 1) || branches(i - 2)) ? 1 : 0;
    }
    EXPECT_GE(waiting, 2) << to_string(op);
  }
}

// The stretch is complete, contiguous and in order: blocks of arithmetic that end with one branch each.
TEST_P(AssembledCode, KernelsAreStraight) {
  const std::string elf = assemble(generate_code_ptx(GetParam()));
  constexpr std::size_t kBlocks = kMaxCodeBlocks;
  const std::uint64_t difference = code_bytes(elf, "code") - code_bytes(elf, "lead_code");
  constexpr std::size_t kShortBlocks = (kMaxCodeBehindLead + kCodeLeadInstructions) / kCodeBlockInstructions;
  EXPECT_NEAR(static_cast<double>(difference) / (kBlocks - kShortBlocks), 16.0 * kCodeBlockInstructions, 1.5);

  const std::vector<MachineInstruction> code = instructions_of(elf, "code");
  const auto is_multiply_add = [&](std::size_t i) { return (code[i].opcode & 0x1ff) == kMultiplyAdd; };
  std::size_t first = 0;
  while (first < code.size() && !is_multiply_add(first)) ++first;
  std::size_t blocks = 0;
  std::size_t others = 0;
  std::size_t last = first;
  for (std::size_t i = first; i < code.size(); ++i) {
    if (code[i].opcode == kBranch && code[i].predicated && is_multiply_add(i - 1)) ++blocks;
    if (is_multiply_add(i)) last = i;
  }
  for (std::size_t i = first; i <= last; ++i) others += is_multiply_add(i) ? 0 : 1;
  EXPECT_GE(blocks, kBlocks - 2);
  EXPECT_LE(last - first, kMaxCodeInstructions);
  EXPECT_LE(others, 2 * kBlocks) << "no more than a test and a branch in each block";
  // The code that times a pass and begins the next is right before the stretch, and its clock is the last one there.
  constexpr std::size_t kNear = 48;
  const auto reads_clock = [](const MachineInstruction& i) { return i.opcode == kReadClock; };
  EXPECT_TRUE(std::any_of(code.begin() + first - kNear, code.begin() + first, reads_clock));
}

// Index of the target of a branch at index `at`, in instructions.
std::size_t place_after(const MachineInstruction& branch, std::size_t at, const PtxTarget& target) {
  constexpr int kHopper = 90;
  std::int64_t words = static_cast<std::int64_t>(branch.word) >> 34;
  if (target.sm >= kHopper) words = words * 256 + static_cast<std::int64_t>(branch.word >> 16 & 0xff);
  return static_cast<std::size_t>(static_cast<std::int64_t>(at) + 1 + words / 4);
}

// All blocks are there and of similar length, and each jumps to the next in turn.
void expect_jumps_in_order(const std::string& elf, const PtxTarget& target) {
  const auto bytes_of = [&](const char* kernel) { return static_cast<double>(code_bytes(elf, kernel)); };
  const double block_bytes = (bytes_of("near_jumps") - bytes_of("few_near_jumps")) / (kMaxNearJumps - kFewNearJumps);
  EXPECT_GE(block_bytes, 16.0 * (kJumpInstructions + kNearJumpFiller) - 1);
  for (const CodeStepKind kind : {CodeStepKind::kNearJumps, CodeStepKind::kFarJumps}) {
    SCOPED_TRACE(to_string(kind));
    const std::vector<MachineInstruction> code = instructions_of(elf, std::string(to_string(kind)));
    std::vector<std::size_t> ends;  // ends of blocks, behind the code that is jumped over
    std::size_t fillers = 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].opcode != kEvent) continue;
      ++fillers;
      if (i + 1 == code.size() || code[i + 1].opcode != kEvent) ends.push_back(i + 1);
    }
    EXPECT_EQ(fillers, std::size_t{max_count(kind)} * jump_filler(kind));
    ASSERT_EQ(ends.size(), max_count(kind));
    const std::size_t least = kJumpInstructions + jump_filler(kind);
    std::size_t uneven = 0;
    std::size_t astray = 0;
    for (std::uint32_t jump = 0; jump + 1 < max_count(kind); ++jump) {
      const std::size_t place = place_of_jump(kind, jump);
      const std::size_t length = place == 0 ? least : ends[place] - ends[place - 1];
      if (length < least || length > least + 2) ++uneven;
      std::size_t at = ends[place] - jump_filler(kind) - 1;
      while (code[at].opcode != kBranch && code[at].opcode != kUniformBranch) --at;
      const auto goes_to = std::ranges::upper_bound(ends, place_after(code[at], at, target)) - ends.begin();
      if (goes_to != place_of_jump(kind, jump + 1)) ++astray;
    }
    EXPECT_EQ(astray, 0u);
    EXPECT_LE(uneven, 4u) << "but for some at either end";
  }
}

// All blocks are there and alike, one instruction longer than the alignments, and jump to the next of their alignment.
void expect_aligned_jumps(const std::string& elf, const PtxTarget& target) {
  const std::vector<MachineInstruction> code = instructions_of(elf, "aligned_jumps");
  std::vector<std::size_t> jumps;  // by place
  for (std::size_t i = 1; i < code.size(); ++i) {
    const bool is_block = (code[i - 1].opcode & 0x1ff) == kMultiplyAdd;
    if (is_block && (code[i].opcode == kBranch || code[i].opcode == kUniformBranch)) jumps.push_back(i);
  }
  ASSERT_EQ(jumps.size(), kAlignedBlocks);
  std::size_t uneven = 0;
  for (std::size_t i = 1; i < jumps.size(); ++i) uneven += jumps[i] - jumps[i - 1] == kAlignments + 1 ? 0 : 1;
  EXPECT_EQ(uneven, 0u);
  std::size_t astray = 0;
  for (std::uint32_t alignment = 0; alignment < kAlignments; ++alignment) {
    for (const std::uint32_t count : {kManyAlignedJumps, kFewAlignedJumps}) {
      for (std::uint32_t jump = 0; jump + 1 < count; ++jump) {
        const std::size_t at = jumps[place_of_aligned_jump(alignment, count, jump)];
        const std::size_t next = jumps[place_of_aligned_jump(alignment, count, jump + 1)];
        if (place_after(code[at], at, target) + kAlignedJumpInstructions - 1 != next) ++astray;
      }
    }
  }
  EXPECT_EQ(astray, 0u);
}

TEST_P(AssembledJumps, KernelsHaveAllBlocksInOrder) {
  const std::string elf = assemble(generate_jump_ptx(GetParam()));
  expect_jumps_in_order(elf, GetParam());
  SCOPED_TRACE("aligned");
  expect_aligned_jumps(elf, GetParam());
}

// Each operation takes one constant, whose address is in its code, either directly before it or in it.
TEST_P(Assembled, OperandKernelsTakeOneConstantForEachOperation) {
  const std::string elf = assemble(generate_operand_ptx(GetParam()));
  std::vector<unsigned> first;
  for (const CodeStepKind kind :
       {CodeStepKind::kApartOperands, CodeStepKind::kNearOperands, CodeStepKind::kCloseOperands}) {
    const std::vector<MachineInstruction> code = instructions_of(elf, std::string(to_string(kind)));
    std::size_t operations = 0;
    std::size_t loads = 0;
    std::size_t most_ahead = 0;
    for (const MachineInstruction& instruction : code) {
      if (contains(kConstantsOfWarps, instruction.opcode)) ++loads;
      if (instruction.opcode == kXorOfConstant) ++loads;
      if ((instruction.opcode & 0x1ff) == kXor) ++operations;
      if (operations > 0) most_ahead = std::max(most_ahead, loads - std::min(loads, operations));
    }
    EXPECT_GE(operations, kMaxOperands) << to_string(kind);
    EXPECT_GE(loads, kMaxOperands) << to_string(kind);
    constexpr std::size_t kOfTheKernel = 16;
    EXPECT_LE(most_ahead, kOfTheKernel) << "loads of constants were moved out of the stretch";
    std::vector<unsigned> opcodes;
    for (const MachineInstruction& instruction : code) opcodes.push_back(instruction.opcode);
    if (first.empty()) first = opcodes;
    EXPECT_EQ(opcodes, first) << "the same code but for the addresses";
  }
}

// Each value that a thread keeps takes a register besides those of the kernel; the compiler skips some numbers.
TEST_P(Assembled, OccupancyKernelsKeepTheirRegisters) {
  std::vector<std::uint32_t> counts(57);
  std::iota(counts.begin(), counts.end(), 8u);
  counts.push_back(kMaxOccupancyRegisters);
  assemble(generate_occupancy_ptx(GetParam(), counts));
  ASSERT_EQ(registers().size(), counts.size());
  std::vector<int> sorted = registers();
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    EXPECT_GT(sorted[i], static_cast<int>(counts[i]));
    EXPECT_LE(sorted[i], static_cast<int>(counts[i]) + 28);
  }
}

TEST_P(Assembled, EmptyKernelsTakeAsManyArgumentsAsTheyMay) {
  constexpr int kNewestDriver = 13000;
  const LaunchTarget target = launch_target(GetParam(), kNewestDriver);
  assemble(generate_empty_ptx(target.ptx, target.most_argument_bytes));
}

// Every operation becomes at least one instruction: the compiler merges or drops none.
TEST_P(Assembled, EveryOperation) {
  constexpr int kNewestDriver = 13000;
  constexpr double kLeastInstructions = 0.9;  // of an operation, as in the probe
  constexpr double kPadding = 8;
  // A part of a round already shows merged or dropped operations; one target gets whole rounds.
  const std::uint32_t most = GetParam().sm == 90 ? launch::OperationShape{}.operations() : 128;
  std::vector<launch::OperationShape> shapes;
  for (const OperationInfo& operation : operation_catalogue()) {
    const bool has_unit = operation.type == OperandType::kTensorMemory
                              ? has_tensor_memory(GetParam().sm)
                              : warps_per_operation(operation.type) == 1 || has_warpgroups(GetParam(), kNewestDriver);
    if (operation.first_sm <= GetParam().sm && has_unit && !operation.ptx.empty()) shapes.push_back({operation.id});
  }
  keep_a_quarter_if_alike(shapes, GetParam());
  shapes.push_back({OperationId::kFmaF32, OperationId::kMulHiU32, 2});
  const PtxTarget target = operation_target(GetParam(), kNewestDriver, true);
  const std::string elf = assemble(generate_operation_ptx(target, shapes, most), true, kOperationOptimization);
  const double frame = static_cast<double>(code_bytes(elf, kFrameKernel)) - 16.0 * kFrameOperations;
  for (const launch::OperationShape& shape : shapes) {
    const double bytes = (static_cast<double>(code_bytes(elf, shape.kernel_name())) - frame) / rounds_of_pass(shape);
    const double part = std::min(1.0, static_cast<double>(most) / shape.operations());
    EXPECT_GE((bytes / 16 + part * kPadding) / (part * shape.operations()), kLeastInstructions) << shape.kernel_name();
    // Spills are allowed around the rounds, which have at least 32 operations.
    const std::vector<MachineInstruction> code = instructions_of(elf, shape.kernel_name());
    const auto spills = std::ranges::count_if(code, [&](const MachineInstruction& instruction) {
      const unsigned opcode = instruction.opcode & 0x1ff;
      return opcode == kLocalLoad || opcode == kLocalStore;
    });
    // The device refuses few-bit matrix operations if each of them spills.
    const bool is_refused = is_matrix_of_few_bits(info_of(shape.operation).type) &&
                            static_cast<double>(spills) >= part * shape.operations();
    EXPECT_TRUE(spills < 16 || is_refused) << shape.kernel_name() << ": " << spills << " spills";
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, Assembled, ::testing::ValuesIn(kTargets), name_of_target);
INSTANTIATE_TEST_SUITE_P(EveryTarget, AssembledCode, ::testing::ValuesIn(targets_of_long_kernels(0)), name_of_target);
INSTANTIATE_TEST_SUITE_P(EveryTarget, AssembledJumps, ::testing::ValuesIn(targets_of_long_kernels(1)), name_of_target);

}  // namespace
}  // namespace gputopo::cuda
