// Points the CUDA backend at the fake driver library while an object of this class exists.
#pragma once

#include <cstdlib>
#include <string>

#include "support/own_locks.h"

namespace gputopo::test {

class FakeCuda {
 public:
  // `behaviour`: see tests/support/fake_libcuda/fake_libcuda.cpp; empty for a GPU that works.
  explicit FakeCuda(const std::string& behaviour = {}, const std::string& library = GPUTOPO_FAKE_LIBCUDA) {
    keep_locks_apart();
    setenv("GPUTOPO_LIBCUDA", library.c_str(), 1);
    setenv("GPUTOPO_LIBNVML", "/nonexistent/libnvidia-ml.so.1", 1);
    setenv("GPUTOPO_FAKE_CUDA", behaviour.c_str(), 1);
  }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;
  ~FakeCuda() {
    unsetenv("GPUTOPO_LIBCUDA");
    unsetenv("GPUTOPO_LIBNVML");
    unsetenv("GPUTOPO_FAKE_CUDA");
  }
};

}  // namespace gputopo::test
