#include "fleet/store_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <cmath>
#include <new>
#include <unordered_set>
#include <utility>

#include "fleet/store_schema.h"
#include "gputopo/error.h"

namespace gputopo::fleet {
namespace {

std::string content_of(const Run& run) {
  std::string content = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", run.host, run.gpu, run.model, run.driver,
                                    run.profile, run.timestamp.value_or(-1), run.simulated);
  for (const Reading& reading : run.readings) {
    content += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", reading.path, reading.value, reading.low, reading.high,
                           reading.unit, reading.source, reading.reason, reading.text);
  }
  return content;
}

}  // namespace

ContentId id_of_digits(std::string_view digits) {
  std::uint64_t id = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), id, 16);
  return static_cast<ContentId>(id);
}

ContentId id_of_content(std::string_view content) { return id_of_digits(anonymous_id(content)); }

ContentId id_of_run(const Run& run) { return id_of_content(content_of(run)); }

StoreFile::StoreFile(const std::string& path, sqlite::Access access, sqlite::Waiting waiting)
    : database_(path, access, std::move(waiting)) {
  begin();
  // An empty file is a store whose first merge was interrupted.
  const bool is_new = access == sqlite::Access::kCreate &&
                      database_.number("SELECT count(*) FROM sqlite_schema") == 0 &&
                      database_.number("PRAGMA application_id") == 0 && database_.number("PRAGMA user_version") == 0;
  if (is_new) create_schema(database_);
  check_schema(database_);
}

void StoreFile::begin() {
  database_.run("BEGIN IMMEDIATE");
  texts_.clear();
  quantities_.clear();
}

void StoreFile::commit() { database_.run("COMMIT"); }

void StoreFile::clear() {
  for (const char* table : {"texts", "quantities", "files", "runs", "changing", "lasting", "documents"}) {
    database_.run(fmt::format("DELETE FROM {}", table));
  }
}

bool StoreFile::has_file(ContentId file) {
  return database_("SELECT 1 FROM files WHERE id = ?").with(file).number().has_value();
}

bool StoreFile::has_real_runs() {
  has_real_runs_ = has_real_runs_ || database_("SELECT 1 FROM runs WHERE NOT simulated LIMIT 1").number().has_value();
  return has_real_runs_;
}

void StoreFile::add_file(ContentId file) { database_("INSERT OR IGNORE INTO files VALUES (?)").with(file).run(); }

std::optional<std::int64_t> StoreFile::text_id(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto [known, is_new] = texts_.try_emplace(text);
  if (!is_new) return known->second;
  if (const auto id = database_("SELECT id FROM texts WHERE text = ?").with(text).number()) {
    return known->second = *id;
  }
  database_("INSERT INTO texts (text) VALUES (?)").with(text).run();
  return known->second = database_.last_id();
}

std::int64_t StoreFile::quantity_id(const Reading& reading) {
  const std::string key = fmt::format("{}\n{}\n{}", reading.path, reading.unit, reading.source);
  const auto [known, is_new] = quantities_.try_emplace(key);
  if (!is_new) return known->second;
  sqlite::Statement& find = database_("SELECT id FROM quantities WHERE path = ? AND unit = ? AND source = ?");
  if (const auto id = find.with(reading.path, reading.unit, reading.source).number()) return known->second = *id;
  database_("INSERT INTO quantities (path, unit, source) VALUES (?, ?, ?)")
      .with(reading.path, reading.unit, reading.source)
      .run();
  return known->second = database_.last_id();
}

StoredValue StoreFile::value_of(const Reading& reading) {
  return {.value = std::isfinite(reading.value) ? reading.value : std::nan(""),
          .low = to_stored(reading.low, reading.value, Side::kLow),
          .high = to_stored(reading.high, reading.value, Side::kHigh),
          .text = text_id(reading.text),
          .reason = text_id(reading.reason)};
}

StoreFile::Values StoreFile::values_of(std::int64_t gpu, std::int64_t run) {
  Values values;
  sqlite::Statement& changing =
      database_("SELECT quantity, value, low, high, text, reason FROM changing WHERE run = ?").with(run);
  while (changing.next()) values[changing.integer(0)] = {value_in(changing, 1), std::nullopt};
  sqlite::Statement& lasting =
      database_("SELECT quantity, value, low, high, text, reason, first FROM lasting WHERE gpu = ? AND last >= ?")
          .with(gpu, run);
  while (lasting.next()) values[lasting.integer(0)] = {value_in(lasting, 1), lasting.integer(6)};
  return values;
}

// A value that the GPU's last run had, too, becomes one row for both, or extends the row that it has.
bool StoreFile::add(const Run& run, ContentId file, ContentId report) {
  const std::int64_t gpu = text_id(run.gpu).value_or(0);
  if (database_("SELECT 1 FROM runs WHERE gpu = ? AND timestamp IS ? AND report = ?")
          .with(gpu, run.timestamp, report)
          .number()) {
    return false;
  }
  const std::int64_t last = database_("SELECT max(id) FROM runs WHERE gpu = ?").with(gpu).number().value_or(0);
  const Values known = values_of(gpu, last);
  database_(
      "INSERT INTO runs (gpu, timestamp, report, file, host, name, document, model, driver, profile, simulated) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .with(gpu, run.timestamp, report, file, text_id(run.host), text_id(run.name), text_id(run.document),
            text_id(run.model), text_id(run.driver), text_id(run.profile), std::int64_t{run.simulated})
      .run();
  const std::int64_t id = database_.last_id();
  std::unordered_set<std::int64_t> added;
  for (const Reading& reading : run.readings) {
    const std::int64_t quantity = quantity_id(reading);
    if (!added.insert(quantity).second) continue;
    const StoredValue value = value_of(reading);
    const auto before = known.find(quantity);
    if (before == known.end() || !is_same(before->second.value, value)) {
      database_("INSERT INTO changing VALUES (?, ?, ?, ?, ?, ?, ?)")
          .with(id, quantity, value.value, value.low, value.high, value.text, value.reason)
          .run();
    } else if (before->second.first) {
      database_("UPDATE lasting SET last = ? WHERE gpu = ? AND quantity = ? AND first = ?")
          .with(id, gpu, quantity, *before->second.first)
          .run();
    } else {
      database_("DELETE FROM changing WHERE run = ? AND quantity = ?").with(last, quantity).run();
      database_("INSERT INTO lasting VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
          .with(gpu, quantity, last, id, value.value, value.low, value.high, value.text, value.reason)
          .run();
    }
  }
  return true;
}

void StoreFile::keep_document(ContentId file, std::int64_t timestamp, std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  // A better compression takes several times as long and saves a tenth of the size.
  constexpr int kLevel = 3;
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                text.size(), kLevel) != Z_OK) {
    throw std::bad_alloc();
  }
  packed.resize(size);
  database_("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)")
      .with(file, timestamp, static_cast<std::int64_t>(text.size()), sqlite::Blob{packed})
      .run();
}

void StoreFile::drop_documents(std::int64_t before) {
  database_("DELETE FROM documents WHERE timestamp < ?").with(before).run();
}

std::int64_t StoreFile::run_count() { return database_.number("SELECT count(*) FROM runs"); }

Forgotten StoreFile::forget(std::int64_t before) {
  Forgotten forgotten;
  forgotten.documents = database_.number(fmt::format("SELECT count(*) FROM documents WHERE timestamp < {}", before));
  drop_documents(before);
  // A transaction's journal has what it removes, so that one for all runs could fill the disk.
  constexpr int kRunsAtOnce = 20'000;
  for (;;) {
    database_.run(
        fmt::format("CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY); DELETE FROM temp.gone; "
                    "INSERT INTO temp.gone SELECT id FROM runs WHERE timestamp < {} LIMIT {}",
                    before, kRunsAtOnce));
    const std::int64_t runs = database_.number("SELECT count(*) FROM temp.gone");
    if (runs == 0) break;
    forgotten.runs += runs;
    database_.run("DELETE FROM changing WHERE run IN temp.gone; DELETE FROM runs WHERE id IN temp.gone");
    commit();
    begin();
  }
  database_.run(
      "DELETE FROM lasting WHERE NOT EXISTS "
      "(SELECT 1 FROM runs WHERE gpu = lasting.gpu AND id BETWEEN lasting.first AND lasting.last)");
  forgotten.free_bytes = database_.number("PRAGMA freelist_count") * database_.number("PRAGMA page_size");
  commit();
  return forgotten;
}

}  // namespace gputopo::fleet
