// The parts of the steps of data caches that other files of steps use.
#pragma once

#include "discover/measure/context.h"

namespace gputopo {

// Flags an attribute that misses tell where so many loads from memory look like hits that no misses can be told apart.
void flag_hidden_memory(Context& context, const ElementInfo& element, Attribute& attribute);

}  // namespace gputopo
