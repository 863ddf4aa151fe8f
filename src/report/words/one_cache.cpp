#include "report/words/one_cache.h"

#include <algorithm>

#include "gputopo/catalogue.h"

namespace gputopo::report {
namespace {

bool are_of_one_size(const MemoryElement& a, const MemoryElement& b) {
  const Attribute* one = find(a.attributes, AttributeId::kSize);
  const Attribute* other = find(b.attributes, AttributeId::kSize);
  return one != nullptr && other != nullptr && one->low && one->high && other->low && other->high &&
         *one->low <= *other->high && *other->low <= *one->high;
}

// A code cache that also holds constants reports "constants" without a level; the constant cache of its size is meant.
constexpr std::string_view kConstants = "constants";

const std::vector<std::string>* names_of(const MemoryElement& element) {
  const Attribute* shared = find(element.attributes, AttributeId::kSharedWith);
  return shared == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&shared->value);
}

bool holds_constants(const MemoryElement& element) {
  const ElementInfo* info = find_element(element.id);
  return info != nullptr && info->space == Space::kConstant;
}

// True if `element` reports that it is the same cache as `other`.
bool names(const MemoryElement& element, const MemoryElement& other) {
  const std::vector<std::string>* own = names_of(element);
  if (own == nullptr || own->empty()) return false;
  const auto has = [&](std::string_view name) { return std::ranges::find(*own, name) != own->end(); };
  return has(other.id) || (has(kConstants) && holds_constants(other) && are_of_one_size(element, other));
}

}  // namespace

std::vector<std::string> partners_of(const Topology& topology, const MemoryElement& element) {
  std::vector<std::string> partners;
  for (const MemoryElement& other : topology.memory) {
    if (&other != &element && (names(element, other) || names(other, element))) partners.push_back(other.id);
  }
  // Names that are not elements of the report.
  const std::vector<std::string>* own = names_of(element);
  for (std::size_t i = 0; own != nullptr && i < own->size(); ++i) {
    const bool is_known = (*own)[i] == kConstants ? !partners.empty() : topology.find_memory((*own)[i]) != nullptr;
    if (!is_known) partners.push_back((*own)[i]);
  }
  return partners;
}

}  // namespace gputopo::report
