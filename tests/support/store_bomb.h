// Small stores that refer to the same bytes many times: expanded, they take thousands of times their size in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo::test {

enum class StoreBomb : std::uint8_t {
  kMetadata,    // one long text is the value of many keys
  kNames,       // one long text is the name of many columns
  kDictionary,  // a block adds its texts to the same dictionary again and again
  kColumns,     // all columns of texts share one dictionary
  kBatches,     // one batch is listed many times
  kFlags,       // columns of flags share one buffer, in which a row is a bit
};
inline constexpr StoreBomb kStoreBombs[] = {StoreBomb::kMetadata, StoreBomb::kNames,   StoreBomb::kDictionary,
                                            StoreBomb::kColumns,  StoreBomb::kBatches, StoreBomb::kFlags};

[[nodiscard]] std::string_view name_of(StoreBomb bomb);

// An Arrow file of about `bytes` bytes.
[[nodiscard]] std::string store_bomb(StoreBomb bomb, std::size_t bytes = 200'000);

}  // namespace gputopo::test
