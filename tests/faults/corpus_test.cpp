// The corpus of the fuzzers (tests/fuzz), and simple mutations of it: without a fuzzer, and always the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "fuzz/targets.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

// One or a few of: a byte is another one, a stretch is left out, a stretch stands twice, a number is another one.
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

// GPUTOPO_MUTATIONS: of each file of the corpus.
void run_corpus(const std::string& name, void (*target)(std::string_view), int mutations) {
  if (const char* wanted = std::getenv("GPUTOPO_MUTATIONS")) mutations = std::atoi(wanted);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/" + name)) {
    ++files;
    const std::string bytes = read_file(entry.path());
    EXPECT_NO_THROW(target(bytes)) << entry.path();
    for (int seed = 0; seed < mutations; ++seed) {
      std::mt19937_64 random(static_cast<std::uint64_t>(seed));
      EXPECT_NO_THROW(target(mutated_input(bytes, random))) << entry.path() << ", mutation " << seed;
    }
  }
  EXPECT_GT(files, 0);
}

TEST(Corpus, OfReports) { run_corpus("report", fuzz::report, 200); }
TEST(Corpus, OfRecordings) { run_corpus("recording", fuzz::recording, 1000); }
TEST(Corpus, OfCommandLines) { run_corpus("command_line", fuzz::command_line, 50); }
TEST(Corpus, OfNames) { run_corpus("names", fuzz::names, 200); }
TEST(Corpus, OfMachines) { run_corpus("machine", fuzz::machine, 1000); }

}  // namespace
}  // namespace gputopo
