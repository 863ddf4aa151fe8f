// The markup writer: what its types and its formats accept.
#include "report/drawing/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <set>

#include "gputopo/file.h"

namespace gputopo::report {
namespace {

using ::testing::ElementsAre;

// Text of any type becomes markup only through markup().
template <typename Text>
constexpr bool kBecomesMarkup = std::is_constructible_v<Markup, Text> || std::is_constructible_v<ProgramText, Text> ||
                                std::is_assignable_v<Markup&, Text>;
template <typename Text>
concept IsAppended = requires(Markup markup, Text text) {
  markup += text;
}
|| requires(Markup markup, Text text) { markup + text; }
|| requires(Markup markup, Text text) { text + markup; };
static_assert(!kBecomesMarkup<std::string> && !IsAppended<std::string>);
static_assert(!kBecomesMarkup<std::string_view> && !IsAppended<std::string_view>);
static_assert(!kBecomesMarkup<const char*> && !IsAppended<const char*>);
static_assert(!kBecomesMarkup<char> && !IsAppended<char>);
// Markup becomes text only explicitly, so no format takes it for text.
static_assert(!std::is_convertible_v<Markup, std::string> && !std::is_convertible_v<Markup, std::string_view>);
static_assert(IsAppended<Markup> && IsAppended<ProgramText>);

TEST(Markup, EscapesTextsAndInsertsMarkup) {
  const std::string text = "<b>&\"'";
  const Markup cell = markup("<b>{}</b>", text);
  EXPECT_EQ(cell.text(), "<b>&lt;b&gt;&amp;&quot;&#39;</b>");
  EXPECT_EQ(markup("<td title=\"{}\">{} {:.2f} {}</td>", text, cell, 1.0, std::string_view("<")).text(),
            "<td title=\"&lt;b&gt;&amp;&quot;&#39;\"><b>&lt;b&gt;&amp;&quot;&#39;</b> 1.00 &lt;</td>");
  EXPECT_EQ(markup("<p{}>{}</p>", ProgramText(" hidden"), text.c_str()).text(),
            "<p hidden>&lt;b&gt;&amp;&quot;&#39;</p>");
  EXPECT_EQ(markup("<p>{{}} {1} {0}</p>", 1, "<").text(), "<p>{} &lt; 1</p>");
  EXPECT_EQ((Markup("<p>") + cell + "</p>").text(), "<p>" + cell.text() + "</p>");
  EXPECT_EQ(opening_tag("info", {{"name", text}, {"value", "1"}}).text(),
            "<info name=\"&lt;b&gt;&amp;&quot;&#39;\" value=\"1\">");
}

TEST(Markup, NothingOfJsonEndsItsElement) {
  EXPECT_EQ(json_block("report-0", R"({"a": "</script><!--<script>"})").text(),
            "<script type=\"application/json\" id=\"report-0\">"
            "{\"a\": \"\\u003c/script>\\u003c!--\\u003cscript>\"}</script>\n");
}

TEST(Markup, NothingOfJsonCommandsATerminal) {
  EXPECT_EQ(json_block("charts", "[\"\x7f\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81\xC2\xB5\"]").text(),
            "<script type=\"application/json\" id=\"charts\">"
            "[\"\\u007f\\u009b\\u202e\\udb40\\udc41\xC2\xB5\"]</script>\n");
}

// Runs the compile-time check of formats at run time.
template <typename... Inserts>
bool is_taken(std::string_view format, Inserts... inserted) {
  try {
    MarkupPlaces::check(format, std::array<Inserted, sizeof...(Inserts)>{inserted...});
    return true;
  } catch (const char*) {
    return false;
  }
}

TEST(MarkupFormats, TextsStandBetweenTagsAndInQuotesAlone) {
  using enum Inserted;
  EXPECT_TRUE(is_taken("<td title=\"{}\">{}</td>", kText, kText));
  EXPECT_TRUE(is_taken("<td title='{}'>{}<br/>{}</td>", kText, kText, kMarkup));
  EXPECT_TRUE(is_taken("<a href=\"#{}\"{}>{}</a>", kText, kProgramText, kText));
  EXPECT_TRUE(is_taken("<style>{}</style><script>{}</script>{}", kProgramText, kProgramText, kText));
  EXPECT_TRUE(is_taken("<p style=\"width:{}px\" {}>{{{{}}}} {}</p>", kNumber, kNumber, kText));
  EXPECT_TRUE(is_taken("<p {1}>{0}</p>", kText, kNumber));
  EXPECT_FALSE(is_taken("<p {0}>{1}</p>", kText, kNumber));
  for (const std::string_view format : {"<{}>",
                                        "<p {}>",
                                        "<p title={}>",
                                        "<p title=\"\" {}>",
                                        "</{}>",
                                        "<!-- {} -->",
                                        "<!DOCTYPE {}>",
                                        "<?xml {}?>",
                                        "<style>{}</style>",
                                        "<script>var a = \"{}\";</script>",
                                        "<style media=\"all\">{}</style>",
                                        "<a href=\"{}\"></a>",
                                        "<a href='{}'></a>",
                                        "<img src=\"a{}\">",
                                        "<p style=\"{}\">",
                                        "<p onclick=\"{}\">",
                                        "<use xlink:href=\"{}\"/>",
                                        "<iframe srcdoc=\"{}\">",
                                        "<meta content=\"{}\">",
                                        "<animate to=\"{}\">"}) {
    EXPECT_FALSE(is_taken(format, kText)) << format;
    EXPECT_FALSE(is_taken(format, kMarkup)) << format;
    EXPECT_TRUE(is_taken(format, kProgramText)) << format;
  }
  EXPECT_FALSE(is_taken("<p title=\"{}\">", kMarkup));
  EXPECT_FALSE(is_taken("<p title=\"#{}\">", kMarkup));
}

TEST(MarkupFormats, EndBetweenTags) {
  for (const std::string_view format : {"<p", "<p title=\"", "<script>", "<style>a", "<p title='>"}) {
    EXPECT_FALSE(is_taken(format)) << format;
  }
  EXPECT_FALSE(is_taken("{} {}", Inserted::kText));
  EXPECT_FALSE(is_taken("{", Inserted::kText));
}

// If a literal in a call of fmt::format() begins a tag, text could become markup after all.
bool formats_a_tag(std::string_view source) {
  constexpr std::string_view kCall = "fmt::format(";
  for (std::size_t at = 0; (at = source.find(kCall, at)) != std::string_view::npos;) {
    at = std::min(source.find_first_not_of(" \n", at + kCall.size()), source.size());
    if (!source.substr(at).starts_with('"')) continue;
    for (++at; at < source.size() && source[at] != '"'; ++at) {
      if (source[at] == '\\') ++at;
      const char next = at + 1 < source.size() ? source[at + 1] : ' ';
      const bool begins = std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '/' || next == '!';
      if (source[at] == '<' && begins) return true;
    }
  }
  return false;
}

TEST(MarkupSources, NoFileWritesMarkupPastTheWriter) {
  EXPECT_TRUE(formats_a_tag("a = fmt::format(\n    \"{} <td>\", b);"));
  EXPECT_FALSE(formats_a_tag("fmt::format(\"{:<4} < {}\", a) + markup(\"<td>\")"));
  std::set<std::string> trusting;
  const std::filesystem::path root = GPUTOPO_SOURCE_DIR "/src";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".h") continue;
    ++files;
    const std::string name = entry.path().lexically_relative(root);
    const std::string source = read_file(entry.path());
    EXPECT_TRUE(name == "report/drawing/markup.cpp" || !formats_a_tag(source)) << name;
    if (source.find("ProgramText::trusted(") != std::string::npos) trusting.insert(name);
  }
  EXPECT_GT(files, 300u);
  // The style and the script of pages. Any other trusted text needs a reason.
  EXPECT_THAT(trusting, ElementsAre("fleet/findings_html.cpp", "report/drawing/svg_style.cpp", "report/html/page.cpp"));
}

}  // namespace
}  // namespace gputopo::report
