#include "fleet/store_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "file/limits.h"
#include "fleet/arrow_reader.h"
#include "fleet/arrow_table.h"
#include "fleet/arrow_writer.h"
#include "fleet/store.h"
#include "gputopo/error.h"

namespace gputopo::fleet {
namespace {

using arrow::Kind;

constexpr const char* kVersionKey = "gputopo_fleet_store";
constexpr const char* kVersion = "1";
constexpr std::size_t kBatchRows = 1 << 16;

// Text columns: first those of the run, then those of the reading.
struct RunColumn {
  const char* name;
  Word StoredRun::*word;
};
constexpr RunColumn kRunColumns[] = {{"report", &StoredRun::report}, {"file", &StoredRun::file},
                                     {"host", &StoredRun::host},     {"gpu", &StoredRun::gpu},
                                     {"name", &StoredRun::name},     {"model", &StoredRun::model},
                                     {"driver", &StoredRun::driver}, {"profile", &StoredRun::profile}};
struct ReadingColumn {
  const char* name;
  Word StoredReading::*word;
};
constexpr ReadingColumn kReadingColumns[] = {{"path", &StoredReading::path},
                                             {"unit", &StoredReading::unit},
                                             {"source", &StoredReading::source},
                                             {"reason", &StoredReading::reason},
                                             {"text", &StoredReading::text}};
constexpr std::size_t kTexts = std::size(kRunColumns) + std::size(kReadingColumns);
// Columns after the texts of run and reading.
enum Number : std::size_t { kTimestamp = kTexts, kSimulated, kValue, kLow, kHigh, kColumns };
constexpr std::pair<const char*, Kind> kNumbers[] = {{"timestamp", Kind::kTime},
                                                     {"simulated", Kind::kFlag},
                                                     {"value", Kind::kDouble},
                                                     {"low", Kind::kSingle},
                                                     {"high", Kind::kSingle}};

// The texts of one column, in order of appearance.
struct Dictionary {
  std::vector<std::string> texts;
  std::vector<std::int64_t> codes;  // by word; -1: absent

  void add(Word word, const Store& store) {
    if (word == kNoWord) return;
    if (codes.size() <= word) codes.resize(word + 1, -1);
    if (codes[word] >= 0) return;
    codes[word] = static_cast<std::int64_t>(texts.size());
    texts.push_back(store.text(word));
  }
  [[nodiscard]] std::int64_t code(Word word) const { return word == kNoWord ? -1 : codes[word]; }
};
using Dictionaries = std::array<Dictionary, kTexts>;

Dictionaries dictionaries_of(const Store& store) {
  Dictionaries result;
  for (const StoredRun& run : store.runs()) {
    for (std::size_t i = 0; i < std::size(kRunColumns); ++i) result[i].add(run.*kRunColumns[i].word, store);
  }
  for (const StoredReading& reading : store.readings()) {
    std::size_t column = std::size(kRunColumns);
    for (const ReadingColumn& info : kReadingColumns) result[column++].add(reading.*info.word, store);
  }
  return result;
}

void append(arrow::Batch& batch, const Dictionaries& dictionaries, const StoredRun& run, const StoredReading& reading) {
  std::size_t column = 0;
  for (const RunColumn& info : kRunColumns) {
    batch[column].codes.push_back(dictionaries[column].code(run.*info.word));
    ++column;
  }
  for (const ReadingColumn& info : kReadingColumns) {
    batch[column].codes.push_back(dictionaries[column].code(reading.*info.word));
    ++column;
  }
  batch[kTimestamp].codes.push_back(run.timestamp.value_or(arrow::kNoTime));
  batch[kSimulated].codes.push_back(run.simulated ? 1 : 0);
  batch[kValue].numbers.push_back(reading.value);
  batch[kLow].numbers.push_back(static_cast<double>(reading.low));
  batch[kHigh].numbers.push_back(static_cast<double>(reading.high));
}

// Finds the store's columns in a file, which may have more columns and another order.
std::array<std::size_t, kColumns> places_of(const arrow::Schema& schema) {
  std::array<std::size_t, kColumns> places{};
  const auto find = [&](const char* name, Kind kind) {
    const auto found = std::ranges::find(schema.columns, name, &arrow::ColumnInfo::name);
    if (found == schema.columns.end() || found->kind != kind) {
      throw FormatError(fmt::format(
          "the store's column '{}' is missing or has the wrong type; give a store written by 'gputopo fleet merge'",
          name));
    }
    return static_cast<std::size_t>(found - schema.columns.begin());
  };
  std::size_t column = 0;
  for (const RunColumn& info : kRunColumns) places[column++] = find(info.name, Kind::kText);
  for (const ReadingColumn& info : kReadingColumns) places[column++] = find(info.name, Kind::kText);
  for (const auto& [name, kind] : kNumbers) places[column++] = find(name, kind);
  return places;
}

void check_version(const arrow::Schema& schema) {
  const auto found = std::ranges::find(schema.metadata, kVersionKey, &arrow::Metadata::value_type::first);
  if (found == schema.metadata.end()) {
    throw FormatError("an Arrow file, but not a fleet store; give a store written by 'gputopo fleet merge'");
  }
  if (found->second != kVersion) {
    throw FormatError(
        fmt::format("the store has version {}, but this gputopo reads version {}; merge the reports again",
                    found->second.substr(0, 20), kVersion));
  }
}

}  // namespace

std::string write_store(const Store& store) {
  const Dictionaries dictionaries = dictionaries_of(store);
  arrow::Schema schema{.columns = {}, .metadata = {{kVersionKey, kVersion}}};
  std::size_t column = 0;
  for (const RunColumn& info : kRunColumns) {
    schema.columns.push_back({info.name, Kind::kText, dictionaries[column++].texts});
  }
  for (const ReadingColumn& info : kReadingColumns) {
    schema.columns.push_back({info.name, Kind::kText, dictionaries[column++].texts});
  }
  for (const auto& [name, kind] : kNumbers) schema.columns.push_back({name, kind});
  arrow::Writer writer(schema);
  arrow::Batch batch(kColumns);
  const auto flush = [&] {
    writer.add(batch);
    batch.assign(kColumns, {});
  };
  for (const StoredRun& run : store.runs()) {
    for (std::size_t i = run.first; i < run.end; ++i) append(batch, dictionaries, run, store.readings()[i]);
    if (batch.front().codes.size() >= kBatchRows) flush();
  }
  if (!batch.front().codes.empty()) flush();
  return std::move(writer).finish();
}

namespace {

// Turns rows of a file into runs: neighboring rows of one report belong to one run.
class Rows {
 public:
  Rows(arrow::Reader& reader, Words& words) : reader_(reader), places_(places_of(reader.schema())) {
    for (std::size_t column = 0; column < kTexts; ++column) {
      for (const std::string& text : reader.schema().columns[places_[column]].dictionary) {
        words_[column].push_back(words.add(text));
      }
    }
  }

  void begin_batch(std::size_t index) { batch_ = reader_.batch(index); }
  [[nodiscard]] std::size_t count() const { return batch_[places_[kSimulated]].codes.size(); }

  [[nodiscard]] StoredRun run(std::size_t row) const {
    StoredRun run{};
    std::size_t column = 0;
    for (const RunColumn& info : kRunColumns) run.*info.word = word(column++, row);
    const std::int64_t time = batch_[places_[kTimestamp]].codes[row];
    // Later times than the year 9999 are no dates.
    constexpr std::int64_t kEnd = 253402300800;
    if (time >= 0 && time < kEnd) run.timestamp = time;
    run.simulated = batch_[places_[kSimulated]].codes[row] != 0;
    return run;
  }
  [[nodiscard]] StoredReading reading(std::size_t row) const {
    StoredReading reading{};
    std::size_t column = std::size(kRunColumns);
    for (const ReadingColumn& info : kReadingColumns) reading.*info.word = word(column++, row);
    reading.value = batch_[places_[kValue]].numbers[row];
    reading.low = static_cast<float>(batch_[places_[kLow]].numbers[row]);
    reading.high = static_cast<float>(batch_[places_[kHigh]].numbers[row]);
    return reading;
  }

 private:
  [[nodiscard]] Word word(std::size_t column, std::size_t row) const {
    const std::int64_t code = batch_[places_[column]].codes[row];
    return code < 0 ? kNoWord : words_[column][static_cast<std::size_t>(code)];
  }

  arrow::Reader& reader_;
  std::array<std::size_t, kColumns> places_;
  std::array<std::vector<Word>, kTexts> words_;
  arrow::Batch batch_;
};

bool is_same_run(const StoredRun& one, const StoredRun& other) {
  return std::ranges::all_of(kRunColumns, [&](const RunColumn& info) { return one.*info.word == other.*info.word; }) &&
         one.timestamp == other.timestamp && one.simulated == other.simulated;
}

}  // namespace

Store read_store(std::string_view bytes) {
  arrow::Reader reader(bytes);
  check_version(reader.schema());
  Store store;
  Rows rows(reader, store.words_);
  for (std::size_t batch = 0; batch < reader.batch_count(); ++batch) {
    rows.begin_batch(batch);
    const std::size_t count = store.readings_.size() + rows.count();
    // Every row takes at least the eight bytes of its value.
    if (count > limits::kMaxStoreRows || count > bytes.size() / sizeof(double)) {
      throw FormatError(
          fmt::format("the store has more than {} rows or lists some rows twice; merge fewer reports into it",
                      limits::kMaxStoreRows));
    }
    for (std::size_t row = 0; row < rows.count(); ++row) {
      StoredRun run = rows.run(row);
      if (store.runs_.empty() || store.runs_.back().report != run.report) {
        if (!store.reports_.insert(store.words_[run.report]).second) {
          throw FormatError(fmt::format("the store has report '{}' in two places; merge the reports again",
                                        store.words_[run.report].substr(0, 40)));
        }
        store.files_.insert(store.words_[run.file]);
        run.first = store.readings_.size();
        store.runs_.push_back(run);
      } else if (!is_same_run(store.runs_.back(), run)) {
        throw FormatError(fmt::format("the store contradicts itself about report '{}'; merge the reports again",
                                      store.words_[run.report].substr(0, 40)));
      }
      store.readings_.push_back(rows.reading(row));
      store.runs_.back().end = store.readings_.size();
    }
  }
  return store;
}

}  // namespace gputopo::fleet
