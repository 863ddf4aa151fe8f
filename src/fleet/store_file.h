// A store as a file: a database of SQLite (store_schema.h) that many processes may read and change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fleet/reading.h"
#include "fleet/sqlite.h"
#include "fleet/stored_value.h"

namespace gputopo::fleet {

// The id of a file's content, or of a run's: 64 bits of a digest.
using ContentId = std::int64_t;
[[nodiscard]] ContentId id_of_digits(std::string_view hexadecimal);
[[nodiscard]] ContentId id_of_content(std::string_view content);
[[nodiscard]] ContentId id_of_run(const Run& run);

struct Forgotten {
  std::int64_t runs = 0;
  std::int64_t documents = 0;
  std::int64_t free_bytes = 0;  // of the file, which later merges fill
};

// A store to change. Changes are made in transactions: those of the last one are lost if the process ends before its
// commit. Throws StoreError, and FileError.
class StoreFile {
 public:
  // Begins a transaction.
  StoreFile(const std::string& path, sqlite::Access access, sqlite::Waiting waiting);

  void clear();
  [[nodiscard]] bool has_file(ContentId file);
  [[nodiscard]] bool has_real_runs();
  // Returns false and adds nothing if the store already has the same content of the same GPU.
  bool add(const Run& run, ContentId file, ContentId report);
  // Keeps the file from being merged again.
  void add_file(ContentId file);
  void keep_document(ContentId file, std::int64_t timestamp, std::string_view text);
  void drop_documents(std::int64_t before);
  [[nodiscard]] std::int64_t run_count();
  [[nodiscard]] std::int64_t bytes() { return database_.bytes(); }
  // Ends the transaction.
  void commit();
  // Begins the next one.
  void begin();

  // Removes runs and reports from before a time, in several transactions. Values of later runs stay.
  [[nodiscard]] Forgotten forget(std::int64_t before);

 private:
  struct Known {
    StoredValue value;
    std::optional<std::int64_t> first;  // the run since which the value lasts, if it does
  };
  using Values = std::unordered_map<std::int64_t, Known>;  // by quantity

  [[nodiscard]] std::optional<std::int64_t> text_id(const std::string& text);
  [[nodiscard]] std::int64_t quantity_id(const Reading& reading);
  // Returns the values of the GPU's last run.
  [[nodiscard]] Values values_of(std::int64_t gpu, std::int64_t run);
  [[nodiscard]] StoredValue value_of(const Reading& reading);

  sqlite::Database database_;
  // Valid in this transaction only: another process may change the store before the next one.
  std::unordered_map<std::string, std::int64_t> texts_;
  std::unordered_map<std::string, std::int64_t> quantities_;
  bool has_real_runs_ = false;
};

}  // namespace gputopo::fleet
