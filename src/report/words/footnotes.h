// Each reason for an absent value once, with the values that it explains.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

class Footnotes {
 public:
  // The mark of this reason, as in "[2]". `what` may be empty: all of the element.
  std::string mark(const Attribute& attribute, const std::string& element, const std::string& what);
  // A paragraph for each, of long reasons what fits into so many lines; 0: all of them.
  [[nodiscard]] std::vector<std::string> texts(int width, int most_lines) const;
  [[nodiscard]] std::size_t count() const { return notes_.size(); }

 private:
  struct Subject {
    std::string element;
    std::vector<std::string> attributes;
    std::set<std::string> known;  // the same, to look them up
  };
  struct Note {
    std::string text;
    std::vector<Subject> subjects;
    std::map<std::string, std::size_t> places;  // of elements in subjects
  };
  std::vector<Note> notes_;
  std::map<std::string, std::size_t> places_;  // of texts in notes_
};

}  // namespace gputopo::report
