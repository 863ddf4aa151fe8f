// The man page, generated from the option definitions of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gputopo::cli {

// gputopo.1 in man(7) macros.
[[nodiscard]] std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace gputopo::cli
