// The little that NVIDIA's management library adds, found at run time in libnvidia-ml.so.1. All of it is optional: what
// the library or the device does not tell stays unset.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/driver/driver_call.h"
#include "gputopo/device.h"

namespace gputopo::cuda {

// A part of a GPU that is a device of its own, as MIG makes them.
struct MigInstance {
  std::string uuid;     // "MIG-..." as CUDA_VISIBLE_DEVICES takes it
  std::string name;     // "NVIDIA A100-SXM4-40GB MIG 4g.20gb"
  std::string profile;  // "4g.20gb", or "2c.4g.20gb" where it has not all the compute slices of its memory slices
  std::optional<unsigned> sms;
  std::optional<unsigned> compute_slices;
  std::optional<std::uint64_t> memory_bytes;
};

// How a GPU is shared out; empty where it is not.
struct MigReadings {
  std::vector<MigInstance> instances;
  std::optional<unsigned> compute_slices;     // of the GPU, each at most an instance
  std::optional<std::uint64_t> memory_bytes;  // of the GPU

  // What the instance of that UUID has of the GPU; the only one's, where the UUID is not known.
  [[nodiscard]] GpuInstance instance_of(const std::string& uuid) const;
};

struct NvmlReadings {
  std::string driver_version;  // "580.159.04"; empty if unknown
  std::optional<unsigned> sm_clock_max_mhz;
  std::optional<unsigned> memory_clock_max_mhz;
  std::optional<bool> mig_enabled;
  MigReadings mig;
  std::optional<bool> persistence_mode;
  std::optional<double> power_limit_watts;  // that is enforced
};

// Reads the device at a PCI address ("0000:0f:00.0"). Never throws for what the library lacks.
[[nodiscard]] NvmlReadings read_nvml(const std::string& pci_address);
// The same on a thread of its own, from now on: it takes 20 ms (an H200, driver 580.159.04), beside the 50 to 60 of a
// context.
class NvmlReader {
 public:
  explicit NvmlReader(const std::string& pci_address);
  NvmlReader(const NvmlReader&) = delete;
  NvmlReader& operator=(const NvmlReader&) = delete;
  ~NvmlReader();
  // Waits for it; once.
  [[nodiscard]] NvmlReadings get();

 private:
  // So that a call that never comes back is seen.
  void wait() const;

  std::shared_ptr<LastCall> call_;
  std::future<NvmlReadings> readings_;
};
// How many GPUs this process may use, told without the driver being started up, which takes seconds on a node of eight.
// 0: not known.
[[nodiscard]] std::size_t count_nvml_gpus();
// Of every GPU that the library knows, with the PCI address of each: CUDA shows a process one of them at most.
struct ListedInstance {
  std::string pci_address;
  MigInstance instance;
};
[[nodiscard]] std::vector<ListedInstance> list_mig_instances();
// What holds its clocks down just now: bits of nvmlClocksEventReasons; 0 where nothing does or it does not tell.
[[nodiscard]] std::uint64_t read_throttle_reasons(const std::string& pci_address);
// That it has taken since the driver was loaded; nothing where the library does not tell.
[[nodiscard]] std::optional<double> read_energy_joules(const std::string& pci_address);

// A link of NVLink that is up, by what the library says of its other end.
struct NvLink {
  bool leads_to_switch = false;
  std::string remote_pci_address;  // of a GPU; empty: unknown
};
struct NvLinks {
  bool is_told = false;  // the library answered: no links are none
  std::vector<NvLink> links;
  std::optional<double> bytes_per_second;  // of each, in one direction
};
[[nodiscard]] NvLinks read_nvlinks(const std::string& pci_address);

// One line if others are at work, else empty. To be asked before this process has a context, which would count.
[[nodiscard]] std::string busy_warning(const std::string& pci_address);
// One line if heat or power holds the clocks down; else empty.
[[nodiscard]] std::string throttle_warning(std::uint64_t reasons);

}  // namespace gputopo::cuda
