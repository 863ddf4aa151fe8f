#include "report/compare/prometheus_text.h"

#include <fmt/format.h>

#include <cstdint>

#include "file/sanitize.h"

namespace gputopo::report {
namespace {

// FNV-1a, 32 bits: equal in every run and version.
std::uint32_t number_of_text(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string prometheus_name(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!is_letter_or_digit(c)) c = '_';
  }
  return name;
}

std::string prometheus_label(std::string_view text) {
  std::string label;
  for (const char c : sanitized_text(text)) {
    if (c == '\n') {
      label += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') label += '\\';
    label += c;
  }
  return label;
}

std::string prometheus_help(std::string_view text) {
  std::string help;
  for (const char c : sanitized_line(text)) {
    if (c == '\\') help += '\\';
    help += c;
  }
  return help;
}

std::string PrometheusNames::name(const std::string& id, const std::string& unit, const std::string& suffix) {
  const std::pair owner(id, unit);
  std::string name = prometheus_name(id) + suffix;
  const auto is_free = [&] { return owners_.try_emplace(name, owner).first->second == owner; };
  if (prometheus_name(id) == id && !name.starts_with("check_") && is_free()) return name;
  std::uint32_t number = number_of_text(id + '\n' + unit);
  do {
    name = fmt::format("{}{}_{:08x}", prometheus_name(id), suffix, number++);
  } while (!is_free());
  return name;
}

}  // namespace gputopo::report
