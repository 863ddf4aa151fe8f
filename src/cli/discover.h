// The command `discover`, and the parts of it that other commands share.
#pragma once

#include <functional>
#include <string>

#include "cli/attempts.h"
#include "cli/options.h"
#include "gputopo/model.h"

namespace gputopo::cli {

// Whether an output goes to a file: it was asked for, and not on standard output.
[[nodiscard]] bool is_file(const std::string& path);

// Before a measurement, because a file that cannot be written would lose its result.
void check_targets(const Options& options);

void write_files(const Options& options, const Topology& topology, Attempts& attempt);

// To standard output. It comes after all files: the reader may go away (`| head -1`), or never read.
void print_report(const Options& options, const Topology& topology, Attempts& attempt);

using Print = std::function<void(const Topology& report, Attempts& attempt)>;
// Measures a device and writes the files that were asked for; `print` writes to standard output.
[[nodiscard]] int run_discover(const Options& options, const Print& print);

}  // namespace gputopo::cli
