// Footnotes: each reason for absent values once, with the values that it explains.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

class Footnotes {
 public:
  // Returns the reason's mark, as in "[2]". An empty `what` means the whole element.
  std::string mark(const Attribute& attribute, const std::string& element, const std::string& what);
  // Returns one paragraph per reason. Long ones are cut to `most_lines`; 0 means no limit.
  [[nodiscard]] std::vector<std::string> texts(int width, int most_lines) const;
  [[nodiscard]] std::size_t count() const { return notes_.size(); }

 private:
  struct Subject {
    std::string element;
    std::vector<std::string> attributes;
    std::set<std::string> known;  // same as `attributes`, for lookup
  };
  struct Note {
    std::string text;
    std::vector<Subject> subjects;
    std::map<std::string, std::size_t> places;  // indices into subjects, by element
  };
  std::vector<Note> notes_;
  std::map<std::string, std::size_t> places_;  // indices into notes_, by text
};

}  // namespace gputopo::report
