// The entry point of libFuzzer: GPUTOPO_FUZZ_TARGET is one of targets.h.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gputopo::fuzz::GPUTOPO_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
