// Reports crashes of a vendor's driver in this process.
#pragma once

namespace gputopo::cli {

// From now on, if a signal ends this process during a driver call, a line on standard error names the call, and no
// file is left half written. The signal still ends the process.
void report_driver_crashes();

}  // namespace gputopo::cli
