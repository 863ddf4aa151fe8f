// What the vendor's interface tells of an element, and values that follow from others.
#pragma once

#include <initializer_list>
#include <string>

#include "gputopo/catalogue.h"
#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

// Size of an element.
[[nodiscard]] Attribute told_size(const DeviceInfo& info, ElementId element);

// What is known of one and the same cache by another path: with its conditions, without its samples.
[[nodiscard]] Attribute inferred_from(Attribute other_path, std::string method);

// What held while the values that another one is made of were measured: of each condition the one value; where they
// differ, the mean clock, the least and the greatest, the first start, or a list.
[[nodiscard]] NamedValues conditions_of(std::initializer_list<const Attribute*> attributes);

}  // namespace gputopo
