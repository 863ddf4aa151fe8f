// The entry points of libFuzzer. GPUTOPO_FUZZ_TARGET is a target of targets.h. GPUTOPO_FUZZ_FORM is a value of Form
// if the inputs are documents.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "fuzz/structured.h"
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gputopo::fuzz::GPUTOPO_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifdef GPUTOPO_FUZZ_FORM

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

std::string mutated_text(std::string text) {
  const std::size_t size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

}  // namespace

// Mutates every other input without regard to its structure, to also try inputs that are not documents.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937_64 random(seed);
  if (random() % 2 == 0) {
    const std::string document = gputopo::fuzz::mutated_document(
        {reinterpret_cast<const char*>(data), size}, gputopo::fuzz::Form::GPUTOPO_FUZZ_FORM, random, mutated_text);
    if (!document.empty() && document.size() <= max_size) {
      std::copy(document.begin(), document.end(), data);
      return document.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

#endif
