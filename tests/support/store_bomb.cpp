#include "support/store_bomb.h"

#include <flatbuffers/flatbuffers.h>

#include <vector>

#include "fleet/arrow_format.h"

namespace gputopo::test {
namespace {

using namespace fleet::arrow;
using flatbuffers::FlatBufferBuilder;
using Table = flatbuffers::Offset<flatbuffers::Table>;

void pad_store(std::string& bytes) { bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, '\0'); }

template <typename T>
void put_raw(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Table batch_of(FlatBufferBuilder& builder, std::size_t rows, const std::vector<Buffer>& places, std::size_t columns) {
  const FieldNode node{static_cast<std::int64_t>(rows), 0};
  const auto nodes = builder.CreateVectorOfStructs(std::vector<FieldNode>(columns, node));
  const auto buffers = builder.CreateVectorOfStructs(places);
  const auto start = builder.StartTable();
  builder.AddElement<std::int64_t>(record_batch::kLength, static_cast<std::int64_t>(rows), 0);
  builder.AddOffset(record_batch::kNodes, nodes);
  builder.AddOffset(record_batch::kBuffers, buffers);
  return {builder.EndTable(start)};
}

// Appends a message with this body and returns its position.
Block append_message(std::string& bytes, FlatBufferBuilder& builder, Header type, Table header,
                     const std::string& body) {
  const auto start = builder.StartTable();
  builder.AddElement<std::int16_t>(message::kVersion, fleet::arrow::kVersion, 0);
  builder.AddElement<std::uint8_t>(message::kHeaderType, static_cast<std::uint8_t>(type), 0);
  builder.AddOffset(message::kHeader, header);
  builder.Finish(Table(builder.EndTable(start)));
  std::string metadata(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  pad_store(metadata);
  const Block block{static_cast<std::int64_t>(bytes.size()), static_cast<std::int32_t>(metadata.size() + 8), 0,
                    static_cast<std::int64_t>(body.size())};
  put_raw(bytes, kContinuation);
  put_raw(bytes, static_cast<std::int32_t>(metadata.size()));
  bytes += metadata + body;
  pad_store(bytes);
  return block;
}

// Appends a dictionary of `count` texts of `length` bytes each.
Block append_texts(std::string& bytes, std::size_t count, std::size_t length, bool is_delta) {
  std::string body;
  for (std::size_t i = 0; i <= count; ++i) put_raw(body, static_cast<std::int32_t>(i * length));
  pad_store(body);
  const std::size_t begin = body.size();
  body.append(count * length, 'x');
  pad_store(body);
  FlatBufferBuilder builder;
  const auto end = static_cast<std::int64_t>(begin);
  const Table data = batch_of(builder, count, {{0, 0}, {0, end}, {end, static_cast<std::int64_t>(count * length)}}, 1);
  const auto start = builder.StartTable();
  builder.AddElement<std::int64_t>(dictionary_batch::kId, 0, -1);
  builder.AddOffset(dictionary_batch::kData, data);
  builder.AddElement<std::uint8_t>(dictionary_batch::kIsDelta, is_delta ? 1 : 0, 0);
  const Table header(builder.EndTable(start));
  return append_message(bytes, builder, Header::kDictionaryBatch, header, body);
}

Table text_column(FlatBufferBuilder& builder, flatbuffers::Offset<flatbuffers::String> name) {
  const auto type_start = builder.StartTable();
  const Table type(builder.EndTable(type_start));
  const auto encoding_start = builder.StartTable();
  builder.AddElement<std::int64_t>(dictionary::kId, 0, -1);
  const Table encoding(builder.EndTable(encoding_start));
  const auto start = builder.StartTable();
  builder.AddOffset(column::kName, name);
  builder.AddElement<std::uint8_t>(column::kTypeType, static_cast<std::uint8_t>(Type::kUtf8), 0);
  builder.AddOffset(column::kType, type);
  builder.AddOffset(column::kDictionary, encoding);
  return {builder.EndTable(start)};
}

Table flag_column(FlatBufferBuilder& builder, flatbuffers::Offset<flatbuffers::String> name) {
  const auto type_start = builder.StartTable();
  const Table type(builder.EndTable(type_start));
  const auto start = builder.StartTable();
  builder.AddOffset(column::kName, name);
  builder.AddElement<std::uint8_t>(column::kTypeType, static_cast<std::uint8_t>(Type::kBool), 0);
  builder.AddOffset(column::kType, type);
  return {builder.EndTable(start)};
}

struct FooterParts {
  std::size_t columns = 1;
  bool has_flags = false;
  std::size_t name_bytes = 1;
  std::size_t pairs = 0;
  std::size_t value_bytes = 1;
  std::vector<Block> dictionaries = {};
  std::vector<Block> batches = {};
};

std::string with_footer(std::string bytes, const FooterParts& parts) {
  FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(parts.name_bytes, 'n'));
  std::vector<Table> fields;
  for (std::size_t i = 0; i < parts.columns; ++i) {
    fields.push_back(parts.has_flags ? flag_column(builder, name) : text_column(builder, name));
  }
  const auto field_vector = builder.CreateVector(fields);
  const auto text = builder.CreateString(std::string(parts.value_bytes, 'v'));
  const auto pair_start = builder.StartTable();
  builder.AddOffset(key_value::kKey, text);
  builder.AddOffset(key_value::kValue, text);
  const Table pair(builder.EndTable(pair_start));
  const auto pairs = builder.CreateVector(std::vector<Table>(parts.pairs, pair));
  const auto schema_start = builder.StartTable();
  builder.AddOffset(schema::kFields, field_vector);
  builder.AddOffset(schema::kMetadata, pairs);
  const Table schema_table(builder.EndTable(schema_start));
  const auto dictionaries = builder.CreateVectorOfStructs(parts.dictionaries);
  const auto batches = builder.CreateVectorOfStructs(parts.batches);
  const auto start = builder.StartTable();
  builder.AddOffset(footer::kSchema, schema_table);
  builder.AddOffset(footer::kDictionaries, dictionaries);
  builder.AddOffset(footer::kRecordBatches, batches);
  builder.Finish(Table(builder.EndTable(start)));
  bytes.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  put_raw(bytes, static_cast<std::int32_t>(builder.GetSize()));
  return bytes += kMagic;
}

}  // namespace

std::string_view name_of(StoreBomb bomb) {
  constexpr std::string_view kNames[] = {"metadata", "names", "dictionary", "columns", "batches", "flags"};
  return kNames[static_cast<std::size_t>(bomb)];
}

std::string store_bomb(StoreBomb bomb, std::size_t bytes) {
  constexpr std::size_t kTextBytes = 4000;
  constexpr std::size_t kMostColumns = 64;
  std::string file(kMagic);
  pad_store(file);
  switch (bomb) {
    case StoreBomb::kMetadata:
      return with_footer(file, {.pairs = bytes / 2 / sizeof(std::uint32_t), .value_bytes = bytes / 2});
    case StoreBomb::kNames:
      return with_footer(file, {.columns = kMostColumns, .name_bytes = bytes});
    case StoreBomb::kDictionary: {
      const Block block = append_texts(file, bytes / 2 / kTextBytes, kTextBytes, true);
      return with_footer(file, {.dictionaries = std::vector<Block>(bytes / 2 / sizeof(Block), block)});
    }
    case StoreBomb::kColumns: {
      const Block block = append_texts(file, bytes / kTextBytes, kTextBytes, false);
      return with_footer(file, {.columns = kMostColumns, .dictionaries = {block}});
    }
    case StoreBomb::kBatches:
    case StoreBomb::kFlags: {
      const bool are_many = bomb == StoreBomb::kBatches;
      const std::string bits(are_many ? bytes / 2 : bytes, '\0');
      const std::size_t columns = are_many ? 1 : kMostColumns;
      const Buffer buffer{0, static_cast<std::int64_t>(bits.size())};
      std::vector<Buffer> places;
      for (std::size_t i = 0; i < columns; ++i) places.insert(places.end(), {{0, 0}, buffer});
      FlatBufferBuilder builder;
      const Table batch = batch_of(builder, bits.size() * 8, places, columns);
      const Block block = append_message(file, builder, Header::kRecordBatch, batch, bits);
      const std::size_t times = are_many ? bytes / 2 / sizeof(Block) : 1;
      return with_footer(file, {.columns = columns, .has_flags = true, .batches = std::vector<Block>(times, block)});
    }
  }
  return file;
}

}  // namespace gputopo::test
