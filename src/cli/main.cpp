#include <fmt/format.h>

#include <exception>
#include <new>

#include "cli/commands.h"
#include "cli/options.h"
#include "gputopo/error.h"

int main(int argc, char** argv) {
  using namespace gputopo;
  const auto fail = [](const char* what, int code) {
    fmt::print(stderr, "gputopo: error: {}\n", what);
    return code;
  };
  try {
    return cli::run(cli::parse_command_line(argc, argv));
  } catch (const UsageError& error) {
    return fail(error.what(), cli::kExitUsage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory on the host; close other programs or ask for fewer elements with --only",
                cli::kExitFailure);
  } catch (const std::exception& error) {
    return fail(error.what(), cli::kExitFailure);
  }
}
