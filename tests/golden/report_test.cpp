// Reports against files in expected/. GPUTOPO_UPDATE_GOLDEN=1 rewrites those.
#include "gputopo/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/command.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(GPUTOPO_SOURCE_DIR "/tests/golden/expected/") + name;
  if (std::getenv("GPUTOPO_UPDATE_GOLDEN") != nullptr) {
    write_file(path, text);
    return;
  }
  EXPECT_EQ(text, read_file(path)) << "If this is meant: GPUTOPO_UPDATE_GOLDEN=1 ./dev test -L golden";
}

TEST(GoldenReport, Json) { expect_golden(to_json(test::sample_topology()), "sample.json"); }

TEST(GoldenReport, Terminal) { expect_golden(to_terminal(test::sample_topology(), {}), "sample.txt"); }

TEST(GoldenReport, NarrowTerminal) {
  expect_golden(to_terminal(test::sample_topology(), {60, false, false}), "sample_60.txt");
}

TEST(GoldenReport, ColourAndUnicode) {
  expect_golden(to_terminal(test::sample_topology(), {100, true, true}), "sample_colour.txt");
}

TEST(GoldenReport, Coverage) { expect_golden(coverage_table(), "coverage.txt"); }

TEST(GoldenReport, Help) {
  expect_golden(test::run_command(GPUTOPO_BINARY " --help").out, "help.txt");
  expect_golden(test::run_command(GPUTOPO_BINARY " discover --help").out, "help_discover.txt");
}

}  // namespace
}  // namespace gputopo
