// SQLite for stores, which may be damaged or hostile files: every call is checked, and time and memory are limited.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

struct sqlite3;
struct sqlite3_stmt;

#include "gputopo/error.h"

namespace gputopo::fleet {

// A store cannot be used: another format or version, damaged, locked, or a disk that is full. The whole command fails.
class StoreError : public Error {
 public:
  using Error::Error;
};

}  // namespace gputopo::fleet

namespace gputopo::fleet::sqlite {

class Database;

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// One prepared statement. Throws as Database does.
class Statement {
 public:
  // Binds all parameters and begins anew. Without arguments it only begins anew.
  template <typename... T>
  Statement& with(const T&... values) {
    restart();
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }
  // Steps to the next row; false at the end, which also begins anew.
  [[nodiscard]] bool next();
  // For statements without rows.
  void run();
  // The first column of the first row, if there is one.
  [[nodiscard]] std::optional<std::int64_t> number();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;            // NaN for null
  [[nodiscard]] std::string_view text(int column) const;  // also of a blob; valid until the next step
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_integer(int column) const;

 private:
  friend class Database;
  Statement(Database& database, std::string_view sql);
  void restart();
  void check(int code) const;
  void bind(int place, std::int64_t value);
  void bind(int place, double value);  // NaN becomes null
  void bind(int place, std::string_view value);
  void bind(int place, const Blob& value);
  void bind(int place, const std::variant<std::int64_t, double>& value);
  void bind(int place, const std::optional<std::int64_t>& value);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class Access : std::uint8_t { kRead, kWrite, kCreate };

// How to wait for another process that holds the lock.
struct Waiting {
  std::chrono::duration<double> patience{0};
  std::function<void(const std::string& line)> say;  // gets a line when a wait begins
};

inline constexpr const char* kInMemory = "";  // instead of a path

class Database {
 public:
  // kCreate also writes to an existing file. Throws StoreError, and FileError for a folder that is not there.
  Database(const std::string& path, Access access, Waiting waiting);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Statement prepare(std::string_view sql) { return {*this, sql}; }
  // The statement of a literal, which is prepared once.
  [[nodiscard]] Statement& operator()(std::string_view literal);
  // Runs statements without parameters.
  void run(const std::string& sql);
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] std::int64_t last_id() const;
  [[nodiscard]] std::int64_t bytes();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class Statement;
  [[noreturn]] void fail(int code) const;
  void check(int code) const;
  [[nodiscard]] bool waits(bool is_first);

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string path_;
  Waiting waiting_;
  std::unique_ptr<sqlite3, Close> database_;
  std::unordered_map<std::string_view, Statement> prepared_;
  std::chrono::steady_clock::time_point wait_began_;
  bool has_said_ = false;
  std::int64_t steps_left_ = 0;  // of the current statement
  std::int64_t most_steps_ = 0;
};

}  // namespace gputopo::fleet::sqlite
