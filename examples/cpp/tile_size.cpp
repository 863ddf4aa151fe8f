// tile_size [REPORT.json]: shows how many rows of a float matrix to process at a time, so that L2 holds them between
// two passes, and how many of them fit a block's shared memory. Measures the first GPU if there is no report.
#include <cstdlib>
#include <gputopo/gputopo.hpp>
#include <iostream>

namespace {

constexpr double kColumns = 4096;
constexpr double kRowBytes = kColumns * sizeof(float);
constexpr double kPartOfL2 = 0.5;  // leaves the rest for other data

gputopo::Report report_of(int argc, char** argv) {
  if (argc > 1) return gputopo::Report::load(argv[1]);
  gputopo::Options options;
  options.elements = {"l2.size", "l2.partitions", "shared.size"};
  options.log = [](gputopo_log_level level, std::string_view line) {
    if (level == GPUTOPO_LOG_WARNING) std::cerr << "tile_size: " << line << "\n";
  };
  return gputopo::discover("", options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const gputopo::Report report = report_of(argc, argv);
    double l2 = report["l2.size"].number;
    // A partitioned L2 may keep a second copy of data from a far partition, so plan with one partition.
    if (const auto partitions = report.find("l2.partitions"); partitions && partitions->number > 1) {
      l2 /= partitions->number;
    }
    const double shared = report["compute.shared_memory_per_block_opt_in"].number;
    std::cout << report["device.name"].text << ": " << static_cast<long>(kPartOfL2 * l2 / kRowBytes)
              << " rows at a time, " << static_cast<long>(shared / kRowBytes) << " of them in shared memory\n";
    return EXIT_SUCCESS;
  } catch (const gputopo::Error& error) {
    std::cerr << "tile_size: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
