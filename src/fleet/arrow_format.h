// Numbers of the Arrow columnar format (version 1.0, IPC files; Schema.fbs, Message.fbs and File.fbs), as far as tables
// of numbers and dictionary-encoded texts need them. Source: https://arrow.apache.org/docs/format/Columnar.html.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gputopo::fleet::arrow {

inline constexpr std::string_view kMagic = "ARROW1";
inline constexpr std::size_t kAlignment = 8;  // alignment of messages and buffers
inline constexpr std::uint32_t kContinuation = 0xFFFFFFFF;
inline constexpr std::int16_t kVersion = 4;  // metadata version V5, of Arrow 1.0

enum class Header : std::uint8_t { kSchema = 1, kDictionaryBatch = 2, kRecordBatch = 3 };
enum class Type : std::uint8_t { kInt = 2, kFloatingPoint = 3, kUtf8 = 5, kBool = 6, kTimestamp = 10 };
enum class Precision : std::int16_t { kSingle = 1, kDouble = 2 };

// Vtable offset of field `index`.
constexpr flatbuffers::voffset_t field(std::uint16_t index) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * index);
}

namespace message {
inline constexpr auto kVersion = field(0), kHeaderType = field(1), kHeader = field(2), kBodyLength = field(3);
}
namespace schema {
inline constexpr auto kEndianness = field(0), kFields = field(1), kMetadata = field(2);
}
namespace column {
inline constexpr auto kName = field(0), kNullable = field(1), kTypeType = field(2), kType = field(3),
                      kDictionary = field(4), kChildren = field(5);
}
namespace integer {
inline constexpr auto kBits = field(0), kSigned = field(1);
}
namespace floating {
inline constexpr auto kPrecision = field(0);
}
namespace timestamp {
inline constexpr auto kUnit = field(0), kZone = field(1);
inline constexpr std::int16_t kSecond = 0;
}  // namespace timestamp
namespace dictionary {
inline constexpr auto kId = field(0), kIndexType = field(1);
}
namespace dictionary_batch {
inline constexpr auto kId = field(0), kData = field(1), kIsDelta = field(2);
}
namespace record_batch {
inline constexpr auto kLength = field(0), kNodes = field(1), kBuffers = field(2), kCompression = field(3);
}
namespace footer {
inline constexpr auto kVersion = field(0), kSchema = field(1), kDictionaries = field(2), kRecordBatches = field(3);
}
namespace key_value {
inline constexpr auto kKey = field(0), kValue = field(1);
}

// Structs within vectors, little-endian as the whole file.
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
static_assert(sizeof(FieldNode) == 16 && sizeof(Buffer) == 16 && sizeof(Block) == 24);

}  // namespace gputopo::fleet::arrow
