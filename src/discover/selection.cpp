#include "discover/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gputopo/error.h"
#include "model/likeness.h"
#include "model/renames.h"

namespace gputopo {
namespace {

std::vector<std::string> names_of_elements(Vendor vendor) {
  std::vector<std::string> names;
  for (const ElementInfo* element : elements_of(vendor)) names.emplace_back(element->name);
  return names;
}

std::vector<std::string> names_of_methods() {
  std::vector<std::string> names;
  for (const MethodInfo& method : method_catalogue()) names.emplace_back(method.name);
  return names;
}

void require_known(const std::vector<std::string>& given, const std::vector<std::string>& valid, const char* what) {
  for (const std::string& name : given) {
    if (std::ranges::find(valid, name) != valid.end()) continue;
    throw UsageError(fmt::format("unknown {} '{}'; {}the {}s are {}", what, name, did_you_mean(name, valid), what,
                                 fmt::join(valid, ", ")));
  }
}

// CSV calls the GPU "device" and its memory "memory.device"; in JSON, all elements lie within "memory" or "compute".
std::string without_section(const std::string& name) {
  for (const std::string_view section : {"memory.", "compute."}) {
    if (name.starts_with(section)) return name.substr(section.size());
  }
  return name;
}

// Operations can be requested by name wherever elements can.
std::vector<std::string> with_operations(std::vector<std::string> names) {
  names.emplace_back(kInstructions);
  names.emplace_back(kPipesGroup);
  return names;
}

// An exact name selects its element. Otherwise the part of names before an underscore selects all of them: "icache".
std::vector<std::string> expand_groups(const std::vector<std::string>& chosen, const std::vector<std::string>& names) {
  std::vector<std::string> expanded;
  for (const std::string& given : chosen) {
    const std::size_t before = expanded.size();
    if (std::ranges::find(names, given) == names.end()) {
      std::ranges::copy_if(names, std::back_inserter(expanded),
                           [&](const std::string& name) { return name.starts_with(given + "_"); });
    }
    if (expanded.size() == before) expanded.push_back(given);
  }
  return expanded;
}

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

Selection::Selection(const DiscoverOptions& options, Vendor vendor) : vendor_(vendor), full_(options.full) {
  const std::vector<std::string> names = names_of_elements(vendor);
  const std::vector<std::string> attribute_names = element_attribute_names();
  std::vector<std::string> chosen;
  for (const std::string& given : options.elements) {
    if (take_operations(given)) continue;
    const std::string name = with_current_names(without_section(given));
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) {
      chosen.push_back(name);
      continue;
    }
    const std::string element = name.substr(0, dot);
    const std::string attribute = name.substr(dot + 1);
    require_known({element}, names, "element");
    require_known({attribute}, attribute_names, "attribute");
    cells_.emplace_back(find_element(element)->id, find_attribute(attribute)->id);
  }
  const std::vector<std::string> elements = options.elements.empty() ? names : expand_groups(chosen, names);
  require_known(elements, with_operations(names), "element");
  std::vector<std::string> attributes;
  std::ranges::transform(options.attributes, std::back_inserter(attributes), with_current_names);
  require_known(attributes, attribute_names, "attribute");
  if (options.elements.empty() && options.attributes.empty()) {
    if (full_) {
      take_operations(kInstructions);
      take_operations(kPipesGroup);
    } else {
      operations_.latencies.assign(common_operations().begin(), common_operations().end());
    }
  }
  for (const std::string& name : elements) elements_.push_back(find_element(name)->id);
  for (const std::string& name : attributes) attributes_.push_back(find_attribute(name)->id);
  require_known(options.methods, names_of_methods(), "method");
  for (const MethodInfo& method : method_catalogue()) {
    if (contains(options.methods, std::string(method.name))) by_method_.push_back(method.attribute);
  }
}

bool Selection::has_by_method(ElementId element, AttributeId attribute) const {
  const MethodInfo* method = method_of(attribute);
  return method != nullptr && contains(by_method_, attribute) && has(element, method->beside);
}

bool Selection::take_operations(std::string_view given) {
  constexpr std::string_view kCompute = "compute.";
  if (given.starts_with(kCompute)) given.remove_prefix(kCompute.size());
  if (given == kPipesGroup) {
    operations_.pipes = true;
    return true;
  }
  if (given == kInstructions) {
    operations_.all.clear();
    for (const OperationInfo& operation : instruction_catalogue()) {
      if (vendor_ != Vendor::kNvidia || !operation.ptx.empty()) operations_.all.push_back(operation.id);
    }
    return true;
  }
  if (!given.starts_with(kInstructions) || given[kInstructions.size()] != '.') return false;
  const std::string name(given.substr(kInstructions.size() + 1));
  std::vector<std::string> names;
  for (const OperationInfo& operation : instruction_catalogue()) names.emplace_back(operation.name);
  require_known({name}, names, "operation");
  const OperationId id = find_operation(name)->id;
  if (!contains(operations_.all, id)) operations_.all.push_back(id);
  return true;
}

bool Selection::has(ElementId element, AttributeId attribute) const {
  const Coverage coverage = coverage_of(vendor_, element, attribute);
  if (coverage == Coverage::kNotApplicable) return false;
  if (contains(cells_, std::pair(element, attribute)) || has_by_method(element, attribute)) return true;
  if (!contains(elements_, element)) return false;
  if (!attributes_.empty()) return contains(attributes_, attribute);
  if (coverage == Coverage::kMeasuredByMethod || coverage == Coverage::kMeasuredByName) return false;
  return full_ || coverage != Coverage::kMeasuredInFull;
}

std::string_view Selection::reason(ElementId element, AttributeId attribute) const {
  const bool only_in_full =
      coverage_of(vendor_, element, attribute) == Coverage::kMeasuredInFull && contains(elements_, element);
  return only_in_full ? kOnlyInFull : "excluded by --only or --attribute";
}

}  // namespace gputopo
