#include "fleet/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "file/file_failure.h"
#include "file/limits.h"
#include "file/output_path.h"
#include "file/shown.h"

namespace gputopo::fleet::sqlite {
namespace {

constexpr int kStepsPerCheck = 100'000;

// Follows only links that can be trusted. The result has none, so SQLite need not follow any.
std::string path_without_links(const std::string& path, Access access) {
  if (path == kInMemory) return ":memory:";
  const PathEnd end = find_path_end(path);
  if (end.folder == nullptr || (!end.exists && access != Access::kCreate)) fail_on_file("open", path, ENOENT);
  if (end.exists && !S_ISREG(end.status.st_mode)) {
    throw StoreError(fmt::format("'{}' is not a regular file: give the path of a store", path));
  }
  std::error_code failed;
  const std::filesystem::path folder =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", end.folder->fd()), failed);
  if (failed) fail_on_file("open", path, failed.value());
  return (folder / end.name).string();
}

[[noreturn]] void refuse_other_file(const std::string& path) {
  std::string magic(6, '\0');
  std::ifstream(path, std::ios::binary).read(magic.data(), static_cast<std::streamsize>(magic.size()));
  if (magic == "ARROW1") {
    throw StoreError(
        fmt::format("'{0}' is a store of an older gputopo: import it with 'gputopo fleet merge --resume "
                    "{0} --out fleet.db', and use fleet.db",
                    path));
  }
  throw StoreError(fmt::format("'{}': not a fleet store; give a store written by 'gputopo fleet merge'", path));
}

// A store of gputopo needs none of what these leave out.
void set_limits(sqlite3* database) {
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limits::kMaxStoreDocument);
  sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, 100'000);
  sqlite3_limit(database, SQLITE_LIMIT_COLUMN, 100);
  sqlite3_limit(database, SQLITE_LIMIT_EXPR_DEPTH, 50);
  sqlite3_limit(database, SQLITE_LIMIT_COMPOUND_SELECT, 4);
  sqlite3_limit(database, SQLITE_LIMIT_VDBE_OP, 100'000);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(database, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

}  // namespace

// ---- Statement ----

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  database.steps_left_ = database.most_steps_;
  check(sqlite3_prepare_v3(database.database_.get(), sql.data(), static_cast<int>(sql.size()), 0, &statement, nullptr));
  statement_.reset(statement);
}

void Statement::check(int code) const { database_->check(code); }

void Statement::restart() {
  sqlite3_reset(statement_.get());
  database_->steps_left_ = database_->most_steps_;
}

bool Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  restart();
  if (code != SQLITE_DONE) check(code);
  return false;
}

void Statement::run() {
  while (next()) {
  }
}

std::optional<std::int64_t> Statement::number() {
  if (!next()) return std::nullopt;
  const std::int64_t number = integer(0);
  restart();  // a row that is being read keeps its lock
  return number;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const {
  return is_null(column) ? std::nan("") : sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(bytes), size);
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

bool Statement::is_integer(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER; }

void Statement::bind(int place, std::int64_t value) { check(sqlite3_bind_int64(statement_.get(), place, value)); }

void Statement::bind(int place, double value) { check(sqlite3_bind_double(statement_.get(), place, value)); }

void Statement::bind(int place, std::string_view value) {
  // A null pointer would be null, not the empty text.
  const char* bytes = value.empty() ? "" : value.data();
  check(sqlite3_bind_text(statement_.get(), place, bytes, static_cast<int>(value.size()), SQLITE_TRANSIENT));
}

void Statement::bind(int place, const Blob& value) {
  const std::string_view bytes = value.bytes;
  check(sqlite3_bind_blob64(statement_.get(), place, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
}

void Statement::bind(int place, const std::variant<std::int64_t, double>& value) {
  std::visit([&](auto number) { bind(place, number); }, value);
}

void Statement::bind(int place, const std::optional<std::int64_t>& value) {
  value ? bind(place, *value) : check(sqlite3_bind_null(statement_.get(), place));
}

// ---- Database ----

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::string& path, Access access, Waiting waiting)
    : path_(path), waiting_(std::move(waiting)) {
  sqlite3_hard_heap_limit64(limits::kMaxStoreHeap);
  const std::string real_path = path_without_links(path, access);
  const bool writes = access != Access::kRead;
  sqlite3* database = nullptr;
  const int flags = (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    (access == Access::kCreate ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(real_path.c_str(), &database, flags, nullptr);
  database_.reset(database);
  check(code);
  sqlite3_extended_result_codes(database, 1);
  set_limits(database);
  sqlite3_busy_handler(
      database, [](void* self, int times) { return static_cast<Database*>(self)->waits(times == 0) ? 1 : 0; }, this);
  // A page of a hostile file may have itself below it, so that a search would take forever. An honest search takes a
  // few steps for each row.
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(real_path, ignored);
  most_steps_ = 100'000'000 + (ignored ? 0 : 4 * static_cast<std::int64_t>(size));
  steps_left_ = most_steps_;
  sqlite3_progress_handler(
      database, kStepsPerCheck,
      [](void* self) { return (static_cast<Database*>(self)->steps_left_ -= kStepsPerCheck) < 0 ? 1 : 0; }, this);
  run("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
  run(writes ? "PRAGMA cache_size = -262144" : "PRAGMA cache_size = -65536");
  // In a rollback journal's DELETE mode, only EXTRA keeps a power cut from bringing back the journal of a committed
  // transaction. The write-ahead log is no alternative: its index is shared memory, which NFS lacks.
  if (writes) run("PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA");
  // Deleted rows must not stay in the file, because users may have to remove names.
  if (writes) run("PRAGMA secure_delete = ON");
}

void Database::run(const std::string& sql) {
  steps_left_ = most_steps_;
  check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

Statement& Database::operator()(std::string_view literal) {
  const auto known = prepared_.find(literal);
  return known != prepared_.end() ? known->second : prepared_.emplace(literal, prepare(literal)).first->second;
}

std::int64_t Database::number(const std::string& sql) { return prepare(sql).number().value_or(0); }

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

std::int64_t Database::bytes() { return number("PRAGMA page_count") * number("PRAGMA page_size"); }

bool Database::waits(bool is_first) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{50};
  if (is_first) wait_began_ = Clock::now();
  if (!std::exchange(has_said_, true) && waiting_.say) {
    waiting_.say(fmt::format("waiting for another process that is changing '{}'", path_));
  }
  if (Clock::now() - wait_began_ > waiting_.patience) return false;
  std::this_thread::sleep_for(kPause);
  return true;
}

void Database::check(int code) const {
  if (code != SQLITE_OK) fail(code);
}

void Database::fail(int code) const {
  const std::string said = shown(database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_.get()));
  switch (code & 0xFF) {
    case SQLITE_BUSY:
      throw StoreError(
          fmt::format("another process has held the lock on '{}' for {:.0f} s: try again when it has "
                      "finished",
                      path_, waiting_.patience.count()));
    case SQLITE_NOTADB:
      refuse_other_file(path_);
    case SQLITE_INTERRUPT:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      throw StoreError(
          fmt::format("'{}': reading the store takes more time or memory than its size explains, so it is "
                      "damaged; merge the reports into a new store",
                      path_));
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      throw StoreError(fmt::format("'{}': the store is damaged ({}); merge the reports into a new store", path_, said));
    case SQLITE_FULL:
      throw StoreError(fmt::format("cannot write '{}': the disk is full; free some space and try again", path_));
    default:
      break;
  }
  if (code == SQLITE_READONLY_ROLLBACK) {
    throw StoreError(
        fmt::format("'{}': a merge was interrupted; 'gputopo fleet merge --resume' undoes its unfinished "
                    "part",
                    path_));
  }
  throw StoreError(fmt::format("cannot use '{}': {}; check the permissions and locks of its folder", path_, said));
}

}  // namespace gputopo::fleet::sqlite
