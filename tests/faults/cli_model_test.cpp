// `gputopo model` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/model_report.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kWithoutRegisters = GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";
const std::string kExamples = GPUTOPO_SOURCE_DIR "/examples/kernels/";

CommandResult model(const std::string& arguments) { return test::run_command(GPUTOPO_BINARY " model " + arguments); }

class CliModel : public ::testing::Test {
 protected:
  CliModel() { write_file(report_, to_json(test::model_report())); }
  TemporaryFolder folder_;
  std::string report_ = folder_.file("report.json");
};

TEST_F(CliModel, PredictsEachExample) {
  for (const auto& [example, bound] :
       {std::pair("stream_copy", "bandwidth of device"), std::pair("stencil", "memory latency"),
        std::pair("matrix_multiply", "instruction issue")}) {
    const std::string kernel = kExamples + example + ".json";
    const CommandResult text = model(report_ + " --kernel " + kernel);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("predicted: "), HasSubstr("MWP"), HasSubstr("roofline")));
    const CommandResult json = model(report_ + " --json --kernel - < " + kernel);
    EXPECT_EQ(json.exit_code, 0) << json.err;
    const auto document = nlohmann::json::parse(json.out);
    EXPECT_THAT(document.at("bounds").at(0).at("name").get<std::string>(), HasSubstr(bound)) << text.out;
  }
}

TEST_F(CliModel, NamesWhatTheReportLacks) {
  const CommandResult result = model(kWithoutRegisters + " --kernel " + kExamples + "stream_copy.json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("h200.json': the model of this kernel needs registers.register_allocation_unit"),
                    HasSubstr("gputopo --only registers.register_allocation_unit")));
}

TEST_F(CliModel, SaysWhereAKernelFileIsWrong) {
  const std::string kernel = folder_.file("kernel.json");
  write_file(kernel, "{\"grid_blocks\": 1,\n \"block_threads\": 1,\n \"memory\": [{\"level\": 3}]}");
  const CommandResult result = model(report_ + " --kernel " + kernel);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("kernel.json': 'memory[0].level' must be a string"));
  EXPECT_EQ(model(report_ + " --kernel " + folder_.file("none.json")).exit_code, 1);
  EXPECT_THAT(model(report_ + " --kernel /dev/zero").err, HasSubstr("not a regular file"));
}

TEST_F(CliModel, RefusesAWrongCommandLine) {
  for (const std::string& arguments :
       {report_, "--kernel " + kExamples + "stencil.json", std::string("- --kernel -")}) {
    const CommandResult result = model(arguments + " < /dev/null");
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_THAT(result.out, IsEmpty()) << arguments;
  }
}

}  // namespace
}  // namespace gputopo
