#include "gputopo/catalogue.h"

#include <algorithm>
#include <array>
#include <optional>

namespace gputopo {
namespace {

// ---- Rows ----

constexpr AttributeInfo kAttributes[] = {
// The rows name enumerators without their enumeration, which this macro adds.
#define GPUTOPO_ATTRIBUTE_ROW(id, group, name, title, unit, quantity, better) \
  AttributeInfo{AttributeId::id, AttributeGroup::group, name, title, unit, Quantity::quantity, Better::better},
#define GPUTOPO_DEVICE_ATTRIBUTE(id, name, title, unit, quantity, better) \
  GPUTOPO_ATTRIBUTE_ROW(id, kDevice, name, title, unit, quantity, better)
#define GPUTOPO_COMPUTE_ATTRIBUTE(id, name, title, unit, quantity, better) \
  GPUTOPO_ATTRIBUTE_ROW(id, kCompute, name, title, unit, quantity, better)
#define GPUTOPO_OPERATION_ATTRIBUTE(id, name, title, unit, quantity, better) \
  GPUTOPO_ATTRIBUTE_ROW(id, kOperation, name, title, unit, quantity, better)
#define GPUTOPO_MEMORY_ATTRIBUTE(id, name, title, unit, quantity, better, ...) \
  GPUTOPO_ATTRIBUTE_ROW(id, kMemory, name, title, unit, quantity, better)
#define GPUTOPO_UNIT_ATTRIBUTE(id, name, title, unit, quantity, better, ...) \
  GPUTOPO_ATTRIBUTE_ROW(id, kUnit, name, title, unit, quantity, better)
#include "gputopo/attributes.def"
};

constexpr auto kFirstMemoryAttribute = static_cast<std::size_t>(AttributeId::kSize);
static_assert(kAttributes[kFirstMemoryAttribute].group == AttributeGroup::kMemory);
static_assert(kAttributes[kFirstMemoryAttribute - 1].group != AttributeGroup::kMemory);
constexpr auto kFirstUnitAttribute = static_cast<std::size_t>(AttributeId::kRegisterFile);
static_assert(kAttributes[kFirstUnitAttribute].group == AttributeGroup::kUnit);
static_assert(kAttributes[kFirstUnitAttribute - 1].group == AttributeGroup::kMemory);

// How an attribute is determined for the elements of each of its sets.
struct Membership {
  CoverageSet set;
  Coverage coverage;
};
struct Covered {
  AttributeId attribute;
  std::vector<Membership> sets;
};

const std::vector<Covered>& covered_attributes() {
  using enum CoverageSet;
  using enum Coverage;
  static const std::vector<Covered> kCovered = {
#define GPUTOPO_MEMORY_ATTRIBUTE(id, name, title, unit, quantity, better, ...) {AttributeId::id, {__VA_ARGS__}},
#define GPUTOPO_UNIT_ATTRIBUTE(id, name, title, unit, quantity, better, ...) {AttributeId::id, {__VA_ARGS__}},
#include "gputopo/attributes.def"
  };
  return kCovered;
}

constexpr MethodInfo kMethods[] = {{"change-point", AttributeId::kChangePointSize, AttributeId::kSize}};

// The sets of an element on one vendor's GPUs, one bit each.
using SetBits = std::uint64_t;
static_assert(static_cast<unsigned>(CoverageSet::kMatrixF32Peak) < 8 * sizeof(SetBits),
              "each coverage set needs a bit of SetBits");
struct VendorSets {
  Vendor vendor;
  SetBits sets;
};

template <typename... Sets>
constexpr VendorSets sets_of(Vendor vendor, Sets... sets) {
  return {vendor, ((SetBits{1} << static_cast<unsigned>(sets)) | ...)};
}
constexpr VendorSets nvidia(auto... sets) { return sets_of(Vendor::kNvidia, sets...); }
constexpr VendorSets amd(auto... sets) { return sets_of(Vendor::kAmd, sets...); }

const std::vector<std::vector<VendorSets>>& sets_of_elements() {
  using enum CoverageSet;
  static const std::vector<std::vector<VendorSets>> kSets = {
#define GPUTOPO_ELEMENT(id, name, title, kind, space, depth, scope, medium, next, ...) {__VA_ARGS__},
#include "gputopo/elements.def"
  };
  return kSets;
}

// The values that a row may give for its space.
namespace spaces {
using enum Space;
constexpr std::nullopt_t kNone = std::nullopt;
}  // namespace spaces

constexpr ElementInfo kElements[] = {
#define GPUTOPO_ELEMENT(id, name, title, kind, space, depth, scope, medium, next, ...)                             \
  ElementInfo{ElementId::id, name,         title,          ElementKind::kind, std::optional<Space>(spaces::space), \
              depth,         Scope::scope, Medium::medium, ElementId::next},
#include "gputopo/elements.def"
};

// The sets of an element on a vendor's GPUs; 0 if these lack the element.
SetBits sets_of_element(Vendor vendor, ElementId element) {
  for (const VendorSets& row : sets_of_elements()[static_cast<std::size_t>(element)]) {
    if (row.vendor == vendor) return row.sets;
  }
  return 0;
}

template <typename Info>
const Info* find_by_name(std::span<const Info> infos, std::string_view name) {
  const auto found = std::ranges::find(infos, name, &Info::name);
  return found == infos.end() ? nullptr : &*found;
}

}  // namespace

std::string_view to_string(Vendor vendor) { return vendor == Vendor::kAmd ? "AMD" : "NVIDIA"; }
Vendor vendor_of(std::string_view name) { return name == to_string(Vendor::kAmd) ? Vendor::kAmd : Vendor::kNvidia; }
std::string unit_name(std::string_view vendor) { return vendor_of(vendor) == Vendor::kAmd ? "CU" : "SM"; }

std::span<const AttributeInfo> attribute_catalogue() { return kAttributes; }
std::span<const AttributeInfo> element_attributes() { return attribute_catalogue().subspan(kFirstMemoryAttribute); }
std::span<const AttributeInfo> unit_attributes() { return attribute_catalogue().subspan(kFirstUnitAttribute); }
std::span<const AttributeInfo> memory_attributes() {
  return element_attributes().first(kFirstUnitAttribute - kFirstMemoryAttribute);
}
const AttributeInfo& info_of(AttributeId id) { return kAttributes[static_cast<std::size_t>(id)]; }
std::string_view to_string(AttributeId id) { return info_of(id).name; }
const AttributeInfo* find_attribute(std::string_view name) { return find_by_name(attribute_catalogue(), name); }

std::vector<std::string> element_attribute_names() {
  std::vector<std::string> names;
  for (const AttributeInfo& attribute : element_attributes()) names.emplace_back(attribute.name);
  return names;
}

std::string_view to_string(Coverage coverage) {
  constexpr std::array<std::string_view, 7> kNames = {"measured",      "api",     "api+measured", "with --full",
                                                      "with --method", "by name", "n/a"};
  return kNames.at(static_cast<std::size_t>(coverage));
}

std::span<const MethodInfo> method_catalogue() { return kMethods; }
const MethodInfo* method_of(AttributeId attribute) {
  const auto found = std::ranges::find(kMethods, attribute, &MethodInfo::attribute);
  return found == std::ranges::end(kMethods) ? nullptr : found;
}

std::span<const ElementInfo> element_catalogue() { return kElements; }
const ElementInfo& info_of(ElementId id) { return kElements[static_cast<std::size_t>(id)]; }
std::string_view to_string(ElementId id) { return info_of(id).name; }
std::span<const AttributeInfo> attributes_of(const ElementInfo& element) {
  return element.is_unit() ? unit_attributes() : memory_attributes();
}
const ElementInfo* find_element(std::string_view name) { return find_by_name(element_catalogue(), name); }

bool has_element(Vendor vendor, ElementId element) { return sets_of_element(vendor, element) != 0; }

std::vector<const ElementInfo*> elements_of(Vendor vendor) {
  std::vector<const ElementInfo*> elements;
  for (const ElementInfo& element : kElements) {
    if (has_element(vendor, element.id)) elements.push_back(&element);
  }
  return elements;
}

std::optional<ElementId> before_in_space(Vendor vendor, ElementId element) {
  const ElementInfo& info = info_of(element);
  for (const ElementInfo* other : elements_of(vendor)) {
    const bool is_before =
        other->kind == ElementKind::kDataCache && other->space == info.space && other->depth + 1 == info.depth;
    if (is_before) return other->id;
  }
  return std::nullopt;
}

std::optional<ElementId> next_of(Vendor vendor, ElementId element) {
  for (const ElementInfo* info = &info_of(element); info->has_next();) {
    info = &info_of(info->next);
    if (has_element(vendor, info->id)) return info->id;
  }
  return std::nullopt;
}

Coverage coverage_of(Vendor vendor, ElementId element, AttributeId attribute) {
  const SetBits sets = sets_of_element(vendor, element);
  if (static_cast<std::size_t>(attribute) < kFirstMemoryAttribute) return Coverage::kNotApplicable;
  const Covered& covered = covered_attributes()[static_cast<std::size_t>(attribute) - kFirstMemoryAttribute];
  for (const Membership& membership : covered.sets) {
    if ((sets >> static_cast<unsigned>(membership.set) & 1) != 0) return membership.coverage;
  }
  return Coverage::kNotApplicable;
}

}  // namespace gputopo
