#include "fleet/store_schema.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "file/shown.h"

namespace gputopo::fleet {
namespace {

constexpr std::int64_t kApplicationId = 0x67707566;  // "gpuf"
constexpr std::int64_t kVersion = 1;

constexpr const char* kTables = R"(
CREATE TABLE texts (  -- all texts of runs and values, each once
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
);
CREATE TABLE quantities (  -- what is measured
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  unit TEXT NOT NULL,
  source TEXT NOT NULL,  -- measured, api, ...; of a verdict: good, bad, not_judged
  UNIQUE (path, unit, source)
);
CREATE TABLE files (  -- digests of the contents of all files that were merged
  id INTEGER PRIMARY KEY
);
CREATE TABLE runs (  -- one measurement of one GPU; gpu, and host to profile, are texts.id
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  gpu INTEGER NOT NULL,
  timestamp INTEGER,  -- seconds since 1970, UTC
  report INTEGER NOT NULL,  -- digest of the run's content
  file INTEGER NOT NULL,
  host INTEGER,
  name INTEGER,
  document INTEGER,
  model INTEGER,
  driver INTEGER,
  profile INTEGER,
  simulated INTEGER NOT NULL
);
CREATE INDEX runs_of_gpu ON runs (gpu, timestamp);
CREATE TABLE changing (  -- values that one run alone has
  run INTEGER NOT NULL,
  quantity INTEGER NOT NULL,
  value REAL,
  low,  -- integer: millionths of the value below it; real: the bound itself
  high,  -- the same above the value
  text INTEGER,
  reason INTEGER,
  PRIMARY KEY (run, quantity)
) WITHOUT ROWID;
CREATE TABLE lasting (  -- values that all runs of a GPU have from the first to the last
  gpu INTEGER NOT NULL,
  quantity INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  value REAL,
  low,
  high,
  text INTEGER,
  reason INTEGER,
  PRIMARY KEY (gpu, quantity, first)
) WITHOUT ROWID;
CREATE TABLE documents (  -- the reports themselves, for some days
  file INTEGER PRIMARY KEY,
  timestamp INTEGER NOT NULL,
  bytes INTEGER NOT NULL,  -- before compression
  content BLOB NOT NULL  -- zlib
);
CREATE INDEX documents_by_time ON documents (timestamp);
)";

// A row of `readings`, from a run r, a value v of it, and the value's quantity q.
constexpr const char* kRow =
    R"(SELECT r.id AS run, printf('%016x', r.report) AS report, printf('%016x', r.file) AS file,
  (SELECT text FROM texts WHERE id = r.host) AS host, g.text AS gpu,
  (SELECT text FROM texts WHERE id = r.name) AS name,
  (SELECT text FROM texts WHERE id = r.document) AS document, (SELECT text FROM texts WHERE id = r.model) AS model,
  (SELECT text FROM texts WHERE id = r.driver) AS driver, (SELECT text FROM texts WHERE id = r.profile) AS profile,
  r.timestamp, strftime('%Y-%m-%dT%H:%M:%SZ', r.timestamp, 'unixepoch') AS time, r.simulated, q.path, v.value,
  CASE typeof(v.low) WHEN 'integer' THEN v.value - abs(v.value) * v.low * 1e-6 ELSE v.low END AS low,
  CASE typeof(v.high) WHEN 'integer' THEN v.value + abs(v.value) * v.high * 1e-6 ELSE v.high END AS high,
  nullif(q.unit, '') AS unit, q.source, (SELECT text FROM texts WHERE id = v.reason) AS reason,
  (SELECT text FROM texts WHERE id = v.text) AS text)";
// Without numbers of rows, SQLite would read all values to find those of one path. These are those of a large store.
constexpr const char* kStatistics = R"(
ANALYZE;
INSERT INTO sqlite_stat1 VALUES
  ('changing', 'changing', '300000000 80 1'), ('lasting', 'lasting', '1000000 100 2 1'),
  ('runs', 'runs_of_gpu', '3000000 300 1'), ('quantities', 'sqlite_autoindex_quantities_1', '500 2 2 1'),
  ('texts', 'sqlite_autoindex_texts_1', '30000 1');
)";

constexpr const char* kOfChanging =
    " JOIN texts g ON g.id = r.gpu JOIN changing v ON v.run = r.id JOIN quantities q ON q.id = v.quantity";
constexpr const char* kOfLasting =
    " JOIN texts g ON g.id = r.gpu JOIN lasting v ON v.gpu = r.gpu AND r.id BETWEEN v.first AND v.last JOIN quantities "
    "q ON q.id = v.quantity";
constexpr const char* kNewestRuns =
    "(SELECT DISTINCT gpu FROM runs) n JOIN runs r ON r.id = "
    "(SELECT id FROM runs WHERE gpu = n.gpu ORDER BY timestamp DESC, id DESC LIMIT 1)";

std::string view(std::string_view name, std::string_view runs) {
  return fmt::format("CREATE VIEW {0} AS\n{1}\nFROM {2}{3}\nUNION ALL\n{1}\nFROM {2}{4};\n", name, kRow, runs,
                     kOfChanging, kOfLasting);
}

// The statements that made the database, by name.
std::map<std::string, std::string> statements_of(sqlite::Database& database) {
  std::map<std::string, std::string> statements;
  sqlite::Statement rows = database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema");
  while (rows.next()) {
    const std::string name = fmt::format("{} {}", rows.text(0), rows.text(1));
    if (name.starts_with("table sqlite_stat")) continue;  // changed by ANALYZE, and only hints
    const bool is_new = statements.emplace(name, fmt::format("{}\n{}", rows.text(2), rows.text(3))).second;
    if (!is_new) throw StoreError(fmt::format("'{}': the store has {} twice", database.path(), shown(name)));
  }
  return statements;
}

[[noreturn]] void refuse_schema(const sqlite::Database& database, std::string_view why) {
  throw StoreError(fmt::format("'{}': {}; give a store written by 'gputopo fleet merge'", database.path(), why));
}

}  // namespace

void create_schema(sqlite::Database& database) {
  database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion));
  database.run(kTables + view("readings", "runs r") + view("latest", kNewestRuns) + kStatistics);
}

void check_schema(sqlite::Database& database) {
  if (database.number("PRAGMA application_id") != kApplicationId)
    refuse_schema(database, "the file is a database, but not a fleet store");
  const std::int64_t version = database.number("PRAGMA user_version");
  if (version > kVersion) {
    throw StoreError(
        fmt::format("'{}': the store has version {}, and this gputopo reads versions up to {}: use a newer "
                    "gputopo",
                    database.path(), version, kVersion));
  }
  if (version != kVersion) refuse_schema(database, fmt::format("the store has the unknown version {}", version));
  sqlite::Database own(sqlite::kInMemory, sqlite::Access::kCreate, {});
  create_schema(own);
  const std::map<std::string, std::string> expected = statements_of(own);
  const std::map<std::string, std::string> found = statements_of(database);
  for (const auto& [name, sql] : found) {
    const auto known = expected.find(name);
    if (known == expected.end())
      refuse_schema(database, fmt::format("{} does not belong to a store: drop it", shown(name)));
    if (known->second != sql) refuse_schema(database, fmt::format("{} differs from that of a store", shown(name)));
  }
  for (const auto& [name, sql] : expected) {
    if (!found.contains(name)) refuse_schema(database, fmt::format("{} is missing", name));
  }
}

}  // namespace gputopo::fleet
