#include "fleet/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "file/file_failure.h"
#include "file/sanitize.h"
#include "fleet/document.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo::fleet {
namespace {

namespace fs = std::filesystem;

struct Source {
  std::string path;
  std::string place;
};

// Added last, when it is known whether the fleet has real GPUs.
struct SimulatedRun {
  Run run;
  std::string file;
  std::string path;
};

bool is_report_name(const fs::path& path) {
  return path.extension() == ".json" && !path.filename().string().starts_with('.');
}

using Complain = std::function<void(const std::string& problem)>;

// Reports a folder that is unreadable or disappears to `complain` and continues with the others.
std::vector<Source> files_below(const std::string& folder, const Complain& complain) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) fail_on_file("read", folder, error ? error.value() : ENOENT);
  if (!fs::is_directory(status)) return {{folder, place_of(fs::path(folder).filename())}};
  std::vector<Source> sources;
  std::vector<fs::path> folders = {folder};
  while (!folders.empty()) {
    const fs::path below = std::move(folders.back());
    folders.pop_back();
    fs::directory_iterator entry(below, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code ignored;
      // Links to folders are not followed, because they may form a cycle.
      if (entry->is_directory(ignored)) {
        if (!entry->is_symlink(ignored)) folders.push_back(entry->path());
      } else if (is_report_name(entry->path())) {
        sources.push_back({entry->path(), place_of(entry->path().lexically_relative(folder))});
      }
    }
    if (error) complain(file_failure("read", below, error.value()));
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources;
}

// True for names that begin with a date: 2026-11-25 or 20261125, also with a time. Names of hosts may be numbers, too.
bool is_date(std::string_view name) {
  std::string digits;
  for (const char c : name) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (std::string_view("-_:.TZ").find(c) == std::string_view::npos) {
      return false;
    }
  }
  const bool is_split = name.size() > 4 && (name[4] < '0' || name[4] > '9');
  const std::size_t length = is_split ? 10 : 8;
  if (name.size() < length || digits.size() < 8 || (is_split && name[7] != name[4])) return false;
  const bool is_followed_by_digit = name.size() > length && name[length] >= '0' && name[length] <= '9';
  const bool has_time = digits.size() == name.size() && (name.size() == 12 || name.size() == 14);  // 202611250300
  if (is_followed_by_digit && !has_time) return false;
  const auto number = [&](std::size_t at, std::size_t count) {
    int value = 0;
    std::from_chars(digits.data() + at, digits.data() + at + count, value);
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(4, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(6, 2)))};
  constexpr std::chrono::year kFirst{2000};
  constexpr std::chrono::year kEnd{2100};
  return day.ok() && day.year() >= kFirst && day.year() < kEnd;
}

class Merge {
 public:
  Merge(const MergeOptions& options, Store& store, const Complain& say) : options_(options), store_(store), say_(say) {}

  MergeSummary run(const std::vector<std::string>& folders) {
    std::vector<Source> sources;
    for (const std::string& folder : folders) {
      const auto complain = [this](const std::string& problem) { leave_out(problem); };
      for (Source& source : files_below(folder, complain)) sources.push_back(std::move(source));
    }
    for (const Source& source : sources) take(source);
    take_simulated();
    return summary_;
  }

 private:
  void leave_out(const std::string& problem) {
    ++summary_.problems;
    say_(problem);
  }
  void leave_out(const std::string& path, std::string_view problem) {
    leave_out(fmt::format("'{}': {}", sanitized_line(path), problem));
  }
  void add(const Run& run, const std::string& file) { ++(store_.add(run, file) ? summary_.added : summary_.repeated); }

  void take(const Source& source) try {
    const std::string text = read_file(source.path);
    ++summary_.files;
    const std::string file = Store::file_id(text);
    if (store_.has_file(file)) {
      ++summary_.known;
      return;
    }
    const Document document = read_document(text, source.place, options_.keep_names);
    for (const std::string& problem : document.problems) leave_out(source.path, problem);
    for (const Run& run : document.runs) {
      run.simulated ? simulated_.push_back({run, file, source.path}) : add(run, file);
    }
  } catch (const FileError& error) {
    leave_out(error.what());
  } catch (const FormatError& error) {
    leave_out(source.path, error.what());
  }

  void take_simulated() {
    const auto is_real = [](const StoredRun& run) { return !run.simulated; };
    const bool refuses = !options_.takes_simulated && std::ranges::any_of(store_.runs(), is_real);
    for (const SimulatedRun& one : simulated_) {
      if (refuses) {
        leave_out(one.path, "the GPU is simulated, and the store has real ones; --simulated accepts both");
      } else {
        add(one.run, one.file);
      }
    }
  }

  const MergeOptions& options_;
  Store& store_;
  const Complain& say_;
  MergeSummary summary_;
  std::vector<SimulatedRun> simulated_;
};

}  // namespace

std::string place_of(const std::string& path_in_folder) {
  const fs::path path(path_in_folder);
  fs::path place;
  for (const fs::path& part : path.parent_path()) {
    if (!is_date(part.string())) place /= part;
  }
  const fs::path name = path.filename();
  return (place / (name.extension() == ".json" ? name.stem() : name)).string();
}

MergeSummary merge(const std::vector<std::string>& folders, const MergeOptions& options, Store& store,
                   const std::function<void(const std::string& problem)>& say) {
  return Merge(options, store, say).run(folders);
}

}  // namespace gputopo::fleet
