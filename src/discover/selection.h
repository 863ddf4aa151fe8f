// What is to be discovered, of all that there is to know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/discover.h"

namespace gputopo {

class Selection {
 public:
  // Throws UsageError for names that do not exist.
  Selection(const DiscoverOptions& options, Vendor vendor);

  [[nodiscard]] bool has(ElementId element, AttributeId attribute) const;
  // Why it has not what exists.
  [[nodiscard]] std::string_view reason(ElementId element, AttributeId attribute) const;

 private:
  Vendor vendor_;
  bool full_ = false;
  std::vector<ElementId> elements_;
  std::vector<AttributeId> attributes_;                        // empty: all
  std::vector<std::pair<ElementId, AttributeId>> cells_ = {};  // asked for by name: "l2.ways"
};

}  // namespace gputopo
