// A GPU that answers programs: a real GPU, a simulated one, or a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/error.h"
#include "gputopo/program.h"
#include "gputopo/times.h"

namespace gputopo {

// A link of the PCIe path to the host, above the one that ends at the device. Unset: not reported.
struct PciHop {
  std::string port;                             // address of its upper end; empty if unknown
  std::optional<std::uint32_t> width;           // lanes in use
  std::optional<std::uint32_t> generation_max;  // of both ends
  std::optional<std::uint32_t> width_max;
  friend bool operator==(const PciHop&, const PciHop&) = default;
};

// The link between a device and the host. Unset: the system does not report the value.
struct PciLink {
  std::optional<std::uint32_t> generation;  // the current one; an idle link may run at a lower one
  std::optional<std::uint32_t> width;       // lanes in use
  std::optional<std::uint32_t> generation_max;
  std::optional<std::uint32_t> width_max;
  std::optional<std::uint32_t> slot_generation_max;  // of the port that the GPU is plugged into
  std::optional<std::uint32_t> slot_width_max;
  std::vector<PciHop> hops;  // of a slot behind switches, up to the root port
  friend bool operator==(const PciLink&, const PciLink&) = default;
};

// "4g.20gb" of "NVIDIA A100-SXM4-40GB MIG 4g.20gb"; empty for other names.
[[nodiscard]] inline std::string_view mig_profile_in(std::string_view gpu_name) {
  constexpr std::string_view kMark = " MIG ";
  const std::size_t mark = gpu_name.rfind(kMark);
  return mark == std::string_view::npos ? "" : gpu_name.substr(mark + kMark.size());
}

// The part of a shared GPU that a device is: a MIG instance, or a partition of an AMD GPU. A GPU is divided into whole
// slices. Unset: the device is the whole GPU, or the system does not report the value.
struct GpuInstance {
  std::optional<std::string> profile;           // "4g.20gb", "CPX/NPS4"
  std::optional<std::uint32_t> compute_slices;  // of this instance
  std::optional<std::uint32_t> compute_slices_of_gpu;
  std::optional<std::uint32_t> memory_slices;  // each with its share of bandwidth and L2
  std::optional<std::uint32_t> memory_slices_of_gpu;
  friend bool operator==(const GpuInstance&, const GpuInstance&) = default;
};

// Counters and states of a GPU that tell of faults. Unset: the system does not report them to this process.
struct DeviceHealth {
  std::optional<std::uint64_t> ecc_corrected;  // since the driver was loaded
  std::optional<std::uint64_t> ecc_uncorrected;
  std::optional<std::uint64_t> remapped_rows;  // or retired pages, over the GPU's life
  std::optional<bool> row_remap_pending;       // a memory repair is pending until a reset
  std::optional<bool> row_remap_failed;
  std::optional<double> power_limit_default_watts;
  std::optional<std::string> slowdown;         // why clocks are lowered, apart from the power limit: "thermal"; "none"
  std::optional<std::uint64_t> nvlink_errors;  // replays, recoveries and CRC errors of all NVLinks
  std::optional<std::uint64_t> pcie_replays;
  std::optional<std::string> xids;  // NVIDIA's error codes in the kernel log: "48, 79"; "none"
  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

// Properties of a device as the vendor's interfaces report them; nothing here is measured. Unset: not reported.
struct DeviceInfo {
  std::string backend;       // "cuda", "hip", "sim", "replay"
  bool simulated = false;    // true for sim, and for a replay of sim
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
  std::optional<bool> persistence_mode;      // the driver stays loaded without clients
  std::optional<std::string> compute_mode;   // who may create a context: "default", "exclusive_process", "prohibited"
  std::optional<double> power_limit_watts;   // the enforced limit
  std::optional<bool> mps_enabled;           // contexts are clients of an MPS server, which runs them concurrently
  std::optional<std::uint32_t> mps_clients;  // others, as of the opening
  PciLink pci_link;

  std::uint32_t sm_count = 1;
  std::uint32_t warp_size = 32;
  std::optional<std::uint32_t> cores_per_sm;                  // from what the backend knows of the architecture
  std::optional<std::uint32_t> simds_per_sm;                  // vector units per SM, each with its own warps
  std::optional<std::uint32_t> xcd_count;                     // compute dies, with equally many SMs each
  std::optional<std::uint32_t> sms_physical;                  // SMs on the dies, including the disabled ones
  std::optional<std::vector<std::uint32_t>> physical_sm_ids;  // the hardware's id of each SM, ascending
  std::optional<std::string> compute_partition_mode;          // how the dies form devices: "SPX", "CPX"
  std::optional<std::string> memory_partition_mode;           // memory interleaving: "NPS1", "NPS4"
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<std::uint32_t> memory_bus_bits;
  std::optional<std::uint64_t> max_threads_per_block;
  std::optional<std::uint64_t> max_threads_per_sm;
  std::optional<std::uint64_t> max_blocks_per_sm;
  std::optional<std::vector<std::uint64_t>> max_grid_blocks;  // limits of a grid in x, y and z
  std::optional<std::uint64_t> registers_per_block;
  std::optional<std::uint64_t> registers_per_sm;
  std::optional<std::uint64_t> shared_bytes_per_block;  // without opting in
  std::optional<std::uint64_t> shared_bytes_per_block_opt_in;
  std::optional<std::uint64_t> shared_bytes_per_sm;
  std::optional<std::uint64_t> shared_reserved_bytes_per_block;
  // The opt-in limit if there is one; nothing if the vendor does not report any limit.
  [[nodiscard]] std::optional<std::uint64_t> max_shared_bytes_per_block() const {
    return shared_bytes_per_block_opt_in ? shared_bytes_per_block_opt_in : shared_bytes_per_block;
  }
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_free_bytes;
  std::optional<std::uint64_t> l2_bytes;  // what one SM can use: the L2 of one compute die on GPUs with several
  std::optional<std::uint64_t> l2_persisting_max_bytes;
  std::optional<std::uint64_t> l2_persisting_bytes;   // what this process has set aside for persisting accesses
  std::optional<std::uint64_t> l2_fetch_limit_bytes;  // the most that L2 should fetch per miss: a hint
  std::optional<std::uint64_t> l3_bytes;              // the cache in front of memory that all dies share
  std::optional<std::uint64_t> constant_bytes;        // 64 KiB on every NVIDIA GPU so far
  std::optional<std::uint64_t> gds_bytes;             // AMD's global data share
  std::optional<bool> global_l1_supported;            // as the driver claims; probes verify it

  std::vector<std::uint64_t> carve_outs_bytes;  // the shared-memory carve-outs that can be set, ascending; empty: fixed
  std::vector<Space> spaces;                    // the spaces that programs may use
  std::uint64_t max_array_bytes = 0;            // the largest array that a program may request now

  // When and where a recording was made. Unset for other devices: now and on this host.
  struct Origin {
    std::string timestamp;  // ISO 8601, UTC; these fields are empty if the recording lacks them
    std::string host_cpu;
    std::string os;
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  std::optional<Origin> recorded;
};

// One device. Not thread safe. Programs whose ChaseProgram::exclusive is false may run concurrently.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  // Returns one result for each program, in order. Throws UsageError if validate() rejects a program,
  // NotSupportedError, DeviceMemoryError, DeviceError, DeviceLostError, and EndedError (see set_stop_condition()).
  [[nodiscard]] virtual std::vector<ProgramResult> run(std::span<const Program> programs) = 0;

  // Programs like these are likely to follow: slow preparation (compilation) may start now in the background. It does
  // not affect results; its errors are reported when the programs run.
  virtual void expect(std::span<const Program> /*programs*/) {}

  // Makes run() throw EndedError between two launches as soon as `ended` returns true. `ended` may be called often and
  // from another thread.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): devices that run for long keep it.
  virtual void set_stop_condition(std::function<bool()> /*ended*/) {}

  // Waits `seconds`, so that other work on the device can end. Does nothing on devices without real time.
  virtual void rest(double /*seconds*/) {}

  // Possible disturbances of the results so far, one line each: another process, or clocks throttled by heat or power.
  [[nodiscard]] virtual std::vector<std::string> warnings() { return {}; }

  // Nothing for devices without such counters: simulated ones and recordings.
  [[nodiscard]] virtual std::optional<DeviceHealth> health() { return std::nullopt; }

  // How the calling thread has spent its time so far, summed over all of its devices. Zero if no driver is called or
  // times are not kept (DiscoverOptions::profile). call_times() has each driver call by name.
  [[nodiscard]] virtual DeviceTimes times() const { return {}; }
  [[nodiscard]] virtual std::vector<NamedCallTimes> call_times() const { return {}; }

  // The device's own code for a program (PTX for cuda), for --dump-program; empty if there is none.
  [[nodiscard]] virtual std::string native_code(const Program&) { return {}; }
};

struct DeviceListing {
  std::string spec;  // the argument of --device: "cuda:0", "sim:h200"
  std::string name;
  std::string pci_address;  // empty if there is none
  std::string detail;       // one short phrase: compute capability and memory, or why the device is unusable
};

// Opens "cuda:N", "cuda:MIG-UUID", "hip:N", "sim:NAME", "sim:FILE.json" or "replay:PATH". An empty spec opens the
// device of default_device(), and throws NoGpuError if there is none. `seed` seeds the noise of simulated devices.
// Throws UsageError with the valid forms, DeviceError, FileError, FormatError.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& spec, std::uint64_t seed);

// The meaning of an empty spec on this host: cuda:0 if there is a driver and a GPU, otherwise the first AMD GPU that
// gputopo has kernels for, otherwise empty. `problem` is one line that says why an earlier choice is unusable, or
// empty. Drivers are queried as in list_devices(); NVIDIA's is loaded here if no other GPUs are possible.
struct DefaultDevice {
  std::string spec;
  std::string problem;
};
[[nodiscard]] DefaultDevice default_device();

// Lists the real devices of this machine, then the simulated ones. Drivers that this process does not use yet are
// queried in child processes, because they may crash or hang. `problem`: one line if a backend exists but is unusable
// (driver too old, no permission, a crash), otherwise cleared. `is_whole`: false if a driver did not answer.
[[nodiscard]] std::vector<DeviceListing> list_devices(std::string& problem, bool* is_whole = nullptr);

// Wraps a device and keeps all of its results. save() writes a recording for open_device("replay:PATH"). DeviceInfo
// never contains serial numbers or UUIDs; the PCI address is saved only if `with_pci_address` is true.
class Recorder : public Device {
 public:
  explicit Recorder(std::unique_ptr<Device> device, bool with_pci_address = false);
  ~Recorder() override;
  [[nodiscard]] const DeviceInfo& info() const override;
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override;
  void expect(std::span<const Program> programs) override;
  void set_stop_condition(std::function<bool()> ended) override;
  void rest(double seconds) override;
  [[nodiscard]] std::vector<std::string> warnings() override;
  [[nodiscard]] std::optional<DeviceHealth> health() override;
  [[nodiscard]] DeviceTimes times() const override;
  [[nodiscard]] std::vector<NamedCallTimes> call_times() const override;
  [[nodiscard]] std::string native_code(const Program& program) override;
  // Closes the wrapped device. Only info() and save() may be called afterwards.
  void close();
  // Writes a temporary file beside `path` and renames it. Throws FileError.
  void save(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gputopo
