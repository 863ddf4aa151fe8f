#include "fleet/arrow_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "file/limits.h"
#include "file/shown.h"
#include "fleet/arrow_flatbuffers.h"
#include "fleet/arrow_table.h"
#include "gputopo/error.h"

namespace gputopo::fleet::arrow {
namespace {

[[noreturn]] void refuse(std::string_view place, std::string_view why) {
  throw FormatError(fmt::format("{} {}; give a store written by 'gputopo fleet merge'", place, why));
}

// Returns the root of a verified flatbuffer. `words` are an aligned copy, because data in the file may be misaligned.
template <typename T>
const T* root_of(const std::vector<std::uint64_t>& words, std::size_t bytes, std::string_view place) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(words.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  flatbuffers::Verifier verifier(data, bytes, kMaxDepth, limits::kMaxStoreTables);
  if (!verifier.VerifyBuffer<T>(nullptr)) refuse(place, "is damaged");
  return flatbuffers::GetRoot<T>(data);
}

std::vector<std::uint64_t> aligned(std::string_view bytes) {
  std::vector<std::uint64_t> words((bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

template <typename T>
T at(std::string_view bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Copies a struct out of a vector: flatbuffers checks that it lies in the buffer, but not its alignment.
template <typename T>
T element(const Vector<const T*>& vector, flatbuffers::uoffset_t index) {
  T value;
  std::memcpy(&value, vector.Data() + index * sizeof(T), sizeof(T));
  return value;
}

// ---- Columns of a batch ----

// Walks through the nodes and buffers of a batch, column by column.
class Columns {
 public:
  Columns(const BatchTable& batch, std::string_view body, std::string_view place)
      : nodes_(batch.pointer<Vector<const FieldNode*>>(record_batch::kNodes)),
        buffers_(batch.pointer<Vector<const Buffer*>>(record_batch::kBuffers)),
        body_(body),
        place_(place),
        rows_(batch.number<std::int64_t>(record_batch::kLength, 0)) {
    if (batch.is_compressed()) refuse(place, "is compressed, which gputopo does not support");
    if (rows_ < 0 || static_cast<std::uint64_t>(rows_) > limits::kMaxStoreBatchRows) {
      refuse(place, fmt::format("has more than {} rows", limits::kMaxStoreBatchRows));
    }
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(rows_); }

  void next(const std::string& name) {
    name_ = name;
    if (nodes_ == nullptr || node_ >= nodes_->size()) fail("is missing");
    const FieldNode node = element(*nodes_, node_++);
    if (node.length != rows_) fail("differs in length from the other columns");
    const std::string_view bits = buffer();
    is_valid_.reset();
    if (node.null_count == 0) return;
    if (bits.size() < (rows() + 7) / 8) fail("has a null bitmap that is too short");
    is_valid_ = bits;
  }
  [[nodiscard]] bool is_null(std::size_t row) const {
    return is_valid_ && (static_cast<unsigned char>((*is_valid_)[row / 8]) >> row % 8 & 1U) == 0;
  }
  // Returns the bytes of at least `count` values.
  template <typename T>
  [[nodiscard]] std::string_view values(std::size_t count) {
    const std::string_view bytes = buffer();
    if (bytes.size() / sizeof(T) < count) fail("has fewer values than rows");
    return bytes;
  }
  [[nodiscard]] std::string_view bits() {
    const std::string_view bytes = buffer();
    if (bytes.size() < (rows() + 7) / 8) fail("has fewer values than rows");
    return bytes;
  }
  [[nodiscard]] std::string_view buffer() {
    if (buffers_ == nullptr || buffer_ >= buffers_->size()) fail("has no values");
    const Buffer buffer = element(*buffers_, buffer_++);
    const auto size = static_cast<std::int64_t>(body_.size());
    if (buffer.offset < 0 || buffer.length < 0 || buffer.offset > size || buffer.length > size - buffer.offset) {
      fail("lies outside the file");
    }
    return body_.substr(static_cast<std::size_t>(buffer.offset), static_cast<std::size_t>(buffer.length));
  }
  [[noreturn]] void fail(std::string_view why) const {
    refuse(fmt::format("column '{}' of {}", shown(name_), place_), why);
  }

 private:
  const Vector<const FieldNode*>* nodes_;
  const Vector<const Buffer*>* buffers_;
  std::string_view body_;
  std::string_view place_;
  std::int64_t rows_;
  flatbuffers::uoffset_t node_ = 0;
  flatbuffers::uoffset_t buffer_ = 0;
  std::string name_;
  std::optional<std::string_view> is_valid_;
};

template <typename T>
void read_numbers(Columns& columns, ColumnData& data) {
  const std::string_view bytes = columns.values<T>(columns.rows());
  for (std::size_t row = 0; row < columns.rows(); ++row) {
    const double value = at<T>(bytes, row);
    data.numbers.push_back(columns.is_null(row) || !std::isfinite(value) ? std::nan("") : value);
  }
}

template <typename T>
void read_codes(Columns& columns, std::int64_t null, std::int64_t end, ColumnData& data) {
  const std::string_view bytes = columns.values<T>(columns.rows());
  for (std::size_t row = 0; row < columns.rows(); ++row) {
    const std::int64_t code = columns.is_null(row) ? null : at<T>(bytes, row);
    if (code != null && end >= 0 && (code < 0 || code >= end)) columns.fail("has an index outside its dictionary");
    data.codes.push_back(code);
  }
}

ColumnData read_column(Columns& columns, const ColumnInfo& info, int index_bits, DecodingBudget& budget) {
  columns.next(info.name);
  budget.take(columns.rows() * sizeof(double));
  ColumnData data;
  const auto entries = static_cast<std::int64_t>(info.dictionary.size());
  switch (info.kind) {
    case Kind::kDouble:
      read_numbers<double>(columns, data);
      return data;
    case Kind::kSingle:
      read_numbers<float>(columns, data);
      return data;
    case Kind::kTime:
      read_codes<std::int64_t>(columns, kNoTime, -1, data);
      return data;
    case Kind::kFlag: {
      const std::string_view bits = columns.bits();
      for (std::size_t row = 0; row < columns.rows(); ++row) {
        data.codes.push_back(static_cast<unsigned char>(bits[row / 8]) >> row % 8 & 1);
      }
      return data;
    }
    case Kind::kText:
      break;
  }
  if (index_bits == 8) read_codes<std::int8_t>(columns, -1, entries, data);
  if (index_bits == 16) read_codes<std::int16_t>(columns, -1, entries, data);
  if (index_bits == 32) read_codes<std::int32_t>(columns, -1, entries, data);
  if (index_bits == 64) read_codes<std::int64_t>(columns, -1, entries, data);
  return data;
}

// ---- The schema ----

std::string text_of(const flatbuffers::String* text, DecodingBudget& budget) {
  budget.take(sizeof(std::string) + (text == nullptr ? 0 : text->size()));
  return text == nullptr ? "" : text->str();
}

// Only for types whose first field is this number, which Field::Verify has checked.
std::int16_t number_of(const TypeTable& type) { return type.number<std::int16_t>(arrow::field(0), 0); }

Metadata metadata_of(const SchemaTable& columns, DecodingBudget& budget) {
  Metadata metadata;
  const auto* pairs = columns.pointer<Tables<KeyValue>>(schema::kMetadata);
  if (pairs == nullptr) return metadata;
  for (const KeyValue* pair : *pairs) {
    metadata.emplace_back(text_of(pair->pointer<flatbuffers::String>(key_value::kKey), budget),
                          text_of(pair->pointer<flatbuffers::String>(key_value::kValue), budget));
  }
  return metadata;
}

Kind kind_of(const Field& field, const std::string& name) {
  const auto place = fmt::format("column '{}'", shown(name));
  const auto* type = field.pointer<TypeTable>(column::kType);
  if (type == nullptr) refuse(place, "has no type");
  switch (static_cast<Type>(field.number<std::uint8_t>(column::kTypeType, 0))) {
    case Type::kUtf8:
      if (field.pointer<Encoding>(column::kDictionary) != nullptr) return Kind::kText;
      refuse(place, "has strings without a dictionary");
    case Type::kBool:
      return Kind::kFlag;
    case Type::kTimestamp:
      if (number_of(*type) == timestamp::kSecond) return Kind::kTime;
      refuse(place, "has timestamps in a unit other than seconds");
    case Type::kFloatingPoint:
      if (number_of(*type) == static_cast<std::int16_t>(Precision::kDouble)) return Kind::kDouble;
      if (number_of(*type) == static_cast<std::int16_t>(Precision::kSingle)) return Kind::kSingle;
      [[fallthrough]];
    case Type::kInt:
      break;
  }
  refuse(place, "has a type that no store uses");
}

int index_bits_of(const Field& field, const std::string& name) {
  const auto* encoding = field.pointer<Encoding>(column::kDictionary);
  const auto* index = encoding == nullptr ? nullptr : encoding->pointer<Integer>(dictionary::kIndexType);
  const int bits = index == nullptr ? 32 : index->number<std::int32_t>(integer::kBits, 0);
  const bool is_known = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (!is_known || (index != nullptr && index->number<std::uint8_t>(integer::kSigned, 0) == 0)) {
    refuse(fmt::format("column '{}'", shown(name)),
           "has dictionary indices that are not signed integers of 8, 16, 32 or 64 bits");
  }
  return bits;
}

std::vector<std::string> read_texts(Columns& columns, const std::string& name, DecodingBudget& budget) {
  columns.next(name);
  std::vector<std::string> texts;
  if (columns.rows() == 0) return texts;
  const std::string_view ends = columns.values<std::int32_t>(columns.rows() + 1);
  const std::string_view bytes = columns.buffer();
  for (std::size_t i = 0; i < columns.rows(); ++i) {
    const auto begin = at<std::int32_t>(ends, i);
    const auto end = at<std::int32_t>(ends, i + 1);
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > bytes.size()) columns.fail("has a damaged string");
    const std::string_view text = bytes.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (text.size() > limits::kMaxStoreText) columns.fail("has a string that is too long");
    budget.take(sizeof(std::string) + text.size());
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace

DecodingBudget::DecodingBudget(std::size_t file_bytes)
    : left_(std::min(limits::kMaxDecodedStoreBytes,
                     limits::kSmallStoreBytes + limits::kMaxStoreExpansion * std::uint64_t{file_bytes})) {}

void DecodingBudget::take(std::size_t bytes) {
  if (bytes > left_) refuse("the store", "refers to the same bytes many times and would take too much memory");
  left_ -= bytes;
}

Reader::Reader(std::string_view bytes) : bytes_(bytes), budget_(bytes.size()) {
  if (!bytes.starts_with(kMagic)) {
    throw FormatError(
        "not a fleet store: it does not begin like an Arrow file; give a store written by 'gputopo fleet merge'");
  }
  constexpr std::size_t kLeast = 8 + sizeof(std::int32_t) + kMagic.size();
  if (bytes.size() < kLeast || !bytes.ends_with(kMagic))
    refuse("the store's footer", "is missing: the file was cut short");
  read_footer();
}

void Reader::read_footer() {
  const std::size_t end = bytes_.size() - kMagic.size() - sizeof(std::int32_t);
  const auto length = at<std::int32_t>(bytes_.substr(end), 0);
  if (length <= 0 || static_cast<std::size_t>(length) > end) refuse("the store's footer", "is damaged");
  const auto words = aligned(bytes_.substr(end - static_cast<std::size_t>(length), static_cast<std::size_t>(length)));
  const auto* footer = root_of<Footer>(words, static_cast<std::size_t>(length), "the store's footer");
  const auto* columns = footer->pointer<SchemaTable>(footer::kSchema);
  const auto* fields = columns == nullptr ? nullptr : columns->pointer<Tables<Field>>(schema::kFields);
  if (fields == nullptr || fields->size() == 0) refuse("the store's footer", "lists no columns");
  if (fields->size() > limits::kMaxStoreColumns) refuse("the store", "has too many columns");
  if (columns->number<std::int16_t>(schema::kEndianness, 0) != 0) refuse("the store", "is not little-endian");
  for (const Field* field : *fields) {
    const std::string name = text_of(field->pointer<flatbuffers::String>(column::kName), budget_);
    schema_.columns.push_back({name, kind_of(*field, name)});
    const auto* encoding = field->pointer<Encoding>(column::kDictionary);
    if (encoding != nullptr && schema_.columns.back().kind != Kind::kText) {
      refuse(fmt::format("column '{}'", shown(name)), "has a dictionary, but its values are not strings");
    }
    index_bits_.push_back(encoding == nullptr ? 0 : index_bits_of(*field, name));
    dictionary_ids_.push_back(encoding == nullptr ? -1 : encoding->number<std::int64_t>(dictionary::kId, 0));
  }
  schema_.metadata = metadata_of(*columns, budget_);
  const auto places = [&](flatbuffers::voffset_t which) {
    std::vector<Place> result;
    const auto* blocks = footer->pointer<Vector<const Block*>>(which);
    for (flatbuffers::uoffset_t i = 0; blocks != nullptr && i < blocks->size(); ++i) {
      const Block block = element(*blocks, i);
      result.push_back({block.offset, block.metadata_length, block.body_length});
    }
    return result;
  };
  batches_ = places(footer::kRecordBatches);
  std::vector<bool> is_read(schema_.columns.size());
  for (std::size_t i = 0; const Place& place : places(footer::kDictionaries)) read_dictionary(place, i++, is_read);
}

void Reader::read_dictionary(const Place& place, std::size_t index, std::vector<bool>& is_read) {
  const Message read = message(place, fmt::format("dictionary {}", index));
  const auto* root = root_of<MessageOf<DictionaryBatch>>(read.metadata, read.metadata_bytes, read.place);
  const auto* batch = root->pointer<DictionaryBatch>(message::kHeader);
  const auto* data = batch == nullptr ? nullptr : batch->pointer<BatchTable>(dictionary_batch::kData);
  if (data == nullptr) refuse(read.place, "has no entries");
  const auto id = batch->number<std::int64_t>(dictionary_batch::kId, 0);
  const bool is_delta = batch->number<std::uint8_t>(dictionary_batch::kIsDelta, 0) != 0;
  for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
    ColumnInfo& info = schema_.columns[i];
    if (info.kind != Kind::kText || dictionary_ids_[i] != id) continue;
    if (is_read[i] && !is_delta) refuse(read.place, "appears twice");
    is_read[i] = true;
    Columns columns(*data, read.body, read.place);
    for (std::string& text : read_texts(columns, info.name, budget_)) info.dictionary.push_back(std::move(text));
  }
}

Reader::Message Reader::message(const Place& place, std::string name) {
  const auto size = static_cast<std::int64_t>(bytes_.size());
  constexpr std::int32_t kPrefix = 8;
  // Each is checked separately: a sum could overflow.
  if (place.offset < 0 || place.offset > size || place.metadata_length < kPrefix ||
      place.metadata_length > size - place.offset || place.body_length < 0 ||
      place.body_length > size - place.offset - place.metadata_length) {
    refuse(name, "lies outside the file");
  }
  const std::string_view whole = bytes_.substr(static_cast<std::size_t>(place.offset));
  const auto metadata_length = static_cast<std::size_t>(place.metadata_length);
  budget_.take(metadata_length + static_cast<std::size_t>(place.body_length));
  if (at<std::uint32_t>(whole, 0) != kContinuation) refuse(name, "does not begin like an Arrow message");
  Message result;
  result.metadata = aligned(whole.substr(kPrefix, metadata_length - kPrefix));
  result.metadata_bytes = metadata_length - kPrefix;
  result.body = whole.substr(metadata_length, static_cast<std::size_t>(place.body_length));
  result.place = std::move(name);
  return result;
}

Batch Reader::batch(std::size_t index) {
  const Message read = message(batches_.at(index), fmt::format("batch {} of the store", index));
  const auto* root = root_of<MessageOf<BatchTable>>(read.metadata, read.metadata_bytes, read.place);
  const auto* table = root->pointer<BatchTable>(message::kHeader);
  if (table == nullptr) refuse(read.place, "has no rows");
  Columns columns(*table, read.body, read.place);
  Batch batch;
  for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
    batch.push_back(read_column(columns, schema_.columns[i], index_bits_[i], budget_));
  }
  return batch;
}

}  // namespace gputopo::fleet::arrow
