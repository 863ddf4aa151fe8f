// Merges many files into one store. Files are read one by one, and only what the store keeps stays in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "fleet/store.h"

namespace gputopo::fleet {

struct MergeOptions {
  bool keep_names = false;       // host names, or file paths if the document has no host name
  bool takes_simulated = false;  // beside the runs of real GPUs, too
};

struct MergeSummary {
  std::size_t files = 0;     // files read or already known
  std::size_t known = 0;     // files that the store already had
  std::size_t added = 0;     // new runs
  std::size_t repeated = 0;  // runs that another file already contained
  std::size_t problems = 0;
};

// Runs of simulated GPUs are left out if the store has runs of real ones, unless the options say otherwise. Reads every
// *.json below the folders, sorted by path, or a given file. An unreadable file or subfolder costs one line to `say`;
// the others are still read. Throws a FileError if one of `folders` does not exist.
[[nodiscard]] MergeSummary merge(const std::vector<std::string>& folders, const MergeOptions& options, Store& store,
                                 const std::function<void(const std::string& problem)>& say);

// Identifies a file's GPU: the path within the folder without ".json" and without folders named like a date
// (2026-11-25, 20261125T0300), so that the runs of all nights belong to the same GPU.
[[nodiscard]] std::string place_of(const std::string& path_in_folder);

}  // namespace gputopo::fleet
