// Values that the vendor's interface reports of an element, and values that follow from others.
#pragma once

#include <initializer_list>
#include <string>

#include "gputopo/catalogue.h"
#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

// The size of an element in bytes; unavailable if the driver does not report it.
[[nodiscard]] Attribute reported_size(const DeviceInfo& info, ElementId element);

// An attribute of the same cache by another path, marked as inferred. It keeps its conditions but not its samples.
[[nodiscard]] Attribute inferred_from(Attribute other_path, std::string method);

// The conditions of a value that is computed from several attributes. If a condition differs between them: the mean
// clock, the lowest, the highest, the first start, or a list.
[[nodiscard]] NamedValues conditions_of(std::initializer_list<const Attribute*> attributes);

}  // namespace gputopo
