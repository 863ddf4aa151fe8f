// The elements and attributes that a browser or an XML reader finds in a document, for tests that compare documents.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::test {

struct MarkupTag {
  std::string name;  // "/p" for an end tag
  std::vector<std::string> attributes;
  std::vector<std::string> values;
  std::string raw_text;  // for scripts and styles
  std::size_t at = 0;    // offset of its start
  // Name and attributes: "td class title".
  [[nodiscard]] std::string shape() const {
    std::string text = name;
    for (const std::string& attribute : attributes) text += " " + attribute;
    return text;
  }
};

// Reads tags as HTML does: outside of tags, a "<" before a letter, "/", "!" or "?" begins a tag; a quoted value ends
// at the next quote of the same kind. Markup that gputopo never writes fails the test.
class MarkupReader {
 public:
  explicit MarkupReader(std::string_view text) : text_(text) {}

  std::vector<MarkupTag> tags() {
    std::vector<MarkupTag> tags;
    while ((at_ = std::min(text_.find('<', at_), text_.size())) < text_.size()) {
      ++at_;
      tags.push_back(tag());
      const std::string& name = tags.back().name;
      if (name == "script" || name == "style") tags.back().raw_text = raw_text("</" + name);
    }
    return tags;
  }

 private:
  static constexpr std::string_view kBlanks = " \t\r\n";

  std::string_view until(std::string_view ends) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  MarkupTag tag() {
    const std::size_t begin = at_ - 1;
    MarkupTag tag{.name = std::string(until(" \t\r\n>")), .at = begin};
    if (tag.name.ends_with('/')) tag.name.pop_back();
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const std::size_t first = tag.name.find_first_not_of("/!?");
    EXPECT_TRUE(first <= 1 && is_letter(tag.name[first])) << "a bare '<' before " << tag.name;
    while (true) {
      at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
      if (at_ == text_.size()) {
        ADD_FAILURE() << "the tag " << tag.name << " does not end";
        return tag;
      }
      if (text_[at_] == '>') break;
      if (text_.substr(at_).starts_with("/>") || text_.substr(at_).starts_with("?>")) {
        ++at_;
        break;
      }
      attribute(tag);
    }
    ++at_;
    return tag;
  }

  void attribute(MarkupTag& tag) {
    if (text_[at_] == '"') {  // in a document type
      ++at_;
      until("\"");
      ++at_;
      return;
    }
    tag.attributes.emplace_back(until(" \t\r\n=>"));
    tag.values.emplace_back();
    if (at_ == text_.size() || text_[at_] != '=') return;
    ++at_;
    if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) {
      ADD_FAILURE() << "the value of " << tag.attributes.back() << " of " << tag.name << " has no quotes";
      return;
    }
    const char quote = text_[at_++];
    tag.values.back() = until(std::string_view(&quote, 1));
    ++at_;
  }

  std::string raw_text(std::string_view end) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find(end, at_), text_.size());
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline std::vector<MarkupTag> tags_of(std::string_view text) { return MarkupReader(text).tags(); }

}  // namespace gputopo::test
