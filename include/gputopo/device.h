// A GPU that answers programs: a real one, a simulated one, or a recording of one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gputopo/error.h"
#include "gputopo/program.h"
#include "gputopo/times.h"

namespace gputopo {

// The link between a device and the host. Unset: the system does not tell.
struct PciLink {
  std::optional<std::uint32_t> generation;  // now: idle devices let it drop
  std::optional<std::uint32_t> width;       // lanes in use
  std::optional<std::uint32_t> generation_max;
  std::optional<std::uint32_t> width_max;
  friend bool operator==(const PciLink&, const PciLink&) = default;
};

// What of a GPU a device is that shares it with others: a MIG instance, or a partition of an AMD GPU. The GPU's slices
// are shared out in whole ones. Unset: the device is all of the GPU, or the system does not tell.
struct GpuInstance {
  std::optional<std::string> profile;           // "4g.20gb", "CPX/NPS4"
  std::optional<std::uint32_t> compute_slices;  // that it has
  std::optional<std::uint32_t> compute_slices_of_gpu;
  std::optional<std::uint32_t> memory_slices;  // of memory, its bandwidth and the L2 in front of it
  std::optional<std::uint32_t> memory_slices_of_gpu;
  friend bool operator==(const GpuInstance&, const GpuInstance&) = default;
};

// What a device says of itself through its vendor's interfaces, nothing measured. Unset: the interface does not tell.
struct DeviceInfo {
  std::string backend;       // "cuda", "hip", "sim", "replay"
  bool simulated = false;    // true for sim, and for a replay of a sim
  std::string vendor;        // "NVIDIA"
  std::string name;          // "NVIDIA H200"
  std::string architecture;  // "Hopper"; empty when unknown
  std::optional<int> compute_capability_major;
  std::optional<int> compute_capability_minor;
  std::string pci_address;  // "0000:0f:00.0"; empty when unknown
  std::string driver_version;
  std::optional<bool> mig_enabled;
  GpuInstance instance;
  std::optional<bool> ecc_enabled;
  std::optional<bool> persistence_mode;     // the driver stays loaded without users
  std::optional<std::string> compute_mode;  // who may have a context: "default", "exclusive_process", "prohibited"
  std::optional<double> power_limit_watts;  // that is enforced
  PciLink pci_link;

  std::uint32_t sm_count = 1;
  std::uint32_t warp_size = 32;
  std::optional<std::uint32_t> cores_per_sm;                  // that the backend knows of the architecture
  std::optional<std::uint32_t> simds_per_sm;                  // vector units of an SM, each with warps of its own
  std::optional<std::uint32_t> xcd_count;                     // compute dies, each with an equal share of the SMs
  std::optional<std::uint32_t> sms_physical;                  // on the dies, with those that are switched off
  std::optional<std::vector<std::uint32_t>> physical_sm_ids;  // by SM: what the hardware calls it, ascending
  std::optional<std::string> compute_partition_mode;          // how the dies are divided into devices: "SPX", "CPX"
  std::optional<std::string> memory_partition_mode;           // how memory is interleaved: "NPS1", "NPS4"
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<std::uint32_t> memory_bus_bits;
  std::optional<std::uint64_t> max_threads_per_block;
  std::optional<std::uint64_t> max_threads_per_sm;
  std::optional<std::uint64_t> max_blocks_per_sm;
  std::optional<std::vector<std::uint64_t>> max_grid_blocks;  // of a launch, in x, y and z
  std::optional<std::uint64_t> registers_per_block;
  std::optional<std::uint64_t> registers_per_sm;
  std::optional<std::uint64_t> shared_bytes_per_block;  // without opting in
  std::optional<std::uint64_t> shared_bytes_per_block_opt_in;
  std::optional<std::uint64_t> shared_bytes_per_sm;
  std::optional<std::uint64_t> shared_reserved_bytes_per_block;
  // With opting in where there is that; nothing where the vendor does not tell.
  [[nodiscard]] std::optional<std::uint64_t> most_shared_bytes_per_block() const {
    return shared_bytes_per_block_opt_in ? shared_bytes_per_block_opt_in : shared_bytes_per_block;
  }
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_free_bytes;
  std::optional<std::uint64_t> l2_bytes;  // that one SM can use: of one compute die where there are several
  std::optional<std::uint64_t> l2_persisting_max_bytes;
  std::optional<std::uint64_t> l2_persisting_bytes;   // that this process has set aside for what is to stay
  std::optional<std::uint64_t> l2_fetch_limit_bytes;  // what L2 is to fetch for a miss at most: a hint
  std::optional<std::uint64_t> l3_bytes;              // of the cache that all dies share, in front of the memory
  std::optional<std::uint64_t> constant_bytes;        // 64 KiB on every NVIDIA GPU so far
  std::optional<std::uint64_t> gds_bytes;             // AMD's global data share
  std::optional<bool> global_l1_supported;            // as the driver claims; the probes check

  std::vector<std::uint64_t>
      carve_outs_bytes;               // shared-memory carve-outs this device can be set to, ascending; empty: fixed
  std::vector<Space> spaces;          // that programs may use here
  std::uint64_t max_array_bytes = 0;  // largest array a program may ask for now

  // Of a recording: when and where it was made. Unset else: now, and here.
  struct Origin {
    std::string timestamp;  // ISO 8601, UTC; these are empty where the recording does not tell
    std::string host_cpu;
    std::string os;
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  std::optional<Origin> recorded;
};

// One device. Not thread safe. Programs whose ChaseProgram::exclusive is false may run side by side.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  // One result per program, in order. Throws UsageError for a program that validate() refuses, NotSupportedError,
  // DeviceMemoryError, DeviceError, DeviceLostError.
  [[nodiscard]] virtual std::vector<ProgramResult> run(std::span<const Program> programs) = 0;

  // Programs like these are likely to follow: what takes long to prepare for them may begin now, beside others. Their
  // answers do not depend on it, and what fails says so when they run.
  virtual void expect(std::span<const Program> /*programs*/) {}

  // From now on run() ends with EndedError, between two launches, once `ended` says so. It may be asked often, and from
  // another thread.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): devices that run for long keep it.
  virtual void end_when(std::function<bool()> /*ended*/) {}

  // Lets so much time pass, for what others do on the device to end. Nothing where time means nothing.
  virtual void rest(double /*seconds*/) {}

  // What of the device's state may have disturbed its answers so far, a line each: another process at work, clocks held
  // down by heat or power.
  [[nodiscard]] virtual std::vector<std::string> warnings() { return {}; }

  // Where the time of this thread went so far, all of its devices together: zeros where no driver is called, or times
  // are not kept (see DiscoverOptions::profile). And the calls, by name.
  [[nodiscard]] virtual DeviceTimes times() const { return {}; }
  [[nodiscard]] virtual std::vector<NamedCallTimes> call_times() const { return {}; }

  // The device's own code for a program (PTX for cuda), for --dump-program; empty where there is none.
  [[nodiscard]] virtual std::string native_code(const Program&) { return {}; }
};

struct DeviceListing {
  std::string spec;  // what --device takes: "cuda:0", "sim:h200"
  std::string name;
  std::string pci_address;  // empty where there is none
  std::string detail;       // one short phrase: compute capability and memory, or why it cannot be used
};

// Opens "cuda:N", "cuda:MIG-UUID", "hip:N", "sim:NAME", "sim:FILE.json" or "replay:PATH". An empty spec means cuda:0
// where a driver and a GPU are there, else the first AMD GPU that there are kernels for, and sim:h200 otherwise. `seed`
// seeds the noise of simulated devices. Throws UsageError with the valid forms, DeviceError, FileError, FormatError.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& spec, std::uint64_t seed);

// What an empty spec means here, and why a GPU before it cannot be used: one line, or empty. Drivers are asked in
// processes of their own, as by list_devices(); so this process has opened none.
struct DefaultDevice {
  std::string spec;
  std::string problem;
};
[[nodiscard]] DefaultDevice default_device();

// Every device this machine offers, real ones first, and the simulated ones. Each driver is asked in a process of its
// own, for some may end it, or never answer. `problem` receives one line when a backend is there but cannot be used
// (driver too old, no permission, a crash); else is cleared. `is_whole`: false where a driver gave no answer at all.
[[nodiscard]] std::vector<DeviceListing> list_devices(std::string& problem, bool* is_whole = nullptr);

// Wraps a device so that everything it answers is kept; save() writes a recording that open_device("replay:PATH")
// opens. Serial numbers and UUIDs are never in DeviceInfo; `with_pci_address` keeps the PCI address too.
class Recorder : public Device {
 public:
  explicit Recorder(std::unique_ptr<Device> device, bool with_pci_address = false);
  ~Recorder() override;
  [[nodiscard]] const DeviceInfo& info() const override;
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override;
  void expect(std::span<const Program> programs) override;
  void end_when(std::function<bool()> ended) override;
  void rest(double seconds) override;
  [[nodiscard]] std::vector<std::string> warnings() override;
  [[nodiscard]] DeviceTimes times() const override;
  [[nodiscard]] std::vector<NamedCallTimes> call_times() const override;
  [[nodiscard]] std::string native_code(const Program& program) override;
  // Closes the device behind it, which must not be used any more. info() and save() need it no longer.
  void close();
  // Writes beside and renames. Throws FileError.
  void save(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gputopo
