// The options of each command, added to its parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.h"

namespace gputopo::cli {

// The description of an option says which values it takes. CLI11 would write the name of a check behind the name of the
// value in the help, the man page and the completions, so this check has none.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& values);

void add_device_option(CLI::App& app, Options& options);
void add_output_options(CLI::App& app, Options& options);
void add_discover_options(CLI::App& app, Options& options);  // without the device
void add_diff_options(CLI::App& diff, Options& options);
void add_check_options(CLI::App& check, Options& options);
void add_get_options(CLI::App& get, Options& options);
void add_model_options(CLI::App& model, Options& options);
void add_node_options(CLI::App& node, Options& options);

}  // namespace gputopo::cli
