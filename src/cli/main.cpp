#include <fmt/format.h>
#include <sys/auxv.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/commands.h"
#include "cli/crash.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/standard_streams.h"
#include "file/unexpected.h"
#include "gputopo/error.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

// Keeps freed memory for the next batch: returning and obtaining it page by page took a tenth of a second of a run.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestKeptBytes = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestKeptBytes);
  mallopt(M_TRIM_THRESHOLD, kLargestKeptBytes);
#endif
}

// A program with more rights than its caller (set-user-ID, file capabilities) uses nothing from its environment.
// gputopo reads it through environment_variable(), but the vendors' libraries and hwloc have variables of their own
// that name files and libraries.
void forget_untrusted_environment() {
  if (::getauxval(AT_SECURE) != 0) ::clearenv();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace gputopo;
  const auto fail = [](const char* what, int code) {
    cli::say(fmt::format("gputopo: error: {}", what));
    return code;
  };
  forget_untrusted_environment();
  keep_freed_memory();
  cli::fill_closed_streams();
  cli::prepare_signals();
  cli::report_driver_crashes();
  cli::end_with_parent();
  try {
    return cli::run(cli::parse_command_line(argc, argv));
  } catch (const UsageError& error) {
    return fail(error.what(), cli::kExitUsage);
  } catch (const cli::BrokenPipeError&) {
    cli::end_without_reader();
  } catch (const DeviceLostError& error) {
    // Skips the regular end of the process, where the driver's libraries may wait for a device that never responds.
    fail(error.what(), cli::kExitFailure);
    std::fflush(nullptr);
    std::_Exit(cli::kExitFailure);
  } catch (const std::exception& error) {
    return fail(explain_unexpected(error).c_str(), cli::kExitFailure);
  }
}
