// Completions for shells, from the same option definitions as --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gputopo::cli {

[[nodiscard]] const std::vector<std::string>& completion_shells();  // "bash", "zsh", "fish"
[[nodiscard]] std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace gputopo::cli
