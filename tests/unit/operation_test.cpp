// The rows of operations.def, and the kernels made from them.
#include "gputopo/operation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/operation_ptx.h"
#include "device/launch/operation_layout.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

using launch::OperationShape;
using testing::HasSubstr;
using testing::Not;

constexpr cuda::PtxTarget kHopper{7, 8, 90};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The loop body of the `index`-th kernel, between its label and the branch back.
std::string pass_of(const std::string& ptx, std::size_t index) {
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) at = ptx.find("ROUND:\n", at + 1);
  return ptx.substr(at, ptx.find("bra ROUND;", at) - at);
}

TEST(Operations, WhoseRegistersAreInMemoryAreNotTimed) {
  const OperationShape sparse{OperationId::kMmaSparseF32E4m3};
  EXPECT_THAT(launch::refusal_of_spills(sparse, 2016), HasSubstr("spills 2016 B of registers per lane"));
  EXPECT_EQ(launch::refusal_of_spills(sparse, 0), "");
  // A few spills around the rounds are allowed.
  EXPECT_EQ(launch::refusal_of_spills(sparse, 60), "");
  EXPECT_EQ(launch::refusal_of_spills(OperationShape{OperationId::kMmaF32F16}, 60), "");
}

TEST(Operations, OfSparseMatricesSelectInOrderWherePtxCanSaySo) {
  const OperationShape shapes[] = {{OperationId::kMmaSparseF32F16}, {OperationId::kWgmmaSparseF32F16}};
  const std::string ptx = cuda::generate_operation_ptx({8, 7, 90, true}, shapes);
  EXPECT_EQ(count(ptx, "mma.sp::ordered_metadata.sync.aligned."), 512u);
  EXPECT_EQ(count(ptx, " mma.sp.sync"), 0u);
  EXPECT_EQ(count(ptx, "wgmma.mma_async.sp.sync.aligned."), 64u);
  const std::string old_ptx = cuda::generate_operation_ptx({8, 4, 90, true}, shapes);
  EXPECT_EQ(count(old_ptx, "mma.sp.sync.aligned."), 512u);
  EXPECT_THAT(old_ptx, Not(HasSubstr("ordered_metadata")));
}

// Otherwise the compiler moves the conversion of a constant factor out of the loop.
TEST(Operations, OfFewBitsMultiplyByAResult) {
  const OperationShape shapes[] = {{OperationId::kMmaSmallF32E4m3}};
  const std::string ptx = cuda::generate_operation_ptx({8, 7, 90}, shapes);
  EXPECT_EQ(count(pass_of(ptx, 1), "{%x0_0_0, %x0_0_1, %x0_0_2, %x0_0_3}, {%x0_0_0, %x0_0_1}, {%c0}, "), 8u);
}

TEST(Operations, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const OperationInfo& operation : operation_catalogue()) {
    EXPECT_TRUE(names.insert(operation.name).second) << operation.name;
    EXPECT_FALSE(operation.title.empty()) << operation.name;
    EXPECT_GE(operation.arithmetic, 1u) << operation.name;
    EXPECT_EQ(find_operation(operation.name), &info_of(operation.id));
    EXPECT_EQ(to_string(operation.id), operation.name);
  }
  EXPECT_GT(names.size(), 100u);
  EXPECT_EQ(find_operation("fma"), nullptr);
}

// In a chain, each operation reads the previous result and writes a result.
TEST(Operations, WaitForTheOneBefore) {
  for (const OperationInfo& operation : operation_catalogue()) {
    if (operation.ptx.empty()) {
      EXPECT_FALSE(operation.cdna.empty()) << operation.name;
      EXPECT_THAT(std::string(operation.cdna), HasSubstr("$x")) << operation.name;
      continue;
    }
    // Operations of several warps accumulate into their result.
    const char* before = warps_per_operation(operation.type) > 1 ? "$d" : "$x";
    EXPECT_THAT(std::string(operation.ptx), HasSubstr(before)) << operation.name;
    EXPECT_THAT(std::string(operation.ptx), HasSubstr("$d")) << operation.name;
    EXPECT_EQ(operation.ptx.back(), ';') << operation.name;
    // Operations of a whole wavefront or of all blocks have no result to wait for.
    if (operation.cdna.empty() || operation.of == OperationClass::kControl) continue;
    if (operation.of == OperationClass::kSeveralSms) continue;
    EXPECT_THAT(std::string(operation.cdna), HasSubstr("$x")) << operation.name;
    EXPECT_THAT(std::string(operation.cdna), HasSubstr("$d")) << operation.name;
  }
}

// Instructions of a pass besides the operations: two of the loop, two that may leave it between two rounds, and those
// that wait for asynchronous operations.
std::size_t around_operations(const OperationShape& shape) {
  const OperandType type = info_of(shape.operation).type;
  if (type == OperandType::kTensorMemory) return 7;
  return warps_per_operation(type) > 1 ? 5 : 2 * cuda::rounds_of_pass(shape);
}

TEST(OperationKernels, HoldEachOperationOfARound) {
  for (const OperationInfo& operation : operation_catalogue()) {
    if (operation.ptx.empty()) continue;
    const OperationShape shape{.operation = operation.id};
    const std::string ptx = cuda::generate_operation_ptx(kHopper, std::vector{shape});
    EXPECT_THAT(ptx, HasSubstr(fmt::format(".visible .entry {}(", shape.kernel_name())));
    EXPECT_THAT(ptx, Not(HasSubstr("$"))) << operation.name;
    // A pass has the instructions of its operations, those of the loop, and a fence for asynchronous operations.
    const std::string form(operation.ptx);
    const std::string pass = pass_of(ptx, 1);
    EXPECT_EQ(count(pass, ";") - 1,
              cuda::rounds_of_pass(shape) * shape.operations() * count(form, ";") + around_operations(shape))
        << operation.name;
  }
}

TEST(OperationKernels, ChainEachOperationToTheOneBefore) {
  const std::string ptx = cuda::generate_operation_ptx(kHopper, std::vector{OperationShape{OperationId::kAddS32}});
  const std::string pass = pass_of(ptx, 1);
  EXPECT_THAT(pass, HasSubstr("add.s32 %x0_0, %x0_3, %x0_0;\nadd.s32 %x0_1, %x0_0, %x0_1;\n"));
  EXPECT_EQ(count(pass, "add.s32 %x0_3, %x0_2, %x0_3;\nadd.s32 %x0_0, %x0_3, %x0_0;"), 2 * 127u);
}

TEST(OperationKernels, LetTwoOperationsTakeTurns) {
  const OperationShape shape{OperationId::kFmaF32, OperationId::kMulHiU64, 2};
  EXPECT_EQ(shape.kernel_name(), "operation_fma_f32_mul_hi_u64_2");
  const std::string ptx = cuda::generate_operation_ptx(kHopper, std::vector{shape});
  EXPECT_THAT(pass_of(ptx, 1), HasSubstr("fma.rn.f32 %x0_0, %x0_3, %a0, %a0;\nmul.hi.u64 %x1_0, %x1_3, %x1_0;\n"
                                         "fma.rn.f32 %x0_1, %x0_0, %a0, %a0;"));
  EXPECT_THAT(ptx, HasSubstr(".reg .b32 %x0_3;"));
  EXPECT_THAT(ptx, HasSubstr(".reg .b64 %x1_0;"));
}

TEST(OperationKernels, AreAllOfOneModule) {
  const std::vector<OperationShape> shapes = {{OperationId::kFmaF32}, {OperationId::kDivF64}, {OperationId::kPopcB32}};
  const std::string ptx = cuda::generate_operation_ptx(kHopper, shapes);
  EXPECT_EQ(count(ptx, ".visible .entry"), 4u);
  EXPECT_EQ(count(ptx, ".version"), 1u);
}

TEST(OperationOperands, AreNumbersOfTheType) {
  const auto of = [](OperationId id) { return launch::operands_of(OperationProgram{.operation = id}).front(); };
  EXPECT_EQ(of(OperationId::kFmaF32).chain[0], 0x3fc00000u);          // 1.5
  EXPECT_EQ(of(OperationId::kFmaF64).fixed[0], 0x3ff0000000000000u);  // 1
  EXPECT_EQ(of(OperationId::kFmaF16).fixed[1], 0x3400u);              // 0.25
  EXPECT_EQ(of(OperationId::kFmaF16x2).fixed[2], 0x38003800u);        // 0.5, twice
  EXPECT_EQ(of(OperationId::kFmaBf16x2).chain[1], 0x3fa03fa0u);       // 1.25, twice
  EXPECT_EQ(of(OperationId::kAddS32).chain[0] >> 32, 0u);
  EXPECT_NE(of(OperationId::kAddS64).chain[0] >> 32, 0u);
  EXPECT_EQ(of(OperationId::kShlB32).one, 1u);
}

TEST(OperationPrograms, AreRefusedWhereTheyMayTakeTooLong) {
  EXPECT_NO_THROW(launch::check_duration({.operation = OperationId::kFmaF32, .warps = 32, .rounds = 100}));
  EXPECT_THROW(launch::check_duration({.operation = OperationId::kFmaF32, .warps = 32, .rounds = 1u << 16}),
               UsageError);
}

}  // namespace
}  // namespace gputopo
