// Text for people. CMake also builds this file and src/file/sanitize.cpp with signed and with unsigned char, because
// char is unsigned in compilers for Arm.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "file/sanitize.h"

namespace gputopo {
namespace {

std::string utf8(std::uint32_t code) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)),
          byte(0x80 | (code & 0x3F))};
}

bool is_harmless(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control_character(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

TEST(Visible, EveryByteThatIsNoTextIsShownByItsNumber) {
  for (int byte = 0x80; byte <= 0xFF; ++byte) {
    const std::string alone(1, static_cast<char>(byte));
    char expected[8];
    std::snprintf(expected, sizeof expected, "\\x%02x", static_cast<unsigned>(byte));
    EXPECT_EQ(sanitized_line(alone), expected);
    EXPECT_EQ(sanitized_text("a" + alone + "b"), "a" + std::string(expected) + "b");
  }
}

TEST(Visible, EveryControlCharacterAndMarkOfDirectionIsShownByItsNumber) {
  EXPECT_EQ(sanitized_line("\x1b[2J\x07\x7f"), "\\x1b[2J\\x07\\x7f");
  for (std::uint32_t code = 0x80; code < 0xA0; ++code) {
    EXPECT_EQ(sanitized_line(utf8(code)), "\\u00" + sanitized_line(std::string(1, static_cast<char>(code))).substr(2));
  }
  for (const std::uint32_t code : {0x061Cu, 0x200Eu, 0x202Au, 0x202Eu, 0x2066u, 0x2069u, 0x2028u, 0xFEFFu, 0xE0001u}) {
    EXPECT_EQ(sanitized_line(utf8(code)).substr(0, 2), "\\u") << code;
  }
}

TEST(Visible, OrdinaryTextStaysAsItIs) {
  for (const std::string text : {"L2 of 60 MiB", "\u00b5s", "\u6e2c\u5b9a", "\U0001f680", ""}) {
    EXPECT_EQ(sanitized_line(text), text);
    EXPECT_EQ(sanitized_text(text), text);
  }
  EXPECT_EQ(sanitized_line("a\nb\tc"), "a b c");
  EXPECT_EQ(sanitized_text("a\r\nb\tc"), "a\nb\tc");
}

TEST(Visible, NoBytesAtAllGiveACommand) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_TRUE(is_harmless(sanitized_line(text))) << sanitized_line(text);
  }
}

}  // namespace
}  // namespace gputopo
