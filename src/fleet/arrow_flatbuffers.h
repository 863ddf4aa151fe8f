// The FlatBuffers tables of an Arrow file, in place of generated code. Only fields that were checked are trusted.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <type_traits>

#include "fleet/arrow_format.h"

namespace gputopo::fleet::arrow {

template <typename T>
using Vector = flatbuffers::Vector<T>;
template <typename T>
using Tables = Vector<flatbuffers::Offset<T>>;

// A table. The derived class has a function holds(checks) that checks each field.
template <typename Derived>
struct Part : flatbuffers::Table {
  template <typename T>
  [[nodiscard]] T number(flatbuffers::voffset_t at, T absent) const {
    return GetField<T>(at, absent);
  }
  template <typename T>
  [[nodiscard]] const T* pointer(flatbuffers::voffset_t at) const {
    return GetPointer<const T*>(at);
  }
  [[nodiscard]] bool Verify(flatbuffers::Verifier& verifier) const {  // NOLINT: flatbuffers calls this name
    return VerifyTableStart(verifier) && static_cast<const Derived*>(this)->holds({verifier, *this}) &&
           verifier.EndTable();
  }

  // A pointer is followed only after its offset was checked.
  struct Checks {
    flatbuffers::Verifier& verifier;
    const Part& part;

    template <typename T>
    [[nodiscard]] bool number(flatbuffers::voffset_t at) const {
      return part.template VerifyField<T>(verifier, at, sizeof(T));
    }
    [[nodiscard]] bool offset(flatbuffers::voffset_t at) const { return part.VerifyOffset(verifier, at); }
    [[nodiscard]] bool text(flatbuffers::voffset_t at) const {
      return offset(at) && verifier.VerifyString(part.template pointer<flatbuffers::String>(at));
    }
    template <typename T>
    [[nodiscard]] bool table(flatbuffers::voffset_t at) const {
      return offset(at) && verifier.VerifyTable(part.template pointer<T>(at));
    }
    template <typename T>
    [[nodiscard]] bool tables(flatbuffers::voffset_t at) const {
      if (!offset(at)) return false;
      const auto* vector = part.template pointer<Tables<T>>(at);
      return verifier.VerifyVector(vector) && verifier.VerifyVectorOfTables(vector);
    }
    template <typename T>
    [[nodiscard]] bool structs(flatbuffers::voffset_t at) const {
      return offset(at) && verifier.VerifyVector(part.template pointer<Vector<const T*>>(at));
    }
  };
};

struct KeyValue : Part<KeyValue> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.text(key_value::kKey) && checks.text(key_value::kValue);
  }
};

struct Integer : Part<Integer> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.number<std::int32_t>(integer::kBits) && checks.number<std::uint8_t>(integer::kSigned);
  }
};

struct Encoding : Part<Encoding> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.number<std::int64_t>(dictionary::kId) && checks.table<Integer>(dictionary::kIndexType);
  }
};

// A type. The reader needs only one number of it: the precision of floats or the unit of times.
struct TypeTable : Part<TypeTable> {
  [[nodiscard]] static bool holds(const Checks& checks) { return checks.number<std::int16_t>(field(0)); }
};

struct Field : Part<Field> {
  [[nodiscard]] bool holds(const Checks& checks) const {
    return checks.text(column::kName) && checks.number<std::uint8_t>(column::kTypeType) &&
           (has_other_number_first() ? checks.offset(column::kType) : checks.table<TypeTable>(column::kType)) &&
           checks.table<Encoding>(column::kDictionary);
  }
  // Other types keep something else in that field. They are refused unread.
  [[nodiscard]] bool has_other_number_first() const {
    const auto type = static_cast<Type>(number<std::uint8_t>(column::kTypeType, 0));
    return type != Type::kFloatingPoint && type != Type::kTimestamp;
  }
};

struct SchemaTable : Part<SchemaTable> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.number<std::int16_t>(schema::kEndianness) && checks.tables<Field>(schema::kFields) &&
           checks.tables<KeyValue>(schema::kMetadata);
  }
};

struct BatchTable : Part<BatchTable> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.number<std::int64_t>(record_batch::kLength) && checks.structs<FieldNode>(record_batch::kNodes) &&
           checks.structs<Buffer>(record_batch::kBuffers);
  }
  [[nodiscard]] bool is_compressed() const { return GetOptionalFieldOffset(record_batch::kCompression) != 0; }
};

struct DictionaryBatch : Part<DictionaryBatch> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.number<std::int64_t>(dictionary_batch::kId) && checks.table<BatchTable>(dictionary_batch::kData) &&
           checks.number<std::uint8_t>(dictionary_batch::kIsDelta);
  }
};

template <typename T>
struct MessageOf : Part<MessageOf<T>> {
  static constexpr Header kType = std::is_same_v<T, BatchTable> ? Header::kRecordBatch : Header::kDictionaryBatch;
  [[nodiscard]] bool holds(const typename Part<MessageOf>::Checks& checks) const {
    return checks.template number<std::uint8_t>(message::kHeaderType) &&
           static_cast<Header>(this->template number<std::uint8_t>(message::kHeaderType, 0)) == kType &&
           checks.template table<T>(message::kHeader);
  }
};

struct Footer : Part<Footer> {
  [[nodiscard]] static bool holds(const Checks& checks) {
    return checks.table<SchemaTable>(footer::kSchema) && checks.structs<Block>(footer::kDictionaries) &&
           checks.structs<Block>(footer::kRecordBatches);
  }
};

}  // namespace gputopo::fleet::arrow
