#include <gtest/gtest.h>

#include "report/words/units.h"

namespace gputopo::report {
namespace {

TEST(Units, SignificantDigitsWithoutExponent) {
  EXPECT_EQ(significant(34.25, 4), "34.25");
  EXPECT_EQ(significant(34.0, 4), "34");
  EXPECT_EQ(significant(999.7, 3), "1000");
  EXPECT_EQ(significant(0.0512, 2), "0.051");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(123456, 3), "123456");
}

TEST(Units, BytesAreBinary) {
  EXPECT_EQ(human_bytes(128), "128 B");
  EXPECT_EQ(human_bytes(2112), "2112 B");
  EXPECT_EQ(human_bytes(2048), "2 KiB");
  EXPECT_EQ(human_bytes(196608), "192 KiB");
  EXPECT_EQ(human_bytes(62914560), "60 MiB");
  EXPECT_EQ(human_bytes(150754820096.0), "140.4 GiB");
}

TEST(Units, BandwidthIsDecimal) {
  EXPECT_EQ(human_bandwidth(4.612e12), "4.61 TB/s");
  EXPECT_EQ(human_bandwidth(9.3e11), "930 GB/s");
}

TEST(Units, ValuesOfEveryKind) {
  EXPECT_EQ(human_value(std::int64_t{1980}, "MHz"), "1980 MHz");
  EXPECT_EQ(human_value(34.123456, "cycles"), "34.12 cycles");
  EXPECT_EQ(human_value(true, ""), "yes");
  EXPECT_EQ(human_value(std::string("9.0"), ""), "9.0");
  EXPECT_EQ(human_value(std::vector<std::string>{"texture", "readonly"}, ""), "texture, readonly");
  EXPECT_EQ(human_value(std::vector<double>{1024, 8192}, "B"), "1 KiB, 8 KiB");
  EXPECT_EQ(human_value(std::monostate{}, "B"), "-");
}

}  // namespace
}  // namespace gputopo::report
