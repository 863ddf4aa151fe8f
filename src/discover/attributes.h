// Where a step gets the attributes that it needs from.
#pragma once

#include "gputopo/catalogue.h"
#include "gputopo/model.h"

namespace gputopo {

class Attributes {
 public:
  Attributes() = default;
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  virtual ~Attributes() = default;

  // Measured now if it was not yet. The reference stays valid.
  virtual const Attribute& attribute(ElementId element, AttributeId attribute) = 0;
};

}  // namespace gputopo
