#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/standard_streams.h"
#include "gputopo/error.h"

int main(int argc, char** argv) {
  using namespace gputopo;
  const auto fail = [](const char* what, int code) {
    cli::say(fmt::format("gputopo: error: {}", what));
    return code;
  };
  cli::fill_closed_streams();
  cli::prepare_signals();
  try {
    return cli::run(cli::parse_command_line(argc, argv));
  } catch (const UsageError& error) {
    return fail(error.what(), cli::kExitUsage);
  } catch (const cli::ReaderGoneError&) {
    cli::end_without_reader();
  } catch (const DeviceLostError& error) {
    // The end of the process is left out: there the driver's libraries may wait for a device that never answers.
    fail(error.what(), cli::kExitFailure);
    std::fflush(nullptr);
    std::_Exit(cli::kExitFailure);
  } catch (const std::bad_alloc&) {
    return fail("out of memory on the host; close other programs or ask for fewer elements with --only",
                cli::kExitFailure);
  } catch (const std::exception& error) {
    return fail(error.what(), cli::kExitFailure);
  }
}
