#include "report/words/footnotes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

// Cuts a reason (a driver's may be long) to `most_lines` with `who`; keeps advice after the last semicolon if it fits.
std::string shortened(const std::string& reason, const std::string& lead, const std::string& who, int width,
                      int most_lines) {
  constexpr std::size_t kLeast = 40;
  const auto fits = [&](const std::string& text) {
    const std::string wrapped = wrap(lead, text + who, width);
    return std::count(wrapped.begin(), wrapped.end(), '\n') <= most_lines;
  };
  if (fits(reason)) return reason;
  const std::size_t semicolon = reason.rfind("; ");
  const std::size_t end = semicolon == std::string::npos || semicolon < kLeast ? reason.size() : semicolon;
  const auto begin_and = [&](std::size_t at, const std::string& advice) {
    return fmt::format("{} ..{}", std::string_view(reason).substr(0, at), advice);
  };
  std::string shortest = reason;
  // If even the shortest beginning does not fit with the advice, the advice is cut, too.
  for (const std::size_t limit : {end, reason.size()}) {
    const std::string advice = reason.substr(limit);
    // Word ends, shortest beginning first: once one does not fit, no longer one does.
    std::vector<std::size_t> ends;
    for (std::size_t at = reason.find(' ', kLeast); at < limit; at = reason.find(' ', at + 1)) ends.push_back(at);
    const auto first_too_long =
        std::partition_point(ends.begin(), ends.end(), [&](std::size_t at) { return fits(begin_and(at, advice)); });
    if (first_too_long != ends.begin()) return begin_and(*std::prev(first_too_long), advice);
    if (!ends.empty()) shortest = begin_and(ends.front(), advice);
  }
  return shortest;
}

}  // namespace

std::string Footnotes::mark(const Attribute& attribute, const std::string& element, const std::string& what) {
  const std::string text = why_absent(attribute);
  const std::size_t number = places_.try_emplace(text, notes_.size()).first->second;
  if (number == notes_.size()) notes_.push_back({text, {}, {}});
  Note& note = notes_[number];
  const std::size_t place = note.places.try_emplace(element, note.subjects.size()).first->second;
  if (place == note.subjects.size()) note.subjects.push_back({element, {}, {}});
  Subject& subject = note.subjects[place];
  const std::string name = readable(what);
  if (!name.empty() && subject.known.insert(name).second) subject.attributes.push_back(name);
  return fmt::format("[{}]", number + 1);
}

std::vector<std::string> Footnotes::texts(int width, int most_lines) const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    std::vector<std::string> subjects;
    for (const Subject& subject : notes_[i].subjects) {
      const char* space = subject.element.empty() || subject.attributes.empty() ? "" : " ";
      subjects.push_back(fmt::format("{}{}{}", subject.element, space, fmt::join(subject.attributes, ", ")));
    }
    const std::string lead = fmt::format("[{}] ", i + 1);
    const std::string who = fmt::format(" ({})", fmt::join(subjects, "; "));
    const std::string& whole = notes_[i].text;
    result.push_back(
        wrap(lead, (most_lines > 0 ? shortened(whole, lead, who, width, most_lines) : whole) + who, width));
  }
  return result;
}

}  // namespace gputopo::report
