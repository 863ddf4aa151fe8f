// Signals. No file is left half written, whichever of them ends the program.
#pragma once

#include <atomic>

namespace gputopo::cli {

// For all commands. SIGINT, SIGTERM and SIGHUP end the program as they always do, once unfinished files are removed.
// What cannot be written fails with an error instead of a signal (SIGPIPE, SIGXFSZ), for it can be told.
void prepare_signals();

// Names the process that started this one and waits for it (node_gpus.h): this one is told to end when that ends,
// however it does.
inline constexpr const char* kParentVariable = "GPUTOPO_PARENT_PROCESS";
void end_with_parent();
// A pipe's end that this process has from the other: closed once its device is open, after which the driver starts up
// for the other soon.
inline constexpr int kDeviceOpenDescriptor = 3;
void tell_parent_device_is_open();

// Ctrl-C: the first ends the discovery after the running launch, the second ends the program at once. Catches SIGINT,
// SIGTERM and SIGHUP from now on; the flag becomes true at the first of them.
[[nodiscard]] const std::atomic<bool>& catch_interrupts();

}  // namespace gputopo::cli
