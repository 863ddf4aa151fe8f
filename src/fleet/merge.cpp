#include "fleet/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "file/file_failure.h"
#include "file/limits.h"
#include "file/sanitize.h"
#include "fleet/arrow_import.h"
#include "fleet/document.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo::fleet {
namespace {

namespace fs = std::filesystem;

using Source = Sources::File;

bool is_report_name(const fs::path& path) {
  return path.extension() == ".json" && !path.filename().string().starts_with('.');
}

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

// The newest time of the runs, but not after `now`: a clock may be wrong.
std::int64_t time_of(const Document& document, std::int64_t now) {
  std::optional<std::int64_t> newest;
  for (const Run& run : document.runs) newest = std::max(newest, run.timestamp);
  return std::min(newest.value_or(now), now);
}

class Merge {
 public:
  Merge(const MergeOptions& options, StoreFile& store, const Complain& say)
      : options_(options), store_(store), say_(say) {}

  MergeSummary run(const Sources& sources) {
    summary_.problems = sources.problems;
    for (const Source& source : sources.files) take(source, false);
    // Simulated GPUs come last, when it is known whether the fleet has real ones, and stores may have some.
    for (const Source& source : std::exchange(later_, {})) take(source, true);
    store_.drop_documents(options_.now - options_.keep_reports_seconds);
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
  // A damaged file may have a problem with each of its links.
  void report_problems(const std::string& path, const std::vector<std::string>& problems) {
    constexpr std::size_t kMostShown = 10;
    const std::size_t shown = std::min(problems.size(), kMostShown);
    for (std::size_t i = 0; i < shown; ++i) leave_out(path, problems[i]);
    if (shown < problems.size()) leave_out(path, fmt::format("{} more problems", problems.size() - shown));
  }
  void add(const Run& run, ContentId file, ContentId report) {
    ++(store_.add(run, file, report) ? summary_.added : summary_.repeated);
    store_.add_file(file);
  }
  [[nodiscard]] bool refuses_simulated() { return !options_.takes_simulated && store_.has_real_runs(); }

  // `is_later`: in the second round.
  void take(const Source& source, bool is_later) try {
    const bool may_be_arrow = source.path.ends_with(".arrow");
    if (may_be_arrow && !is_later) return later_.push_back(source);
    const std::string text = read_file(source.path, may_be_arrow ? limits::kMaxArrowBytes : limits::kMaxInputBytes);
    const ContentId file = id_of_content(text);
    summary_.files += may_be_arrow || !is_later ? 1 : 0;
    if (store_.has_file(file)) {
      ++summary_.known;
    } else if (is_arrow(text)) {
      import(text, file);
    } else {
      take(source, text, file, is_later);
    }
    constexpr std::size_t kFilesAtOnce = 1000;
    if (options_.in_steps && ++in_transaction_ % kFilesAtOnce == 0) {
      store_.commit();
      store_.begin();
    }
  } catch (const FormatError& error) {
    leave_out(source.path, error.what());
  } catch (const FileError& error) {
    leave_out(error.what());
  }

  void take(const Source& source, const std::string& text, ContentId file, bool is_later) {
    Document document = read_document(text, source.place, !options_.is_anonymous);
    if (!is_later) report_problems(source.path, document.problems);
    const bool has_simulated = std::ranges::any_of(document.runs, &Run::simulated);
    if (has_simulated && !is_later) return later_.push_back(source);
    if (has_simulated && refuses_simulated()) {
      return leave_out(source.path, "the GPU is simulated, and the store has real ones; --simulated accepts both");
    }
    for (Run& run : document.runs) {
      const ContentId report = id_of_run(run);
      if (!options_.is_anonymous && source.path.size() <= limits::kMaxStoreText) run.document = source.path;
      add(run, file, report);
    }
    const std::int64_t time = time_of(document, options_.now);
    if (!options_.is_anonymous && time > options_.now - options_.keep_reports_seconds) {
      store_.keep_document(file, time, text);
    }
  }

  // A store of the format before SQLite.
  void import(std::string_view bytes, ContentId file) {
    std::size_t simulated = 0;
    read_arrow_store(bytes, [&](const Run& run, std::string_view report, std::string_view of_file) {
      Run taken = run;
      if (options_.is_anonymous) taken.name.clear();
      if (run.simulated && refuses_simulated()) {
        ++simulated;
      } else {
        add(taken, id_of_digits(of_file), id_of_digits(report));
      }
    });
    if (simulated > 0) {
      throw FormatError(
          fmt::format("{} of its runs are of simulated GPUs, and the store has real ones; --simulated "
                      "accepts both",
                      simulated));
    }
    store_.add_file(file);
  }

  const MergeOptions& options_;
  StoreFile& store_;
  const Complain& say_;
  MergeSummary summary_;
  std::vector<Source> later_;
  std::size_t in_transaction_ = 0;
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

Sources find_sources(const std::vector<std::string>& folders, const Complain& say) {
  Sources sources;
  const auto complain = [&](const std::string& problem) {
    ++sources.problems;
    say(problem);
  };
  for (const std::string& folder : folders) {
    for (Source& source : files_below(folder, complain)) sources.files.push_back(std::move(source));
  }
  return sources;
}

MergeSummary merge(const Sources& sources, const MergeOptions& options, StoreFile& store, const Complain& say) {
  return Merge(options, store, say).run(sources);
}

}  // namespace gputopo::fleet
