#include "fleet/arrow_import.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo::fleet {
namespace {

constexpr std::string_view kArrowMagic = "ARROW1";
constexpr std::size_t kMessagePrefix = 8;  // of a message: a marker and the length of its metadata

[[noreturn]] void refuse(std::string_view why) {
  throw FormatError(fmt::format("the Arrow file is damaged or not a fleet store ({}); merge the reports instead", why));
}

// ---- Metadata: tables of FlatBuffers, whose offsets are checked before they are followed ----

constexpr flatbuffers::voffset_t field(std::uint16_t index) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * index);
}

template <typename Derived>
struct Table : flatbuffers::Table {
  [[nodiscard]] bool Verify(flatbuffers::Verifier& verifier) const {  // NOLINT: flatbuffers calls this name
    return VerifyTableStart(verifier) && static_cast<const Derived*>(this)->holds(verifier) && verifier.EndTable();
  }
  template <typename T>
  [[nodiscard]] const T* pointer(std::uint16_t index) const {
    return GetPointer<const T*>(field(index));
  }
  template <typename T>
  [[nodiscard]] bool has_table(flatbuffers::Verifier& verifier, std::uint16_t index) const {
    return VerifyOffset(verifier, field(index)) && verifier.VerifyTable(pointer<T>(index));
  }
  template <typename T>
  [[nodiscard]] bool has_structs(flatbuffers::Verifier& verifier, std::uint16_t index) const {
    return VerifyOffset(verifier, field(index)) && verifier.VerifyVector(pointer<flatbuffers::Vector<const T*>>(index));
  }
};

struct FieldNode {
  std::int64_t length;
  std::int64_t null_count;
};
struct Buffer {
  std::int64_t offset;
  std::int64_t length;
};
struct Block {
  std::int64_t offset;
  std::int32_t metadata_length;
  std::int32_t padding;
  std::int64_t body_length;
};

struct Footer : Table<Footer> {
  enum Blocks : std::uint16_t { kDictionaries = 2, kBatches = 3 };
  [[nodiscard]] bool holds(flatbuffers::Verifier& verifier) const {
    return has_structs<Block>(verifier, kDictionaries) && has_structs<Block>(verifier, kBatches);
  }
};

struct BatchTable : Table<BatchTable> {
  [[nodiscard]] bool holds(flatbuffers::Verifier& verifier) const {
    return VerifyField<std::int64_t>(verifier, field(0), 8) && has_structs<FieldNode>(verifier, 1) &&
           has_structs<Buffer>(verifier, 2);
  }
};

struct DictionaryTable : Table<DictionaryTable> {
  [[nodiscard]] bool holds(flatbuffers::Verifier& verifier) const {
    return VerifyField<std::int64_t>(verifier, field(0), 8) && has_table<BatchTable>(verifier, 1);
  }
};

template <typename T>
struct MessageOf : Table<MessageOf<T>> {
  static constexpr std::uint8_t kType = std::is_same_v<T, BatchTable> ? 3 : 2;
  [[nodiscard]] bool holds(flatbuffers::Verifier& verifier) const {
    return this->template VerifyField<std::uint8_t>(verifier, field(1), 1) &&
           this->template GetField<std::uint8_t>(field(1), 0) == kType && this->template has_table<T>(verifier, 2);
  }
};

// An aligned copy of a flatbuffer, because the file may have it anywhere.
class Metadata {
 public:
  explicit Metadata(std::string_view bytes) : words_((bytes.size() + 7) / 8), bytes_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(words_.data(), bytes.data(), bytes.size());
  }
  template <typename T>
  [[nodiscard]] const T* root() const {
    const auto* data = reinterpret_cast<const std::uint8_t*>(words_.data());
    constexpr flatbuffers::uoffset_t kMaxDepth = 8;
    constexpr flatbuffers::uoffset_t kMaxTables = 1000;
    flatbuffers::Verifier verifier(data, bytes_, kMaxDepth, kMaxTables);
    if (!verifier.VerifyBuffer<T>(nullptr)) refuse("its metadata is damaged");
    return flatbuffers::GetRoot<T>(data);
  }
  // The content of a message. A verified table may still lack it.
  template <typename T>
  [[nodiscard]] const T* header() const {
    const T* found = root<MessageOf<T>>()->template pointer<T>(2);
    if (found == nullptr) refuse("a message is empty");
    return found;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t bytes_;
};

template <typename T>
T at(std::string_view bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Copies a vector of structs: flatbuffers checks that it lies in the buffer, but not its alignment.
template <typename T, typename Derived>
std::vector<T> structs_of(const Table<Derived>& table, std::uint16_t index) {
  std::vector<T> result;
  const auto* vector = table.template pointer<flatbuffers::Vector<const T*>>(index);
  for (flatbuffers::uoffset_t i = 0; vector != nullptr && i < vector->size(); ++i) {
    result.push_back(at<T>({reinterpret_cast<const char*>(vector->Data()), vector->size() * sizeof(T)}, i));
  }
  return result;
}

// ---- Columns ----

// The buffers of a batch, each within the file. Nothing is decoded before it is asked for.
class Columns {
 public:
  Columns(const BatchTable& batch, std::string_view body) : rows_(batch.GetField<std::int64_t>(field(0), 0)) {
    if (batch.GetOptionalFieldOffset(field(3)) != 0) refuse("it is compressed");
    nodes_ = structs_of<FieldNode>(batch, 1);
    if (rows_ < 0) refuse("a batch has a negative number of rows");
    for (const FieldNode& node : nodes_) {
      if (node.length != rows_) refuse("columns differ in length");
    }
    const auto size = static_cast<std::int64_t>(body.size());
    for (const Buffer& buffer : structs_of<Buffer>(batch, 2)) {
      if (buffer.offset < 0 || buffer.length < 0 || buffer.offset > size || buffer.length > size - buffer.offset) {
        refuse("a buffer lies outside the file");
      }
      buffers_.push_back(body.substr(static_cast<std::size_t>(buffer.offset), static_cast<std::size_t>(buffer.length)));
    }
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(rows_); }
  // Each column has a bitmap of nulls and its values; texts have offsets and bytes.
  void expect(std::size_t columns, std::size_t buffers) const {
    if (nodes_.size() != columns || buffers_.size() != buffers) refuse("its columns are not those of a store");
  }
  void expect_values(std::size_t buffer, std::size_t bytes) const {
    if (buffers_[buffer].size() < bytes) refuse("a column is too short");
  }
  [[nodiscard]] std::string_view buffer(std::size_t index) const { return buffers_[index]; }
  [[nodiscard]] bool bit(std::size_t buffer, std::size_t row) const {
    return (static_cast<unsigned char>(buffers_[buffer][row / 8]) >> row % 8 & 1U) != 0;
  }
  [[nodiscard]] bool is_null(std::size_t column, std::size_t row) const {
    return nodes_[column].null_count != 0 && !bit(2 * column, row);
  }
  void expect_nulls(std::size_t column) const {
    if (nodes_[column].null_count != 0) expect_values(2 * column, (rows() + 7) / 8);
  }

 private:
  std::int64_t rows_;
  std::vector<FieldNode> nodes_;
  std::vector<std::string_view> buffers_;
};

// In the order of the file. The first kTexts are indices into dictionaries.
enum ArrowColumn : std::size_t {
  kReport,
  kFile,
  kHost,
  kGpu,
  kName,
  kModel,
  kDriver,
  kProfile,
  kPath,
  kUnit,
  kSource,
  kReason,
  kText,
  kTexts,
  kTime = kTexts,
  kSimulated,
  kValue,
  kLow,
  kHigh,
  kColumns
};

class ArrowStore {
 public:
  explicit ArrowStore(std::string_view bytes) : bytes_(bytes) {
    constexpr std::size_t kLeast = kMessagePrefix + sizeof(std::int32_t) + kArrowMagic.size();
    if (bytes.size() < kLeast || !bytes.ends_with(kArrowMagic)) refuse("it is truncated");
    const std::size_t end = bytes.size() - kArrowMagic.size() - sizeof(std::int32_t);
    const auto length = at<std::int32_t>(bytes.substr(end), 0);
    if (length <= 0 || static_cast<std::size_t>(length) > end) refuse("its footer is damaged");
    const auto footer_bytes = static_cast<std::size_t>(length);
    const std::string_view footer_text = bytes.substr(end - footer_bytes, footer_bytes);
    // Only version 1 was written, with this key and the same columns.
    if (footer_text.find("gputopo_fleet_store") == std::string_view::npos) refuse("its footer is not that of a store");
    const Metadata metadata(footer_text);
    const auto* footer = metadata.root<Footer>();
    for (const Block& block : structs_of<Block>(*footer, Footer::kDictionaries)) read_dictionary(block);
    batches_ = structs_of<Block>(*footer, Footer::kBatches);
  }

  void read(const TakeArrowRun& take) {
    for (const Block& block : batches_) {
      const auto [metadata, body] = message(block);
      const Columns columns(*metadata.header<BatchTable>(), body);
      // Each row has a number of its own, so that honest rows cannot be more.
      if (columns.rows() > rows_left_) refuse("it has more rows than its size explains");
      rows_left_ -= columns.rows();
      check(columns);
      for (std::size_t row = 0; row < columns.rows(); ++row) add(columns, row, take);
    }
    finish(take);
  }

 private:
  [[nodiscard]] std::pair<Metadata, std::string_view> message(const Block& block) const {
    const auto size = static_cast<std::int64_t>(bytes_.size());
    // Each is checked separately: a sum could overflow.
    if (block.offset < 0 || block.offset > size || block.metadata_length < static_cast<std::int32_t>(kMessagePrefix) ||
        block.metadata_length > size - block.offset || block.body_length < 0 ||
        block.body_length > size - block.offset - block.metadata_length) {
      refuse("a block lies outside the file");
    }
    const std::string_view whole = bytes_.substr(static_cast<std::size_t>(block.offset));
    const auto metadata_length = static_cast<std::size_t>(block.metadata_length);
    return {Metadata(whole.substr(kMessagePrefix, metadata_length - kMessagePrefix)),
            whole.substr(metadata_length, static_cast<std::size_t>(block.body_length))};
  }

  void read_dictionary(const Block& block) {
    const auto [metadata, body] = message(block);
    const auto* table = metadata.header<DictionaryTable>();
    const auto id = static_cast<std::uint64_t>(table->GetField<std::int64_t>(field(0), 0));
    if (id >= kTexts || table->pointer<BatchTable>(1) == nullptr) refuse("a dictionary belongs to no column");
    dictionaries_[id].emplace_back(*table->pointer<BatchTable>(1), body);
    const Columns& texts = dictionaries_[id].back();
    if (dictionaries_[id].size() > 1) refuse("a dictionary occurs twice");
    texts.expect(1, 3);
    if (texts.rows() > bytes_.size()) refuse("a dictionary is too long");
    if (texts.rows() > 0) texts.expect_values(1, (texts.rows() + 1) * sizeof(std::int32_t));
  }

  [[nodiscard]] std::size_t text_count(std::size_t column) const {
    return dictionaries_[column].empty() ? 0 : dictionaries_[column].front().rows();
  }
  // Indices have as many bytes as the largest needs.
  [[nodiscard]] std::size_t index_bytes(std::size_t column) const {
    const std::size_t count = text_count(column);
    return count <= INT8_MAX ? 1 : count <= INT16_MAX ? 2 : 4;
  }

  void check(const Columns& columns) const {
    columns.expect(kColumns, 2 * kColumns);
    for (std::size_t column = 0; column < kColumns; ++column) {
      columns.expect_nulls(column);
      const std::size_t each = column < kTexts ? index_bytes(column) : column == kTime || column == kValue ? 8 : 4;
      columns.expect_values(2 * column + 1, column == kSimulated ? (columns.rows() + 7) / 8 : each * columns.rows());
    }
  }

  [[nodiscard]] std::string_view text(const Columns& columns, std::size_t column, std::size_t row) const {
    if (columns.is_null(column, row)) return {};
    const std::string_view indices = columns.buffer(2 * column + 1);
    const std::size_t bytes = index_bytes(column);
    const std::int64_t index = bytes == 1   ? at<std::int8_t>(indices, row)
                               : bytes == 2 ? at<std::int16_t>(indices, row)
                                            : at<std::int32_t>(indices, row);
    if (index < 0 || static_cast<std::size_t>(index) >= text_count(column)) refuse("an index refers to no text");
    const Columns& texts = dictionaries_[column].front();
    const auto begin = at<std::int32_t>(texts.buffer(1), static_cast<std::size_t>(index));
    const auto end = at<std::int32_t>(texts.buffer(1), static_cast<std::size_t>(index) + 1);
    const std::string_view all = texts.buffer(2);
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > all.size()) refuse("a text is damaged");
    const std::string_view found = all.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (found.size() > limits::kMaxStoreText) refuse("a text is too long");
    return found;
  }

  template <typename T>
  static double number(const Columns& columns, std::size_t column, std::size_t row) {
    if (columns.is_null(column, row)) return std::nan("");
    return static_cast<double>(at<T>(columns.buffer(2 * column + 1), row));
  }

  // Neighboring rows of one report are one run.
  void add(const Columns& columns, std::size_t row, const TakeArrowRun& take) {
    const auto of = [&](ArrowColumn column) { return std::string(text(columns, column, row)); };
    const std::string_view report = text(columns, kReport, row);
    if (report_.data() != report.data() || report.empty()) {
      finish(take);
      report_ = report;
      file_ = text(columns, kFile, row);
      if (report.empty() || !reports_.insert(report.data()).second) refuse("the rows of a run are not consecutive");
      run_ = {.host = of(kHost),
              .gpu = of(kGpu),
              .name = of(kName),
              .model = of(kModel),
              .driver = of(kDriver),
              .profile = of(kProfile)};
      if (!columns.is_null(kTime, row)) run_.timestamp = at<std::int64_t>(columns.buffer(2 * kTime + 1), row);
      run_.simulated = columns.bit(2 * kSimulated + 1, row);
    }
    if (run_.readings.size() >= limits::kMaxArrowRunRows) refuse("a run has too many values");
    run_.readings.push_back({.path = of(kPath),
                             .value = number<double>(columns, kValue, row),
                             .low = number<float>(columns, kLow, row),
                             .high = number<float>(columns, kHigh, row),
                             .unit = of(kUnit),
                             .source = of(kSource),
                             .reason = of(kReason),
                             .text = of(kText)});
  }
  void finish(const TakeArrowRun& take) {
    if (!run_.readings.empty()) take(run_, report_, file_);
    run_ = {};
  }

  std::string_view bytes_;
  std::array<std::vector<Columns>, kTexts> dictionaries_;  // none or one
  std::vector<Block> batches_;
  std::size_t rows_left_ = bytes_.size() / sizeof(double);
  std::set<const char*> reports_;
  std::string_view report_;
  std::string_view file_;
  Run run_;
};

}  // namespace

bool is_arrow(std::string_view bytes) { return bytes.starts_with(kArrowMagic); }

void read_arrow_store(std::string_view bytes, const TakeArrowRun& take) { ArrowStore(bytes).read(take); }

}  // namespace gputopo::fleet
