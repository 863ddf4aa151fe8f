#include "fleet/arrow_writer.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "fleet/arrow_format.h"
#include "fleet/arrow_table.h"
#include "gputopo/error.h"

namespace gputopo::fleet::arrow {
namespace {

using flatbuffers::FlatBufferBuilder;
template <typename T = void>
using Offset = flatbuffers::Offset<T>;
using Table = Offset<flatbuffers::Table>;

static_assert(std::endian::native == std::endian::little,
              "stores are little-endian, and values are written as they are in memory");

void pad(std::string& bytes) { bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, '\0'); }

template <typename T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns the narrowest signed integer for a dictionary's indices: a column with few names takes one byte per row.
int index_bits(std::size_t entries) {
  if (entries <= std::numeric_limits<std::int8_t>::max()) return 8;
  return entries <= std::numeric_limits<std::int16_t>::max() ? 16 : 32;
}

// A message body under construction: padded buffers, one after another.
struct Body {
  std::string bytes;
  std::vector<FieldNode> nodes;
  std::vector<Buffer> buffers;

  void end_buffer(std::size_t begin) {
    buffers.push_back({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(bytes.size() - begin)});
    pad(bytes);
  }
  void begin_column(std::size_t rows, const std::vector<bool>& is_null) {
    const auto nulls = std::count(is_null.begin(), is_null.end(), true);
    nodes.push_back({static_cast<std::int64_t>(rows), nulls});
    const std::size_t begin = bytes.size();
    if (nulls > 0) put_bits(rows, [&](std::size_t row) { return !is_null[row]; });
    end_buffer(begin);
  }
  template <typename IsSet>
  void put_bits(std::size_t rows, const IsSet& is_set) {
    for (std::size_t row = 0; row < rows; row += 8) {
      unsigned byte = 0;
      for (std::size_t bit = 0; bit < 8 && row + bit < rows; ++bit) byte |= is_set(row + bit) ? 1U << bit : 0U;
      bytes += static_cast<char>(byte);
    }
  }
};

template <typename T, typename Source>
void put_values(Body& body, const Source& values) {
  const std::size_t begin = body.bytes.size();
  body.bytes.reserve(begin + values.size() * sizeof(T) + kAlignment);
  for (const auto value : values) put(body.bytes, static_cast<T>(value));
  body.end_buffer(begin);
}

void put_numbers(Body& body, const ColumnData& data, Kind kind) {
  std::vector<bool> is_null(data.numbers.size());
  std::transform(data.numbers.begin(), data.numbers.end(), is_null.begin(),
                 [](double value) { return std::isnan(value); });
  body.begin_column(data.numbers.size(), is_null);
  if (kind == Kind::kDouble) return put_values<double>(body, data.numbers);
  put_values<float>(body, data.numbers);
}

void put_codes(Body& body, const ColumnData& data, const ColumnInfo& info) {
  const std::int64_t null = info.kind == Kind::kTime ? kNoTime : -1;
  std::vector<bool> is_null(data.codes.size());
  std::transform(data.codes.begin(), data.codes.end(), is_null.begin(),

                 [&](std::int64_t code) { return code == null; });
  body.begin_column(data.codes.size(), is_null);
  if (info.kind == Kind::kFlag) {
    const std::size_t begin = body.bytes.size();
    body.put_bits(data.codes.size(), [&](std::size_t row) { return data.codes[row] != 0; });
    return body.end_buffer(begin);
  }
  if (info.kind == Kind::kTime) return put_values<std::int64_t>(body, data.codes);
  switch (index_bits(info.dictionary.size())) {
    case 8:
      return put_values<std::int8_t>(body, data.codes);
    case 16:
      return put_values<std::int16_t>(body, data.codes);
    default:
      return put_values<std::int32_t>(body, data.codes);
  }
}

Table integer_type(FlatBufferBuilder& builder, int bits) {
  const auto start = builder.StartTable();
  builder.AddElement<std::int32_t>(integer::kBits, bits, 0);
  builder.AddElement<std::uint8_t>(integer::kSigned, 1, 0);
  return {builder.EndTable(start)};
}

Type type_of(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return Type::kUtf8;
    case Kind::kTime:
      return Type::kTimestamp;
    case Kind::kFlag:
      return Type::kBool;
    case Kind::kDouble:
    case Kind::kSingle:
      break;
  }
  return Type::kFloatingPoint;
}

Table type_table(FlatBufferBuilder& builder, Kind kind) {
  const auto zone = kind == Kind::kTime ? builder.CreateString("UTC") : Offset<flatbuffers::String>();
  const auto start = builder.StartTable();
  if (kind == Kind::kTime) {
    builder.AddElement<std::int16_t>(timestamp::kUnit, timestamp::kSecond, 1);
    builder.AddOffset(timestamp::kZone, zone);
  }
  const auto precision = kind == Kind::kSingle ? Precision::kSingle : Precision::kDouble;
  if (type_of(kind) == Type::kFloatingPoint) {
    builder.AddElement<std::int16_t>(floating::kPrecision, static_cast<std::int16_t>(precision), 0);
  }
  return {builder.EndTable(start)};
}

Table dictionary_encoding(FlatBufferBuilder& builder, std::size_t id, int bits) {
  const Table index = integer_type(builder, bits);
  const auto start = builder.StartTable();
  builder.AddElement<std::int64_t>(dictionary::kId, static_cast<std::int64_t>(id), -1);
  builder.AddOffset(dictionary::kIndexType, index);
  return {builder.EndTable(start)};
}

Table field_table(FlatBufferBuilder& builder, const ColumnInfo& info, std::size_t id) {
  const auto name = builder.CreateString(info.name);
  const Table type = type_table(builder, info.kind);
  const Table encoding =
      info.kind == Kind::kText ? dictionary_encoding(builder, id, index_bits(info.dictionary.size())) : Table();
  const auto children = builder.CreateVector(std::vector<Table>{});
  const auto start = builder.StartTable();
  builder.AddOffset(column::kName, name);
  builder.AddElement<std::uint8_t>(column::kNullable, info.kind == Kind::kFlag ? 0 : 1, 2);
  builder.AddElement<std::uint8_t>(column::kTypeType, static_cast<std::uint8_t>(type_of(info.kind)), 0);
  builder.AddOffset(column::kType, type);
  if (info.kind == Kind::kText) builder.AddOffset(column::kDictionary, encoding);
  builder.AddOffset(column::kChildren, children);
  return {builder.EndTable(start)};
}

Table schema_table(FlatBufferBuilder& builder, const Schema& schema) {
  std::vector<Table> fields;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) fields.push_back(field_table(builder, schema.columns[i], i));
  std::vector<Table> metadata;
  for (const auto& [key, value] : schema.metadata) {
    const auto key_text = builder.CreateString(key);
    const auto value_text = builder.CreateString(value);
    const auto start = builder.StartTable();
    builder.AddOffset(key_value::kKey, key_text);
    builder.AddOffset(key_value::kValue, value_text);
    metadata.emplace_back(builder.EndTable(start));
  }
  const auto field_vector = builder.CreateVector(fields);
  const auto metadata_vector = builder.CreateVector(metadata);
  const auto start = builder.StartTable();
  builder.AddElement<std::int16_t>(schema::kEndianness, 0, 1);
  builder.AddOffset(schema::kFields, field_vector);
  builder.AddOffset(schema::kMetadata, metadata_vector);
  return {builder.EndTable(start)};
}

Table batch_table(FlatBufferBuilder& builder, std::size_t rows, const Body& body) {
  const auto nodes = builder.CreateVectorOfStructs(body.nodes);
  const auto buffers = builder.CreateVectorOfStructs(body.buffers);
  const auto start = builder.StartTable();
  builder.AddElement<std::int64_t>(record_batch::kLength, static_cast<std::int64_t>(rows), 0);
  builder.AddOffset(record_batch::kNodes, nodes);
  builder.AddOffset(record_batch::kBuffers, buffers);
  return {builder.EndTable(start)};
}

std::string message_bytes(FlatBufferBuilder& builder, Header type, Table header, std::size_t body_length) {
  const auto start = builder.StartTable();
  builder.AddElement<std::int16_t>(message::kVersion, kVersion, 0);
  builder.AddElement<std::uint8_t>(message::kHeaderType, static_cast<std::uint8_t>(type), 0);
  builder.AddOffset(message::kHeader, header);
  builder.AddElement<std::int64_t>(message::kBodyLength, static_cast<std::int64_t>(body_length), -1);
  builder.Finish(Table(builder.EndTable(start)));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Body texts_body(const std::vector<std::string>& texts) {
  Body body;
  body.begin_column(texts.size(), std::vector<bool>(texts.size()));
  std::vector<std::int32_t> ends = {0};
  for (const std::string& text : texts) {
    constexpr std::size_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
    if (text.size() > kMaxBytes - static_cast<std::size_t>(ends.back())) {
      throw FormatError("the strings of one column take more than 2 GiB; merge fewer reports into the store");
    }
    ends.push_back(ends.back() + static_cast<std::int32_t>(text.size()));
  }
  put_values<std::int32_t>(body, ends);
  const std::size_t begin = body.bytes.size();
  for (const std::string& text : texts) body.bytes += text;
  body.end_buffer(begin);
  return body;
}

template <typename Places>
auto block_vector(FlatBufferBuilder& builder, const Places& places) {
  std::vector<Block> blocks;
  for (const auto& place : places) blocks.push_back({place.offset, place.metadata_length, 0, place.body_length});
  return builder.CreateVectorOfStructs(blocks);
}

}  // namespace

Writer::Writer(const Schema& schema) : schema_(schema) {
  bytes_ = kMagic;
  pad(bytes_);
  FlatBufferBuilder builder;
  (void)append(message_bytes(builder, Header::kSchema, schema_table(builder, schema), 0), {});
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].kind != Kind::kText) continue;
    const Body body = texts_body(schema.columns[i].dictionary);
    FlatBufferBuilder of_dictionary;
    const Table data = batch_table(of_dictionary, schema.columns[i].dictionary.size(), body);
    const auto start = of_dictionary.StartTable();
    of_dictionary.AddElement<std::int64_t>(dictionary_batch::kId, static_cast<std::int64_t>(i), -1);
    of_dictionary.AddOffset(dictionary_batch::kData, data);
    const Table header(of_dictionary.EndTable(start));
    dictionaries_.push_back(
        append(message_bytes(of_dictionary, Header::kDictionaryBatch, header, body.bytes.size()), body.bytes));
  }
}

void Writer::add(const Batch& batch) {
  Body body;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ColumnInfo& info = schema_.columns[i];
    const bool has_numbers = info.kind == Kind::kDouble || info.kind == Kind::kSingle;
    has_numbers ? put_numbers(body, batch[i], info.kind) : put_codes(body, batch[i], info);
  }
  FlatBufferBuilder builder;
  const Table header = batch_table(builder, static_cast<std::size_t>(body.nodes.front().length), body);
  batches_.push_back(append(message_bytes(builder, Header::kRecordBatch, header, body.bytes.size()), body.bytes));
}

std::string Writer::finish() && {
  put(bytes_, kContinuation);
  put(bytes_, std::int32_t{0});  // end marker: no further message
  FlatBufferBuilder builder;
  const Table columns = schema_table(builder, schema_);
  const auto dictionaries = block_vector(builder, dictionaries_);
  const auto batches = block_vector(builder, batches_);
  const auto start = builder.StartTable();
  builder.AddElement<std::int16_t>(footer::kVersion, kVersion, 0);
  builder.AddOffset(footer::kSchema, columns);
  builder.AddOffset(footer::kDictionaries, dictionaries);
  builder.AddOffset(footer::kRecordBatches, batches);
  builder.Finish(Table(builder.EndTable(start)));
  bytes_.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  put(bytes_, static_cast<std::int32_t>(builder.GetSize()));
  bytes_ += kMagic;
  return std::move(bytes_);
}

Writer::Place Writer::append(std::string_view metadata, std::string_view body) {
  const std::size_t offset = bytes_.size();
  constexpr std::size_t kPrefix = 8;  // continuation and length
  const std::size_t padded = (metadata.size() + kAlignment - 1) / kAlignment * kAlignment;
  put(bytes_, kContinuation);
  put(bytes_, static_cast<std::int32_t>(padded));
  bytes_ += metadata;
  pad(bytes_);
  bytes_ += body;
  pad(bytes_);
  return {static_cast<std::int64_t>(offset), static_cast<std::int32_t>(kPrefix + padded),
          static_cast<std::int64_t>(body.size())};
}

}  // namespace gputopo::fleet::arrow
