// roofline FLOP BYTES [DEVICE]: shows the bound and the best possible speed of a kernel that computes FLOP operations
// on BYTES of device memory. A profiler counts both. DEVICE is a name from `gputopo list`.
#include <cstdlib>
#include <gputopo/gputopo.hpp>
#include <iostream>
#include <string>

namespace {

// The cache keeps measured values for the next kernel.
gputopo::Report ceilings_of(const std::string& device) {
  gputopo::Options options;
  options.elements = {"peaks.f32", "device.read_bandwidth"};
  options.use_cache = true;
  return gputopo::discover(device, options);
}

void annotate(const gputopo::Report& report, double flop, double bytes) {
  const double peak = report["peaks.f32"].number;
  const double bandwidth = report["device.read_bandwidth"].number;
  const double intensity = flop / bytes;
  const double ridge = peak / bandwidth;
  const double attainable = intensity < ridge ? intensity * bandwidth : peak;
  std::cout << "bound by " << (intensity < ridge ? "memory" : "arithmetic") << ": " << intensity
            << " FLOP/B, and the ridge is at " << ridge << "; at most " << attainable / 1e12 << " TFLOP/s, "
            << flop / attainable * 1e6 << " us\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: roofline FLOP BYTES [DEVICE]\n";
    return 2;
  }
  try {
    annotate(ceilings_of(argc > 3 ? argv[3] : ""), std::stod(argv[1]), std::stod(argv[2]));
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "roofline: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
