// Compares the report of a measured node of two H100 with files in expected/.
#include "gputopo/node.h"

#include <gtest/gtest.h>

#include "gputopo/file.h"
#include "node/node_svg.h"
#include "report/html/page.h"
#include "support/golden.h"

namespace gputopo {
namespace {

using test::expect_golden;

std::string saved_text() { return read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h100x2.json"); }
NodeReport saved_node() { return read_node_json(saved_text()); }

TEST(GoldenNode, Text) { expect_golden(node_to_text(saved_node(), 80), "h100x2.txt"); }
TEST(GoldenNode, Html) {
  expect_golden(test::without_part(node_to_html(saved_node()), report::kPageScriptHash), "h100x2.html");
}
TEST(GoldenNode, Svg) { expect_golden(node::node_svg(saved_node()).text(), "h100x2.svg"); }

TEST(GoldenNode, JsonIsWrittenAsItWasRead) { EXPECT_EQ(node_to_json(saved_node()), saved_text()); }

}  // namespace
}  // namespace gputopo
