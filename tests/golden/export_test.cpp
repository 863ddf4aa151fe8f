// Compares the formats of other tools with files in expected/, for the saved reports in tests/reports.
#include "gputopo/export.h"

#include <gtest/gtest.h>

#include "gputopo/report.h"
#include "support/golden.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::expect_golden;
using test::saved_report;

class GoldenExports : public ::testing::TestWithParam<std::string> {
 protected:
  static Topology load() { return saved_report(GetParam()); }
};

TEST_P(GoldenExports, Mt4gJson) { expect_golden(to_mt4g_json(load()), GetParam() + "_mt4g.json"); }

TEST_P(GoldenExports, HwlocXml) { expect_golden(to_hwloc_xml(load()), GetParam() + "_hwloc.xml"); }
TEST_P(GoldenExports, HwlocAnnotate) { expect_golden(to_hwloc_annotate(load()), GetParam() + "_hwloc.sh"); }

TEST_P(GoldenExports, RooflineCsv) { expect_golden(to_roofline_csv(load()), GetParam() + "_roofline.csv"); }
TEST_P(GoldenExports, Xla) { expect_golden(to_xla(load()), GetParam() + ".txtpb"); }
TEST_P(GoldenExports, Latex) { expect_golden(to_latex(load()), GetParam() + ".tex"); }

TEST(GoldenExport, Mt4gCsv) { expect_golden(to_mt4g_csv(saved_report("h200")), "h200_mt4g.csv"); }
TEST(GoldenExport, AccelSim) {
  for (const std::string name : {"h200", "gt200"}) expect_golden(to_accel_sim(saved_report(name)), name + ".accel_sim");
}

INSTANTIATE_TEST_SUITE_P(Reports, GoldenExports, ::testing::Values("h200", "gt200", "mi300x"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace gputopo
