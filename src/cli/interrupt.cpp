#include "cli/interrupt.h"

#include <csignal>
#include <cstdlib>

#include "cli/options.h"

namespace gputopo::cli {
namespace {

std::atomic<bool> g_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

extern "C" void on_interrupt(int) {
  if (g_interrupted.exchange(true)) std::_Exit(kExitInterrupted);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return g_interrupted;
}

}  // namespace gputopo::cli
