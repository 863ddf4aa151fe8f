// What is to be discovered, of all that there is to know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "discover/measure/operations.h"
#include "gputopo/catalogue.h"
#include "gputopo/discover.h"
#include "gputopo/operation.h"

namespace gputopo {

class Selection {
 public:
  // Throws UsageError for names that do not exist.
  Selection(const DiscoverOptions& options, Vendor vendor);

  [[nodiscard]] bool has(ElementId element, AttributeId attribute) const;
  [[nodiscard]] const WantedOperations& operations() const { return operations_; }
  // Why it has not what exists.
  [[nodiscard]] std::string_view reason(ElementId element, AttributeId attribute) const;

 private:
  // Of another method than the project's own: whether it was asked for, and what stands beside it is wanted.
  [[nodiscard]] bool has_by_method(ElementId element, AttributeId attribute) const;
  // Of a name that the user gave: "instructions", "instructions.fma.f32", "pipes". Whether it is one.
  bool take_operations(std::string_view given);

  Vendor vendor_;
  bool full_ = false;
  std::vector<ElementId> elements_;
  std::vector<AttributeId> attributes_;                        // empty: all
  std::vector<AttributeId> by_method_ = {};                    // what the methods that were asked for find
  std::vector<std::pair<ElementId, AttributeId>> cells_ = {};  // asked for by name: "l2.ways"
  WantedOperations operations_;
};

}  // namespace gputopo
