#include "fleet/store_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "file/limits.h"
#include "file/shown.h"
#include "fleet/store_schema.h"
#include "fleet/stored_value.h"
#include "fleet/value_kind.h"

namespace gputopo::fleet {
namespace {

// Earlier runs that a GPU is compared with. More runs show its past more precisely, but each night of 10,000 GPUs takes
// 60 MB of memory.
constexpr std::size_t kPastRuns = 7;
// Time for which all runs are known: missing GPUs are sought for 30 days.
constexpr std::int64_t kKnownSeconds = 40 * std::int64_t{86400};
constexpr std::int64_t kClockLeeway = 3600;
// Times of the year 10000 and later are no dates.
constexpr std::int64_t kEndOfDates = 253402300800;

class StoreReader {
 public:
  StoreReader(const std::string& path, sqlite::Waiting waiting)
      : database_(path, sqlite::Access::kRead, std::move(waiting)) {
    database_.run("BEGIN");
    check_schema(database_);
  }

  Store read(std::int64_t now) {
    find_runs(now);
    read_readings(0);
    store_.reserve_readings(std::min((kPastRuns + 1) * store_.readings().size(), limits::kMaxStoreReadings));
    for (std::size_t rank = 1; rank <= kPastRuns; ++rank) read_readings(rank);
    // In the order of merging, which decides between runs of the same time.
    for (const auto& [id, run] : runs_) store_.add(run);
    return std::move(store_);
  }

  std::string report_of(std::string_view gpu) {
    sqlite::Statement& found = database_(
        "SELECT d.bytes, d.content FROM runs r JOIN documents d ON d.file = r.file "
        "WHERE r.gpu = (SELECT id FROM texts WHERE text = ?1) OR r.name = (SELECT id FROM texts WHERE text = ?1) "
        "ORDER BY r.timestamp DESC, r.id DESC LIMIT 1");
    if (!found.with(gpu).next()) {
      throw StoreError(
          fmt::format("'{}' has no report of '{}': check the name; 'fleet merge --keep-reports DAYS' sets "
                      "how long the store keeps full reports",
                      database_.path(), shown(gpu)));
    }
    const std::int64_t bytes = found.integer(0);
    const std::string_view packed = found.text(1);
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > limits::kMaxInputBytes) damaged("a report has a wrong length");
    std::string text(static_cast<std::size_t>(bytes), '\0');
    uLongf size = text.size();
    const int code = uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
    if (code != Z_OK || size != text.size()) damaged("a report cannot be decompressed");
    return text;
  }

 private:
  struct Quantity {
    Word path;
    Word unit;
    Word source;
  };

  [[noreturn]] void damaged(std::string_view why) const {
    throw StoreError(
        fmt::format("'{}': the store is damaged ({}); merge the reports into a new store", database_.path(), why));
  }

  // A text by its id; 0 and null are none.
  Word word(std::int64_t id) {
    if (id == 0) return kNoWord;
    const auto [known, is_new] = words_.try_emplace(id);
    if (!is_new) return known->second;
    sqlite::Statement& found = database_("SELECT text FROM texts WHERE id = ?").with(id);
    if (!found.next()) damaged(fmt::format("text {} is missing", id));
    return known->second = word(found.text(0));
  }
  Word word(std::string_view text) {
    if (text.size() > limits::kMaxStoreText) damaged("a text is too long");
    return store_.word(text);
  }

  const Quantity& quantity(std::int64_t id) {
    const auto [known, is_new] = quantities_.try_emplace(id);
    if (!is_new) return known->second;
    sqlite::Statement& found = database_("SELECT path, unit, source FROM quantities WHERE id = ?").with(id);
    if (!found.next()) damaged(fmt::format("quantity {} is missing", id));
    return known->second = {word(found.text(0)), word(found.text(1)), word(found.text(2))};
  }

  // The index has each GPU's runs from the newest to the oldest, without a sorter. Its order is checked, because a
  // damaged file may repeat a part endlessly.
  void find_runs(std::int64_t now) {
    const std::int64_t newest = database_("SELECT max(timestamp) FROM runs WHERE timestamp <= ?")
                                    .with(std::min(now, kEndOfDates) + kClockLeeway)
                                    .number()
                                    .value_or(0);
    sqlite::Statement& rows =
        database_("SELECT gpu, timestamp, id FROM runs ORDER BY gpu DESC, timestamp DESC, id DESC");
    std::int64_t gpu = 0;
    std::size_t rank = 0;
    while (rows.next()) {
      rank = rows.integer(0) == gpu ? rank + 1 : 0;
      gpu = rows.integer(0);
      const bool is_known = rows.is_null(1) || rows.integer(1) >= newest - kKnownSeconds;
      if (rank > kPastRuns && !is_known) continue;
      const std::int64_t id = rows.integer(2);
      if (!runs_.emplace(id, StoredRun{}).second) damaged(fmt::format("run {} occurs twice", id));
      if (runs_.size() > limits::kMaxStoreRuns) damaged(fmt::format("it has more than {} runs", limits::kMaxStoreRuns));
      if (rank <= kPastRuns) by_rank_[rank].push_back(id);
    }
    for (auto& [id, run] : runs_) read_run(id, run);
  }

  void read_run(std::int64_t id, StoredRun& run) {
    sqlite::Statement& row =
        database_(
            "SELECT gpu, host, name, model, driver, profile, timestamp, simulated, document FROM runs WHERE id = ?")
            .with(id);
    if (!row.next()) damaged(fmt::format("run {} is missing", id));
    gpus_[id] = row.integer(0);
    run = {.host = word(row.integer(1)),
           .gpu = word(row.integer(0)),
           .name = word(row.integer(2)),
           .document = word(row.integer(8)),
           .model = word(row.integer(3)),
           .driver = word(row.integer(4)),
           .profile = word(row.integer(5)),
           .timestamp = std::nullopt,
           .simulated = row.integer(7) != 0};
    const std::int64_t time = row.integer(6);
    if (!row.is_null(6) && time >= 0 && time < kEndOfDates) run.timestamp = time;
  }

  // Reads the values of each GPU's run of that rank: 0 is the newest. The past may be too much for the memory.
  void read_readings(std::size_t rank) {
    for (const std::int64_t id : by_rank_[rank]) {
      std::map<std::int64_t, StoredValue> values;  // by quantity, so that all runs have one order
      const auto take = [&](sqlite::Statement& rows) {
        while (rows.next()) {
          if (!values.emplace(rows.integer(0), value_in(rows, 1)).second) damaged("a run has a value twice");
        }
      };
      take(database_("SELECT quantity, value, low, high, text, reason FROM changing WHERE run = ?").with(id));
      take(database_("SELECT quantity, value, low, high, text, reason FROM lasting WHERE gpu = ? AND first <= ? AND "
                     "last >= ?")
               .with(gpus_[id], id, id));
      if (store_.readings().size() + values.size() > limits::kMaxStoreReadings) {
        if (rank > 0) return;
        damaged(fmt::format("the newest runs have more than {} values", limits::kMaxStoreReadings));
      }
      StoredRun& run = runs_[id];
      run.first = store_.readings().size();
      for (const auto& [of, value] : values) {
        // Numbers of earlier runs are compared, and their verdicts count until there are newer ones.
        const Quantity& what = quantity(of);
        const bool is_of_past = !std::isnan(value.value) || is_verdict(store_.text(what.path));
        if (rank == 0 || is_of_past) add(what, value);
      }
      run.end = store_.readings().size();
    }
  }

  void add(const Quantity& of, const StoredValue& value) {
    store_.add({.value = value.value,
                .low = rounded_down(from_stored(value.low, value.value, Side::kLow)),
                .high = rounded_up(from_stored(value.high, value.value, Side::kHigh)),
                .path = of.path,
                .unit = of.unit,
                .source = of.source,
                .reason = word(value.reason.value_or(0)),
                .text = word(value.text.value_or(0))});
  }

  sqlite::Database database_;
  Store store_;
  std::unordered_map<std::int64_t, Word> words_;
  std::unordered_map<std::int64_t, Quantity> quantities_;
  std::map<std::int64_t, StoredRun> runs_;
  std::unordered_map<std::int64_t, std::int64_t> gpus_;  // by run
  std::array<std::vector<std::int64_t>, kPastRuns + 1> by_rank_;
};

}  // namespace

Store read_store(const std::string& path, std::int64_t now, sqlite::Waiting waiting) {
  return StoreReader(path, std::move(waiting)).read(now);
}

std::string read_newest_report(const std::string& path, std::string_view gpu, sqlite::Waiting waiting) {
  return StoreReader(path, std::move(waiting)).report_of(gpu);
}

}  // namespace gputopo::fleet
