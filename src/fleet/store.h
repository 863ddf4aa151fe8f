// A fleet's runs and their readings, as numbers in memory and as one Arrow file (docs/fleet.md lists its columns).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fleet/reading.h"

namespace gputopo::fleet {

using Word = std::uint32_t;  // a text of the store; 0: the empty text, null in the file
inline constexpr Word kNoWord = 0;

class Words {
 public:
  [[nodiscard]] Word add(std::string_view text);
  [[nodiscard]] const std::string& operator[](Word word) const { return texts_[word]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> texts_ = {""};
  std::unordered_map<std::string, Word, Hash, std::equal_to<>> words_ = {{"", kNoWord}};
};

struct StoredRun {
  Word report;  // id of the run's content
  Word file;    // id of the content of the run's file
  Word host;
  Word gpu;
  Word name;
  Word model;
  Word driver;
  Word profile;
  std::optional<std::int64_t> timestamp;
  bool simulated = false;
  std::size_t first = 0;  // readings are [first, end)
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
  // Returns the id of a file's content.
  [[nodiscard]] static std::string file_id(std::string_view content);
  [[nodiscard]] bool has_file(const std::string& id) const { return files_.contains(id); }
  // Returns false and adds nothing if the store already has the same content of the same GPU.
  bool add(const Run& run, const std::string& file);

  [[nodiscard]] const std::vector<StoredRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<StoredReading>& readings() const { return readings_; }
  [[nodiscard]] const std::string& text(Word word) const { return words_[word]; }

 private:
  friend Store read_store(std::string_view bytes);
  Words words_;
  std::vector<StoredRun> runs_;
  std::vector<StoredReading> readings_;
  std::unordered_set<std::string> files_;
  std::unordered_set<std::string> reports_;
};

}  // namespace gputopo::fleet
