// The selection: what a discovery measures.
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
  // Why has() is false for an existing attribute.
  [[nodiscard]] std::string_view reason(ElementId element, AttributeId attribute) const;

 private:
  // For alternative methods: true if the method was requested and gputopo's own attribute is selected too.
  [[nodiscard]] bool has_by_method(ElementId element, AttributeId attribute) const;
  // Takes a name of operations: "instructions", "instructions.fma.f32", "pipes". False for other names.
  bool take_operations(std::string_view given);

  Vendor vendor_;
  bool full_ = false;
  std::vector<ElementId> elements_;
  std::vector<AttributeId> attributes_;                        // empty: all
  std::vector<AttributeId> by_method_ = {};                    // results of the requested methods
  std::vector<std::pair<ElementId, AttributeId>> cells_ = {};  // requested by name: "l2.ways"
  WantedOperations operations_;
};

}  // namespace gputopo
