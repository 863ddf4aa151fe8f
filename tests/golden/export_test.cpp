// The formats of other tools against files in expected/: of the saved reports of tests/reports.
#include "gputopo/export.h"

#include <gtest/gtest.h>

#include "gputopo/report.h"
#include "support/golden.h"

namespace gputopo {
namespace {

using test::expect_golden;

class GoldenExports : public ::testing::TestWithParam<std::string> {
 protected:
  static Topology load() { return read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/" + GetParam() + ".json")); }
};

TEST_P(GoldenExports, Mt4gJson) { expect_golden(to_mt4g_json(load()), GetParam() + "_mt4g.json"); }

TEST_P(GoldenExports, HwlocXml) { expect_golden(to_hwloc_xml(load()), GetParam() + "_hwloc.xml"); }
TEST_P(GoldenExports, HwlocAnnotate) { expect_golden(to_hwloc_annotate(load()), GetParam() + "_hwloc.sh"); }

INSTANTIATE_TEST_SUITE_P(Reports, GoldenExports, ::testing::Values("h200", "gt200", "mi300x"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace gputopo
