// The corpus of the fuzzers (tests/fuzz) and simple mutations of it: runs without a fuzzer and always does the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>

#include "fuzz/structured.h"
#include "fuzz/targets.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

// Applies one or a few mutations: replaces a byte, removes a range, duplicates a range, or replaces a number.
std::string mutated_input(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t end) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(end, 1));
  };
  constexpr std::string_view kNumbers[] = {"0",    "-1", "1e308", "4294967295", "18446744073709551615",
                                           "null", "[]", "1e600"};
  for (std::size_t count = 1 + below(3); count > 0 && !bytes.empty(); --count) {
    const std::size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, below(16));
        break;
      case 2:
        bytes.insert(at, bytes.substr(at, below(64)));
        break;
      default: {
        const std::size_t digit = bytes.find_first_of("0123456789", at);
        const std::size_t end = std::min(bytes.find_first_not_of("0123456789.", digit), bytes.size());
        if (digit != std::string::npos) bytes.replace(digit, end - digit, kNumbers[below(std::size(kNumbers))]);
      }
    }
  }
  return bytes;
}

struct Target {
  std::string name;  // name of its folder
  bool (*run)(std::string_view);
  int mutations;                     // per file
  std::optional<fuzz::Form> form{};  // format of its files, if they are documents
};

std::string mutated(const std::string& bytes, const Target& target, int seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  if (!target.form || seed % 2 == 0) return mutated_input(bytes, random);
  return mutated_document(bytes, *target.form, random,
                          [&](std::string text) { return mutated_input(std::move(text), random); });
}

// GPUTOPO_MUTATIONS sets the number of mutations per file.
void run_corpus(Target target) {
  if (const char* wanted = std::getenv("GPUTOPO_MUTATIONS")) target.mutations = std::atoi(wanted);
  int accepted = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/" + target.name)) {
    const std::string bytes = read_file(entry.path());
    EXPECT_NO_THROW(accepted += target.run(bytes) ? 1 : 0) << entry.path();
    for (int seed = 0; seed < target.mutations; ++seed) {
      EXPECT_NO_THROW(target.run(mutated(bytes, target, seed))) << entry.path() << ", mutation " << seed;
    }
  }
  EXPECT_GT(accepted, 0) << "a corpus that is refused as a whole tests only how it is refused";
}

TEST(Corpus, OfReports) { run_corpus({"report", fuzz::report, 200, fuzz::Form::kJson}); }
TEST(Corpus, OfRecordings) { run_corpus({"recording", fuzz::recording, 1000, fuzz::Form::kCbor}); }
TEST(Corpus, OfCommandLines) { run_corpus({"command_line", fuzz::command_line, 50}); }
TEST(Corpus, OfNames) { run_corpus({"names", fuzz::names, 200}); }
TEST(Corpus, OfKernels) { run_corpus({"kernel", fuzz::kernel, 1000, fuzz::Form::kJson}); }
TEST(Corpus, OfStores) { run_corpus({"store", fuzz::store, 300}); }
TEST(Corpus, OfMachines) { run_corpus({"machine", fuzz::machine, 1000, fuzz::Form::kJson}); }

TEST(StructuredMutations, AreOtherDocumentsStill) {
  const auto kept = [](std::string text) { return text; };
  int others = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    const std::string document = R"({"a": [1, -2.5, "text"], "b": {"c": true}})";
    const std::string mutated = fuzz::mutated_document(document, fuzz::Form::kJson, random, kept);
    ASSERT_FALSE(mutated.empty());
    // A written document must be readable again.
    EXPECT_FALSE(fuzz::mutated_document(mutated, fuzz::Form::kJson, random, kept).empty()) << mutated;
    others += mutated != R"({"a":[1,-2.5,"text"],"b":{"c":true}})" ? 1 : 0;
  }
  EXPECT_GE(others, 90);
  std::mt19937_64 random;
  EXPECT_EQ(fuzz::mutated_document("{\"a\"", fuzz::Form::kJson, random, kept), "");
  EXPECT_EQ(fuzz::mutated_document("\xa1", fuzz::Form::kCbor, random, kept), "");
}

}  // namespace
}  // namespace gputopo
