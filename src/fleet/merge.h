// Merges many files into one store. Files are read one by one, and none of them stays in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "fleet/store_file.h"

namespace gputopo::fleet {

struct MergeOptions {
  bool is_anonymous = false;     // without host names, paths of files and the reports themselves
  bool takes_simulated = false;  // beside the runs of real GPUs, too
  bool in_steps = false;         // commits now and then, so that others get a turn and a killed merge loses little
  std::int64_t now = 0;          // seconds since 1970
  std::int64_t keep_reports_seconds = 0;  // keeps the reports that are not older than this
};

struct MergeSummary {
  std::size_t files = 0;     // files read or already known
  std::size_t known = 0;     // files that the store already had
  std::size_t added = 0;     // new runs
  std::size_t repeated = 0;  // runs that another file already contained
  std::size_t problems = 0;
};

using Complain = std::function<void(const std::string& problem)>;

struct Sources {
  struct File {
    std::string path;
    std::string place;
  };
  std::vector<File> files;
  std::size_t problems = 0;
};

// Finds every *.json below the folders, sorted by path, or takes a given file. An unreadable subfolder costs one line
// to `say`. Throws a FileError if one of `folders` does not exist.
[[nodiscard]] Sources find_sources(const std::vector<std::string>& folders, const Complain& say);

// Leaves the last transaction to the caller. Runs of simulated GPUs are left out if the store has runs of real ones,
// unless the options say otherwise. An unreadable file costs one line to `say`; the others are still read.
[[nodiscard]] MergeSummary merge(const Sources& sources, const MergeOptions& options, StoreFile& store,
                                 const Complain& say);

// Identifies a file's GPU: the path within the folder without ".json" and without folders named like a date
// (2026-11-25, 20261125T0300), so that the runs of all nights belong to the same GPU.
[[nodiscard]] std::string place_of(const std::string& path_in_folder);

}  // namespace gputopo::fleet
