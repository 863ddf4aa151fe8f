#include "prometheus_check.h"

#include <cstdlib>
#include <utility>

#include "file/sanitize.h"

namespace gputopo::test {
namespace {

bool is_name_character(char c, bool is_first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!is_first && c >= '0' && c <= '9');
}

// Removes a name from the front of `rest`; empty if there is none.
std::string take_name(std::string_view& rest) {
  std::size_t length = 0;
  while (length < rest.size() && is_name_character(rest[length], length == 0)) ++length;
  const std::string name(rest.substr(0, length));
  rest.remove_prefix(length);
  return name;
}

// Removes `"..."` with its escapes; returns false if there is no such string.
bool take_quoted(std::string_view& rest) {
  if (!rest.starts_with('"')) return false;
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    const std::size_t length = rest.front() == '\\' ? 2 : utf8_length(rest);
    if (length == 0 || rest.size() < length) return false;
    if (rest.front() == '\\' && std::string_view("\\\"n").find(rest[1]) == std::string_view::npos) return false;
    rest.remove_prefix(length);
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

// Matches `name{label="value",...} number`.
bool is_sample(std::string_view line, std::string& name, std::string& name_and_labels) {
  std::string_view rest = line;
  name = take_name(rest);
  if (name.empty()) return false;
  if (rest.starts_with('{')) {
    do {
      rest.remove_prefix(1);
      if (take_name(rest).empty() || !rest.starts_with('=')) return false;
      rest.remove_prefix(1);
      if (!take_quoted(rest)) return false;
    } while (rest.starts_with(','));
    if (!rest.starts_with('}')) return false;
    rest.remove_prefix(1);
  }
  name_and_labels = line.substr(0, line.size() - rest.size());
  if (!rest.starts_with(' ')) return false;
  const std::string number(rest.substr(1));
  char* end = nullptr;
  static_cast<void>(std::strtod(number.c_str(), &end));
  return !number.empty() && number.front() != ' ' && *end == '\0';
}

}  // namespace

std::optional<std::string> prometheus_problem(std::string_view text) {
  if (!text.ends_with('\n')) return "the end: no line end";
  std::set<std::string> samples;
  std::set<std::string> ended;  // names whose group of samples is complete
  std::string current;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with("# ")) continue;
    std::string name;
    std::string name_and_labels;
    if (!is_sample(line, name, name_and_labels)) return std::string(line);
    if (name != current) ended.insert(std::exchange(current, name));
    if (ended.contains(name) || !samples.insert(name_and_labels).second) return std::string(line);
  }
  return {};
}

}  // namespace gputopo::test
