// The command `discover`, and parts of it that other commands share.
#pragma once

#include <functional>
#include <string>

#include "cli/attempts.h"
#include "cli/options.h"
#include "gputopo/model.h"

namespace gputopo::cli {

// Whether an output goes to a file: it was requested, and is not standard output.
[[nodiscard]] bool is_file(const std::string& path);

// Call it before a measurement: an unwritable file would lose the result. Throws UsageError and FileError.
void check_targets(const Options& options);

void write_files(const Options& options, const Topology& topology, Attempts& attempt);

// Prints to standard output. Call it after all files are written: the reader may go away (`| head -1`) or never read.
void print_report(const Options& options, const Topology& topology, Attempts& attempt);

using Print = std::function<void(const Topology& report, Attempts& attempt)>;
// Measures a device and writes the requested files. `print` writes to standard output. Returns the exit code.
[[nodiscard]] int run_discover(const Options& options, const Print& print);

}  // namespace gputopo::cli
