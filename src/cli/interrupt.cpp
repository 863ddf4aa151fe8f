#include "cli/interrupt.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include "cli/options.h"
#include "file/environment.h"
#include "file/unfinished.h"

namespace gputopo::cli {
namespace {

std::atomic<bool> g_interrupted = false;
bool g_has_parent = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use only lock-free atomics");

extern "C" void on_interrupt(int) {
  if (!g_interrupted.exchange(true)) return;
  remove_unfinished();
  std::_Exit(kExitInterrupted);
}

extern "C" void on_end(int signal) {
  remove_unfinished();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // delivered when this handler returns
}

void handle(int signal, void (*handler)(int)) {
  // Under nohup, SIGHUP stays ignored.
  struct sigaction old {};
  if (signal == SIGHUP && sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

void prepare_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // the parent may have ignored it, and then no child could be waited for
  for (const int signal : kEndingSignals) handle(signal, on_end);
}

void end_with_parent() {
  const char* const set = environment_variable(kParentVariable);
  if (set == nullptr) return;
  const std::string parent = set;
  unsetenv(kParentVariable);
  g_has_parent = true;
  // A milder signal does not end a process that is stopped or held in a driver.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(getppid()) != parent) std::_Exit(kExitInterrupted);  // the parent ended earlier
}

void tell_parent_device_is_open() {
  if (std::exchange(g_has_parent, false)) close(kDeviceOpenDescriptor);
}

const std::atomic<bool>& catch_interrupts() {
  for (const int signal : kEndingSignals) handle(signal, on_interrupt);
  return g_interrupted;
}

}  // namespace gputopo::cli
