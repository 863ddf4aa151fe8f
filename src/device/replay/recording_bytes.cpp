#include "device/replay/recording_bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <new>

#include "device/replay/replay.h"
#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

constexpr std::size_t kLengthBytes = 8;

std::string compress_bytes(const std::vector<std::uint8_t>& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  // The best compression takes twenty times as long and saves a tenth of the size.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, bytes.data(), bytes.size(), Z_DEFAULT_COMPRESSION) !=
      Z_OK) {
    throw Error("the recording could not be compressed; free some memory and try again");
  }
  packed.resize(size);
  return packed;
}

// Decompresses piece by piece, because neither the `length` in the file nor the size of its data can be trusted.
std::vector<std::uint8_t> decompress_bytes(std::string_view packed, std::uint64_t length) {
  check_content_length(length);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 1 << 16> part;
  int status = Z_OK;
  while (status == Z_OK && bytes.size() <= length) {
    stream.next_out = part.data();
    stream.avail_out = static_cast<uInt>(part.size());
    status = inflate(&stream, Z_NO_FLUSH);
    bytes.insert(bytes.end(), part.begin(), part.end() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || bytes.size() != length) throw_corrupt_recording();
  return bytes;
}

}  // namespace

void throw_corrupt_recording() {
  throw FormatError(fmt::format("the recording is truncated or corrupt; copy it again or {}", kRecordAgain));
}

void check_content_length(std::uint64_t length) {
  if (length <= limits::kMaxInflatedBytes) return;
  throw FormatError(
      fmt::format("the recording contains {} bytes, but gputopo reads at most {}", length, limits::kMaxInflatedBytes));
}

std::string recording_of(const std::vector<std::uint8_t>& content) {
  std::string file(kRecordingMagic);
  for (std::size_t i = 0; i < kLengthBytes; ++i) file += static_cast<char>(content.size() >> (8 * i) & 0xff);
  return file + compress_bytes(content);
}

std::vector<std::uint8_t> recording_content(std::string_view file) {
  const std::string_view start = file.substr(0, kRecordingMagic.size());
  if (start != kRecordingMagic.substr(0, start.size()) || start.empty()) {
    throw FormatError("not a gputopo recording; give a file written by --record");
  }
  file.remove_prefix(start.size());
  if (file.size() < kLengthBytes) throw_corrupt_recording();
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::uint64_t{static_cast<std::uint8_t>(file[i])} << (8 * i);
  }
  file.remove_prefix(kLengthBytes);
  return decompress_bytes(file, length);
}

}  // namespace gputopo
