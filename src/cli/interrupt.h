// Signal handling. No signal that ends the program leaves a half-written file.
#pragma once

#include <atomic>

namespace gputopo::cli {

// For all commands. SIGINT, SIGTERM and SIGHUP end the program as usual, after incomplete files are removed. Failed
// writes return an error instead of raising a signal (SIGPIPE, SIGXFSZ), so that they can be reported.
void prepare_signals();

// Names the parent process that waits for this one (node_gpus.h). This process ends with it in any case.
inline constexpr const char* kParentVariable = "GPUTOPO_PARENT_PROCESS";
void end_with_parent();
// An end of the parent's pipe, closed once the device is open: the driver then starts up quickly for the parent.
inline constexpr int kDeviceOpenDescriptor = 3;
void tell_parent_device_is_open();

// Ctrl-C: the first one ends the discovery after the running launch, the second one ends the program at once. Catches
// SIGINT, SIGTERM and SIGHUP from now on; the flag becomes true at the first of them.
[[nodiscard]] const std::atomic<bool>& catch_interrupts();

}  // namespace gputopo::cli
