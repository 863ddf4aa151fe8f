// Parts of the data-cache steps that other step files use.
#pragma once

#include "discover/measure/context.h"

namespace gputopo {

// Flags an attribute that rests on misses if too many loads from memory look like hits to tell misses apart.
void flag_hidden_memory(Context& context, const ElementInfo& element, Attribute& attribute);

}  // namespace gputopo
