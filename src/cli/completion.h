// Shell completions, generated from the option definitions of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gputopo::cli {

[[nodiscard]] const std::vector<std::string>& completion_shells();  // "bash", "zsh", "fish"
[[nodiscard]] std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace gputopo::cli
