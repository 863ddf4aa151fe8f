// What is said when a vendor's driver crashes within this process.
#pragma once

namespace gputopo::cli {

// From now on a signal that ends this process during a call of a driver is told in a line that names the call; no file
// is left half written. The process ends by that signal nevertheless.
void tell_crashes_of_drivers();

}  // namespace gputopo::cli
