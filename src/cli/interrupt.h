// Ctrl-C: the first ends the discovery after the running launch, the second ends the program at once.
#pragma once

#include <atomic>

namespace gputopo::cli {

// Catches SIGINT and SIGTERM from now on. The flag becomes true at the first of them.
[[nodiscard]] const std::atomic<bool>& catch_interrupts();

}  // namespace gputopo::cli
