// The catalog against itself and against the steps that measure its cells.
#include "gputopo/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "discover/measure/step.h"

namespace gputopo {
namespace {

constexpr Vendor kVendors[] = {Vendor::kNvidia, Vendor::kAmd};

TEST(Catalogue, RowsStandAtTheirEnumerators) {
  std::size_t at = 0;
  for (const AttributeInfo& attribute : attribute_catalogue()) EXPECT_EQ(static_cast<std::size_t>(attribute.id), at++);
  at = 0;
  for (const ElementInfo& element : element_catalogue()) EXPECT_EQ(static_cast<std::size_t>(element.id), at++);
}

TEST(Catalogue, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const AttributeInfo& attribute : attribute_catalogue()) {
    EXPECT_TRUE(names.insert(attribute.name).second) << attribute.name;
    EXPECT_EQ(find_attribute(attribute.name), &attribute);
    EXPECT_FALSE(attribute.title.empty()) << attribute.name;
  }
  names.clear();
  for (const ElementInfo& element : element_catalogue()) {
    EXPECT_TRUE(names.insert(element.name).second) << element.name;
    EXPECT_EQ(find_element(element.name), &element);
    EXPECT_FALSE(element.title.empty()) << element.name;
  }
  EXPECT_EQ(find_attribute("weight"), nullptr);
  EXPECT_EQ(find_element("l9"), nullptr);
}

TEST(Catalogue, UnitsAreThoseOfTheQuantity) {
  for (const AttributeInfo& attribute : attribute_catalogue()) {
    switch (attribute.quantity) {
      case Quantity::kCapacity:
        EXPECT_EQ(attribute.unit, "B") << attribute.name;
        break;
      case Quantity::kLatency:
        EXPECT_EQ(attribute.unit, "cycles") << attribute.name;
        break;
      case Quantity::kBandwidth:
        EXPECT_EQ(attribute.unit, "B/s") << attribute.name;
        break;
      case Quantity::kRate:
        EXPECT_TRUE(attribute.unit == "FLOP/s" || attribute.unit == "OP/s") << attribute.name;
        break;
      case Quantity::kTime:
        EXPECT_EQ(attribute.unit, "ns") << attribute.name;
        break;
      case Quantity::kPower:
        EXPECT_EQ(attribute.unit, "W") << attribute.name;
        break;
      case Quantity::kFrequency:
        EXPECT_EQ(attribute.unit, "MHz") << attribute.name;
        break;
      case Quantity::kThroughput:
        EXPECT_TRUE(attribute.unit.starts_with("ops/")) << attribute.name;
        break;
      case Quantity::kHealth:
        EXPECT_TRUE(attribute.unit.empty() || attribute.unit == "W") << attribute.name;
        break;
      default:
        EXPECT_TRUE(attribute.unit.empty() || attribute.unit == "bit") << attribute.name;
    }
  }
}

TEST(Catalogue, EveryElementIsOfSomeVendorAndHasSomething) {
  for (const ElementInfo& element : element_catalogue()) {
    std::size_t cells = 0;
    for (const Vendor vendor : kVendors) {
      for (const AttributeInfo& attribute : element_attributes()) {
        cells += coverage_of(vendor, element.id, attribute.id) != Coverage::kNotApplicable ? 1 : 0;
      }
    }
    EXPECT_GT(cells, 0u) << element.name;
  }
}

TEST(Catalogue, EveryAttributeOfMemoryIsCoveredSomewhere) {
  for (const AttributeInfo& attribute : element_attributes()) {
    const bool covered = std::ranges::any_of(element_catalogue(), [&](const ElementInfo& element) {
      return std::ranges::any_of(kVendors, [&](Vendor vendor) {
        return coverage_of(vendor, element.id, attribute.id) != Coverage::kNotApplicable;
      });
    });
    EXPECT_TRUE(covered) << attribute.name;
  }
}

TEST(Catalogue, LevelsLeadOutwards) {
  EXPECT_EQ(next_of(Vendor::kNvidia, ElementId::kL2), ElementId::kDevice);  // skips the L3, which NVIDIA GPUs lack
  EXPECT_EQ(next_of(Vendor::kAmd, ElementId::kL2), ElementId::kL3);
  EXPECT_EQ(next_of(Vendor::kNvidia, ElementId::kConstantL1), ElementId::kConstantL15);
  EXPECT_EQ(next_of(Vendor::kNvidia, ElementId::kDevice), std::nullopt);
  for (const ElementInfo& element : element_catalogue()) {
    std::set<ElementId> seen;
    for (const ElementInfo* at = &element; at->has_next(); at = &info_of(at->next)) {
      ASSERT_TRUE(seen.insert(at->id).second) << element.name << " leads back to itself";
    }
  }
}

TEST(Catalogue, BeforeInSpaceIsTheNearerCacheOfTheSameLoads) {
  EXPECT_EQ(before_in_space(Vendor::kNvidia, ElementId::kConstantL15), ElementId::kConstantL1);
  EXPECT_EQ(before_in_space(Vendor::kNvidia, ElementId::kConstantL1), std::nullopt);
  EXPECT_EQ(before_in_space(Vendor::kNvidia, ElementId::kL2), std::nullopt) << "loads that bypass L1";
  EXPECT_EQ(before_in_space(Vendor::kAmd, ElementId::kL3), ElementId::kL2);
}

TEST(Catalogue, CachesOfOneSpaceHaveADepthEach) {
  for (const Vendor vendor : kVendors) {
    std::set<std::pair<Space, std::size_t>> places;
    for (const ElementInfo* element : elements_of(vendor)) {
      if (element->kind != ElementKind::kDataCache) continue;
      ASSERT_TRUE(element->space.has_value()) << element->name;
      EXPECT_TRUE(places.emplace(*element->space, element->depth).second) << element->name;
    }
  }
}

// ---- Steps ----

TEST(Steps, EveryCoveredCellHasExactlyOne) {
  for (const Vendor vendor : kVendors) {
    for (const ElementInfo* element : elements_of(vendor)) {
      for (const AttributeInfo& attribute : element_attributes()) {
        if (coverage_of(vendor, element->id, attribute.id) == Coverage::kNotApplicable) continue;
        const auto steps = std::ranges::count_if(measure_steps(), [&](const Step& step) {
          return step.kind == element->kind && step.attribute == attribute.id;
        });
        EXPECT_EQ(steps, 1) << element->name << "." << attribute.name;
      }
    }
  }
}

TEST(Steps, EachMeasuresSomeCell) {
  for (const Step& step : measure_steps()) {
    const bool has_cell = std::ranges::any_of(element_catalogue(), [&](const ElementInfo& element) {
      return element.kind == step.kind && std::ranges::any_of(kVendors, [&](Vendor vendor) {
               return coverage_of(vendor, element.id, step.attribute) != Coverage::kNotApplicable;
             });
    });
    EXPECT_TRUE(has_cell) << to_string(step.attribute);
  }
}

}  // namespace
}  // namespace gputopo
