// A fleet's runs and their readings, as numbers in memory: what a judgement compares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/reading.h"

namespace gputopo::fleet {

using Word = std::uint32_t;  // a text of the store; 0: the empty text
inline constexpr Word kNoWord = 0;

class Words {
 public:
  [[nodiscard]] Word add(std::string_view text);
  [[nodiscard]] const std::string& operator[](Word word) const { return texts_[word]; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> texts_ = {""};
  std::unordered_map<std::string, Word, Hash, std::equal_to<>> words_ = {{"", kNoWord}};
};

struct StoredRun {
  Word host;
  Word gpu;
  Word name;
  Word document;
  Word model;
  Word driver;
  Word profile;
  std::optional<std::int64_t> timestamp;
  bool simulated = false;
  std::size_t first = 0;  // readings are [first, end); none if the run is only known to have been
  std::size_t end = 0;
};

struct StoredReading {
  double value;  // NaN: none
  float low;     // rounded outward
  float high;
  Word path;
  Word unit;
  Word source;
  Word reason;
  Word text;
};

class Store {
 public:
  void add(const Run& run);
  // For readers, whose words are of this store. Readings may come before or after other runs.
  [[nodiscard]] Word word(std::string_view text) { return words_.add(text); }
  void add(const StoredRun& run) { runs_.push_back(run); }
  void add(const StoredReading& reading) { readings_.push_back(reading); }
  void reserve_readings(std::size_t count) { readings_.reserve(count); }

  [[nodiscard]] const std::vector<StoredRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<StoredReading>& readings() const { return readings_; }
  [[nodiscard]] const std::string& text(Word word) const { return words_[word]; }

 private:
  Words words_;
  std::vector<StoredRun> runs_;
  std::vector<StoredReading> readings_;
};

// Bounds of an interval in single precision, rounded outward, so that it never becomes narrower; NaN if there is none.
[[nodiscard]] float rounded_down(double bound);
[[nodiscard]] float rounded_up(double bound);

}  // namespace gputopo::fleet
