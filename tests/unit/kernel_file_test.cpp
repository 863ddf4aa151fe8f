// Kernel files: their fields, and errors that name the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/error.h"
#include "kernel_model/kernel.h"
#include "support/message_of.h"

namespace gputopo::kernel_model {
namespace {

using ::testing::HasSubstr;

TEST(KernelFile, MayHaveAllFields) {
  const Kernel kernel = read_kernel(R"({"comment": "of a test", "name": "k", "grid_blocks": 7, "block_threads": 96,
    "registers_per_thread": 40, "shared_bytes_per_block": 1024, "ilp": 2, "barriers": 3,
    "instructions": {"fma.f32": 10, "add.s32": 2.5, "other": 4},
    "memory": [{"level": "l2", "access": "load", "count": 5, "bytes": 8, "in_flight": 4, "transactions": 32},
               {"level": "shared", "access": "store", "count": 1, "bytes": 4}]})");
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.grid_blocks, 7u);
  EXPECT_EQ(kernel.block_threads, 96u);
  EXPECT_EQ(kernel.registers_per_thread, 40u);
  EXPECT_EQ(kernel.shared_bytes_per_block, 1024u);
  EXPECT_EQ(kernel.ilp, 2);
  EXPECT_EQ(kernel.barriers, 3);
  EXPECT_EQ(kernel.other_instructions, 4);
  ASSERT_EQ(kernel.operations.size(), 2u);
  EXPECT_EQ(kernel.operations[1].operation, OperationId::kAddS32);
  EXPECT_EQ(kernel.operations[1].count, 2.5);
  ASSERT_EQ(kernel.memory.size(), 2u);
  EXPECT_EQ(kernel.memory[0].level, ElementId::kL2);
  EXPECT_FALSE(kernel.memory[0].is_store);
  EXPECT_EQ(kernel.memory[0].in_flight, 4);
  EXPECT_EQ(kernel.memory[0].transactions, 32);
  EXPECT_TRUE(kernel.memory[1].is_store);
  EXPECT_FALSE(kernel.memory[1].transactions);
}

TEST(KernelFile, NeedsTheGridAndTheBlockOnly) {
  const Kernel kernel = read_kernel(R"({"grid_blocks": 1, "block_threads": 1})");
  EXPECT_EQ(kernel.name, "kernel");
  EXPECT_FALSE(kernel.registers_per_thread);
  EXPECT_EQ(kernel.ilp, 1);
}

TEST(KernelFile, SaysWhatIsWrongAndWhere) {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "invalid JSON at line 1, column 1"},
      {"{\"grid_blocks\": 1,\n  block_threads: 1}", "invalid JSON at line 2"},
      {"[]", "the kernel is not an object"},
      {"{}", "the kernel has no 'grid_blocks'"},
      {R"({"grid_blocks": 1})", "the kernel has no 'block_threads'"},
      {R"({"grid_blocks": 0, "block_threads": 1})", "'grid_blocks' must be a whole number from 1 to"},
      {R"({"grid_blocks": 1.5, "block_threads": 1})", "'grid_blocks' must be a whole number"},
      {R"({"grid_blocks": -1, "block_threads": 1})", "'grid_blocks' must be a whole number"},
      {R"({"grid_blocks": 1e99, "block_threads": 1})", "'grid_blocks' must be a whole number"},
      {R"({"grid_blocks": 1e999, "block_threads": 1})", "a number that is too large at line 1"},
      {R"({"grid_blocks": 1, "grid_blocks": 1})", "'grid_blocks' twice"},
      {R"({"grid_blocks": 1, "block_threads": null})", "'block_threads' must be a whole number"},
      {R"({"grid_blocks": 1, "block_threads": 1, "blocks": 1})",
       "'blocks' is not a known field; the fields here are barriers,"},
      {R"({"grid_blocks": 1, "block_threads": 1, "name": 5})", "'name' must be a string"},
      {R"({"grid_blocks": 1, "block_threads": 1, "ilp": 0})", "'ilp' must be a number from 1 to"},
      {R"({"grid_blocks": 1, "block_threads": 1, "barriers": "two"})", "'barriers' must be a number from 0"},
      {R"({"grid_blocks": 1, "block_threads": 1, "instructions": []})", "'instructions' is not an object"},
      {R"({"grid_blocks": 1, "block_threads": 1, "instructions": {"fma": 1}})",
       "'instructions.fma' is neither an operation of gputopo"},
      {R"({"grid_blocks": 1, "block_threads": 1, "instructions": {"fma.f32": -1}})",
       "'instructions.fma.f32' must be a number from 0"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": {}})", "'memory' is not a list"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [7]})", "'memory[0]' is not an object"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{}]})", "'memory[0]' has no 'level'"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{"level": "l9"}]})",
       "'memory[0].level' must be one of l1,"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{"level": "tlb_l1"}]})",
       "'memory[0].level' must be one of"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{"level": "l2", "access": "atomic"}]})",
       "'memory[0].access' must be \"load\" or \"store\""},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{"level": "l2", "count": 1}]})",
       "'memory[0]' has no 'bytes'"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{"level": "l2", "count": 1, "bytes": 4, "lines": 2}]})",
       "'memory[0].lines' is not a known field"},
      {R"({"grid_blocks": 1, "block_threads": 1, "memory": [{"level": "l2", "count": 1, "bytes": 4, "in_flight": 0}]})",
       "'memory[0].in_flight' must be a number from 1"},
      {R"({"grid_blocks": 1, "block_threads": 1, "name": ")" + std::string(300, 'x') + "\"}", "'name' is longer than"},
      {std::string(100, '['), "nested lists and objects"},
  };
  for (const auto& [text, message] : wrong) {
    EXPECT_THAT(test::message_of<FormatError>(text, [&] { static_cast<void>(read_kernel(text)); }), HasSubstr(message));
  }
}

}  // namespace
}  // namespace gputopo::kernel_model
