// Reports of older schema versions.
#pragma once

#include "gputopo/model.h"

namespace gputopo::report {

// Makes of what was read from a report of schema version 1 or 2 what version 3 says of it: groups of SMs as such, typed
// tables of samples, tables of what were lists among the details. Only names are needed: those of gputopo 0.1.
void upgrade(Topology& topology);

}  // namespace gputopo::report
