// The few facts that NVIDIA's management library adds. It is found at run time in libnvidia-ml.so.1. All facts are
// optional: those that the library or the device does not report stay unset.
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

// A part of a GPU that MIG makes a device of its own.
struct MigInstance {
  std::string uuid;     // "MIG-..." as CUDA_VISIBLE_DEVICES takes it
  std::string name;     // "NVIDIA A100-SXM4-40GB MIG 4g.20gb"
  std::string profile;  // "4g.20gb", or "2c.4g.20gb" if it lacks some compute slices of its memory slices
  std::optional<unsigned> sms;
  std::optional<unsigned> compute_slices;
  std::optional<std::uint64_t> memory_bytes;
};

// How a GPU is divided; empty if it is not.
struct MigReadings {
  std::vector<MigInstance> instances;
  std::optional<unsigned> compute_slices;     // of the GPU; as many instances are possible
  std::optional<std::uint64_t> memory_bytes;  // of the GPU

  // The share of the GPU that the instance of that UUID has; the only instance's share if the UUID is empty.
  [[nodiscard]] GpuInstance instance_of(const std::string& uuid) const;
};

struct NvmlReadings {
  std::string driver_version;  // "580.159.04"; empty if unknown
  std::optional<unsigned> sm_clock_max_mhz;
  std::optional<unsigned> memory_clock_max_mhz;
  std::optional<bool> mig_enabled;
  MigReadings mig;
  std::optional<bool> persistence_mode;
  std::optional<double> power_limit_watts;  // the enforced limit
};

// Reads the device at a PCI address ("0000:0f:00.0"). Does not throw for facts that the library lacks.
[[nodiscard]] NvmlReadings read_nvml(const std::string& pci_address);
// Reads the same on its own thread from now on: 20 ms, beside the 50 to 60 ms of a context (H200, driver 580.159.04).
class NvmlReader {
 public:
  explicit NvmlReader(const std::string& pci_address);
  NvmlReader(const NvmlReader&) = delete;
  NvmlReader& operator=(const NvmlReader&) = delete;
  ~NvmlReader();
  // Waits for the readings. Can be called once.
  [[nodiscard]] NvmlReadings get();

 private:
  // Makes a call that never returns visible.
  void wait() const;

  std::shared_ptr<LastCall> call_;
  std::future<NvmlReadings> readings_;
};
// GPUs that this process may use; 0 if unknown. Does not start the driver, which takes seconds on a node of eight GPUs.
[[nodiscard]] std::size_t count_nvml_gpus();
// The MIG instances of all GPUs that the library knows, each with its GPU's PCI address. CUDA shows a process only one.
struct ListedInstance {
  std::string pci_address;
  MigInstance instance;
};
[[nodiscard]] std::vector<ListedInstance> list_mig_instances();
// Energy that the GPU has used since the driver was loaded; empty if the library does not report it.
[[nodiscard]] std::optional<double> read_energy_joules(const std::string& pci_address);

// An NVLink link that is up, described by its other end.
struct NvLink {
  bool leads_to_switch = false;
  std::string remote_pci_address;  // of the GPU there; empty: unknown
};
struct NvLinks {
  bool is_told = false;  // the library answered, so an empty list means no links
  std::vector<NvLink> links;
  std::uint32_t link_count = 0;            // of the board, whether up or not
  std::optional<double> bytes_per_second;  // of each link, in one direction
};
[[nodiscard]] NvLinks read_nvlinks(const std::string& pci_address);

// One line if other processes use the GPU, else empty. Call it before this process has a context, which would count.
[[nodiscard]] std::string busy_warning(const std::string& pci_address);

}  // namespace gputopo::cuda
