#include "cli/crash.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "device/driver/driver_call.h"
#include "file/unfinished.h"

namespace gputopo::cli {
namespace {

struct CrashSignal {
  int number;
  const char* name;
};
constexpr std::array kCrashSignals = {CrashSignal{SIGABRT, "SIGABRT"}, CrashSignal{SIGSEGV, "SIGSEGV"},
                                      CrashSignal{SIGBUS, "SIGBUS"}, CrashSignal{SIGILL, "SIGILL"},
                                      CrashSignal{SIGFPE, "SIGFPE"}};
// The previous handlers: sanitizers and debuggers have their own.
std::array<struct sigaction, kCrashSignals.size()> g_before;

// A signal handler may only call write().
void write_text(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

extern "C" void on_crash(int signal, siginfo_t* information, void*) {
  for (std::size_t i = 0; i < kCrashSignals.size(); ++i) {
    if (kCrashSignals[i].number != signal) continue;
    if (const char* const call = name_of_running_driver_call()) {
      write_text("gputopo: error: the driver crashed in ");
      write_text(call);
      write_text(" (");
      write_text(kCrashSignals[i].name);
      write_text(
          "); update the driver, check whether it supports this GPU, or choose another device: see 'gputopo list'\n");
    }
    ::sigaction(signal, &g_before[i], nullptr);
  }
  remove_unfinished();
  // A fault recurs at its place when this handler returns. A signal that was sent does not.
  if (information->si_code <= 0) std::raise(signal);
}

}  // namespace

void report_driver_crashes() {
  for (std::size_t i = 0; i < kCrashSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(kCrashSignals[i].number, &action, &g_before[i]);
  }
}

}  // namespace gputopo::cli
