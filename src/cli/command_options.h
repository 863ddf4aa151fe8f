// Adds the options of each command to its parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.h"

namespace gputopo::cli {

// Accepts these values only. The option's description lists them. A CLI11 check would add its own name after the
// value's name in help, man page and completions, so this check has none.
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
