#include "support/png.h"

#include <zlib.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace gputopo::test {
namespace {

using Bytes = std::vector<unsigned char>;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// The neighbor nearest to the prediction from all three (PNG specification, 9.4).
int paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner);
  const int to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

int foretold(int filter, int left, int above, int corner) {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) / 2;
    default:
      return paeth(left, above, corner);
  }
}

}  // namespace

std::map<std::uint32_t, std::size_t> pixels_by_colour(std::string_view png) {
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kAround = 12;  // length, type and checksum of a chunk
  std::string packed;
  std::string_view header;
  for (std::string_view rest = png.substr(std::min(kSignature, png.size())); rest.size() >= kAround;) {
    const std::string_view type = rest.substr(4, 4);
    const std::string_view data = rest.substr(8, big_endian(rest));
    if (type == "IHDR") header = data;
    if (type == "IDAT") packed += data;
    rest.remove_prefix(std::min(rest.size(), kAround + data.size()));
  }
  constexpr std::size_t kHeader = 13;
  constexpr char kRgb = 2;
  constexpr char kRgba = 6;
  if (header.size() != kHeader || header[8] != 8 || (header[9] != kRgb && header[9] != kRgba) || header[12] != 0) {
    throw std::runtime_error("no PNG that the tests can read");
  }
  const std::size_t width = big_endian(header);
  const std::size_t height = big_endian(header.substr(4));
  const std::size_t channels = header[9] == kRgba ? 4 : 3;
  const std::size_t row_bytes = width * channels;
  Bytes image((row_bytes + 1) * height);
  uLongf size = image.size();
  if (uncompress(image.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK ||
      size != image.size()) {
    throw std::runtime_error("a PNG that is damaged");
  }
  std::map<std::uint32_t, std::size_t> pixels;
  Bytes above(row_bytes, 0);
  for (std::size_t y = 0; y < height; ++y) {
    const unsigned char* row = image.data() + y * (row_bytes + 1);
    Bytes own(row_bytes);
    for (std::size_t i = 0; i < row_bytes; ++i) {
      const bool is_first = i < channels;
      const int before =
          foretold(row[0], is_first ? 0 : own[i - channels], above[i], is_first ? 0 : above[i - channels]);
      own[i] = static_cast<unsigned char>(row[1 + i] + before);
    }
    for (std::size_t i = 0; i < row_bytes; i += channels) {
      ++pixels[static_cast<std::uint32_t>(own[i]) << 16 | static_cast<std::uint32_t>(own[i + 1]) << 8 | own[i + 2]];
    }
    above = std::move(own);
  }
  return pixels;
}

}  // namespace gputopo::test
