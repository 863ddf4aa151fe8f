// Points the HIP backend at the fake runtime and at sysfs fixtures while an object of this class exists.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "support/fake_hip/counts.h"
#include "support/own_locks.h"

namespace gputopo::test {

class FakeHip {
 public:
  // `behaviour`: see tests/support/fake_hip/fake_hip.cpp; empty for a GPU that works.
  explicit FakeHip(const std::string& behaviour = {}, const std::string& machine = "mi210",
                   const std::string& sysfs = {}, const std::string& library = GPUTOPO_FAKE_HIP_LIBRARY) {
    keep_locks_apart();
    setenv("GPUTOPO_LIBAMDHIP64", library.c_str(), 1);
    setenv("GPUTOPO_LIBHIPRTC", GPUTOPO_FAKE_HIP_LIBRARY, 1);
    setenv("GPUTOPO_FAKE_HIP", behaviour.c_str(), 1);
    setenv("GPUTOPO_FAKE_HIP_MACHINE", machine.c_str(), 1);
    setenv("GPUTOPO_SYSFS", sysfs_fixture(sysfs.empty() ? machine : sysfs).c_str(), 1);
  }
  FakeHip(const FakeHip&) = delete;
  FakeHip& operator=(const FakeHip&) = delete;
  ~FakeHip() {
    for (const char* name : {"GPUTOPO_LIBAMDHIP64", "GPUTOPO_LIBHIPRTC", "GPUTOPO_FAKE_HIP", "GPUTOPO_FAKE_HIP_MACHINE",
                             "GPUTOPO_SYSFS"}) {
      unsetenv(name);
    }
  }

  // The backend must have loaded the runtime.
  [[nodiscard]] const FakeHipCounts& counts() const {
    void* const library = dlopen(std::getenv("GPUTOPO_LIBAMDHIP64"), RTLD_NOW | RTLD_NOLOAD);
    return *reinterpret_cast<const FakeHipCounts* (*)()>(dlsym(library, "fake_hip_counts"))();
  }

  static std::string sysfs_fixture(const std::string& name) {
    return fmt::format("{}/tests/fixtures/sysfs/{}", GPUTOPO_SOURCE_DIR, name);
  }
};

}  // namespace gputopo::test
