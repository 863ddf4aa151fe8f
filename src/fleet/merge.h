// Many files become one store, one after the other: what was read of a file is all that stays of it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "fleet/store.h"

namespace gputopo::fleet {

struct MergeOptions {
  bool keep_names = false;  // of hosts, and of files where these name none
};

struct MergeSummary {
  std::size_t files = 0;     // that were read or known
  std::size_t known = 0;     // that the store had
  std::size_t added = 0;     // runs
  std::size_t repeated = 0;  // runs that were there already, from another file
  std::size_t problems = 0;
};

// Every *.json below the folders, in the order of their names, or a file itself. A file or a folder within that cannot
// be read is told to `say` in a line, and the others are read. Throws FileError where one of `folders` is not there.
[[nodiscard]] MergeSummary merge(const std::vector<std::string>& folders, const MergeOptions& options, Store& store,
                                 const std::function<void(const std::string& problem)>& say);

// What tells a file's GPU from others: its path within the folder without ".json" and without folders that are called
// like a date (2026-11-25, 20261125T0300), so that each night's runs are of the same GPUs.
[[nodiscard]] std::string place_of(const std::string& path_in_folder);

}  // namespace gputopo::fleet
