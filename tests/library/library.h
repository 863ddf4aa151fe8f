// Shared by the tests of the C interface. They link only with the shared library, as its users do.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "gputopo/gputopo.h"

namespace library_test {

inline const std::string kReport = GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";
// The smallest simulated machine; a discovery takes some ten milliseconds.
inline constexpr const char* kQuickDevice = "sim:gt200";

struct FreeReport {
  void operator()(gputopo_report* report) const { gputopo_report_free(report); }
};
using Report = std::unique_ptr<gputopo_report, FreeReport>;

inline Report load(const std::string& path = kReport) {
  gputopo_report* report = nullptr;
  EXPECT_EQ(gputopo_load(path.c_str(), &report), GPUTOPO_OK) << gputopo_last_error();
  return Report(report);
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Options for a single value that is measured quickly.
struct Quick {
  explicit Quick(const char* value = "texture.latency") : element(value) {
    gputopo_options_init(&options, sizeof options);
    options.elements = &element;
    options.element_count = 1;
  }
  Quick(const Quick&) = delete;
  Quick& operator=(const Quick&) = delete;
  const char* element;
  gputopo_options options;
};

inline Report discover(const char* device, const gputopo_options& options) {
  gputopo_report* report = nullptr;
  EXPECT_EQ(gputopo_discover(device, &options, &report), GPUTOPO_OK) << gputopo_last_error();
  return Report(report);
}

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "gputopo-library-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace library_test
