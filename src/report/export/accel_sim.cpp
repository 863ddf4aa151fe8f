// Lines for the tuner of Accel-Sim and GPGPU-Sim (util/tuner), to append to its microbenchmarks' output. The tuner
// reads lines that begin with '-'; a key's last line wins. An unknown value becomes a comment with the reason, never a
// guess: a simulation with guessed parameters would look like one of this GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "file/sanitize.h"
#include "gputopo/error.h"
#include "gputopo/export.h"
#include "report/words/hierarchy.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using report::count_of;
using report::number_of;

constexpr double kBytesPerKib = 1024;

class Lines {
 public:
  explicit Lines(const Topology& topology) : topology_(topology) {}

  std::string text() {
    begin();
    compute();
    clocks();
    shared_memory();
    latencies();
    caches();
    operations();
    rest();
    return text_;
  }

 private:
  void comment(const std::string& line) { text_ += fmt::format("# {}\n", sanitized_line(line)); }
  void give(std::string_view key, const std::string& value) { text_ += fmt::format("{} {}\n", key, value); }
  void give(std::string_view key, std::int64_t value) { give(key, std::to_string(value)); }
  void lack(std::string_view key, const std::string& why) { comment(fmt::format("{}: {}", key, why)); }

  // "l1.latency is unavailable (timed out: ...)".
  [[nodiscard]] static std::string why_not(const std::string& name, const Attribute* attribute) {
    if (attribute == nullptr) return name + " is not in the report";
    if (!attribute->available()) return fmt::format("{} is unavailable ({})", name, report::why_absent(*attribute));
    return name + " is not a usable number";
  }
  [[nodiscard]] std::string why_not(ElementId element, AttributeId id) const {
    return why_not(fmt::format("{}.{}", to_string(element), to_string(id)), topology_.find_attribute(element, id));
  }
  [[nodiscard]] std::string why_not(AttributeId id) const {
    const Attribute* attribute = find(topology_.compute, id);
    return why_not(std::string(to_string(id)), attribute != nullptr ? attribute : find(topology_.device, id));
  }

  void give_count(std::string_view key, AttributeId id) {
    const auto count = count_of(topology_, id);
    count ? give(key, *count) : lack(key, why_not(id));
  }
  void give_count(std::string_view key, ElementId element, AttributeId id) {
    const auto count = count_of(topology_, element, id);
    count ? give(key, *count) : lack(key, why_not(element, id));
  }

  void begin() {
    comment("Accel-Sim parameters of " + topology_.name + " for util/tuner: append this file to its stats.txt.");
    comment(report::origin(topology_));
    for (const std::string& notice : report::notices(topology_)) comment(notice);
  }

  void compute() {
    give_count("-gpgpu_n_clusters", AttributeId::kSmCount);
    give("-gpgpu_n_cores_per_cluster", 1);  // a core is an SM; the tuner writes clusters of one
    if (const auto capability = report::capability_of(topology_)) {
      const auto [major, minor] = *capability;
      give("-gpgpu_compute_capability_major", major);
      give("-gpgpu_compute_capability_minor", minor);
      for (const char* key :
           {"-gpgpu_ptx_force_max_capability", "-gpgpu_occupancy_sm_number", "-gpgpu_coalesce_arch"}) {
        give(key, fmt::format("{}{}", major, minor));
      }
    } else {
      lack("-gpgpu_compute_capability_major and the keys derived from it", why_not(AttributeId::kComputeCapability));
    }
    give_count("-gpgpu_shader_registers", AttributeId::kRegistersPerSm);
    give_count("-gpgpu_registers_per_block", AttributeId::kRegistersPerBlock);
    give_count("-gpgpu_shader_cta", AttributeId::kMaxBlocksPerSm);
    give_count("-gpgpu_num_sched_per_core", ElementId::kRegisters, AttributeId::kSchedulers);
    const auto threads = count_of(topology_, AttributeId::kMaxThreadsPerSm);
    const auto warp = count_of(topology_, AttributeId::kWarpSize);
    if (threads && warp) {
      give("-gpgpu_shader_core_pipeline", fmt::format("{}:{}", *threads, *warp));
    } else {
      lack("-gpgpu_shader_core_pipeline", why_not(threads ? AttributeId::kWarpSize : AttributeId::kMaxThreadsPerSm));
    }
  }

  // Clocks of core, network, L2 and memory. The driver reports HBM's command clock, but twice GDDR's.
  void clocks() {
    constexpr std::string_view kKey = "-gpgpu_clock_domains";
    constexpr std::int64_t kWidestGddr = 512;
    constexpr int kFirstMajorWithGddr5 = 2;
    std::optional<double> core = number_of(topology_, AttributeId::kSmClock);
    if (!core) core = number_of(topology_, AttributeId::kSmClockMax);
    const auto memory = number_of(topology_, AttributeId::kMemoryClockMax);
    const auto bits = count_of(topology_, AttributeId::kMemoryBusWidth);
    if (!core || !memory || !bits) {
      lack(kKey, why_not(!core     ? AttributeId::kSmClock
                         : !memory ? AttributeId::kMemoryClockMax
                                   : AttributeId::kMemoryBusWidth));
      return;
    }
    const bool is_hbm = *bits > kWidestGddr;
    const auto capability = report::capability_of(topology_);
    if (!is_hbm && (!capability || capability->first < kFirstMajorWithGddr5)) {
      lack(kKey, "the ratio of memory clock to command clock is known only for HBM and for GDDR5 and later");
      return;
    }
    comment(
        fmt::format("the clocks are those of the SM, the network, L2 and DRAM; the DRAM type, {}, is inferred from a "
                    "bus width of {} bits; the network and L2 are assumed to run at the SM clock",
                    is_hbm ? "HBM" : "GDDR", *bits));
    give(kKey, fmt::format("{0:.0f}:{0:.0f}:{0:.0f}:{1:.0f}", *core, is_hbm ? *memory : *memory / 2));
  }

  void shared_memory() {
    give_count("-gpgpu_shmem_size", AttributeId::kSharedMemoryPerSm);
    give_count("-gpgpu_shmem_sizeDefault", AttributeId::kSharedMemoryPerSm);
    give_count("-gpgpu_shmem_per_block", AttributeId::kSharedMemoryPerBlock);
    give_count("-gpgpu_shmem_num_banks", ElementId::kShared, AttributeId::kBanks);
    const Attribute* l1 = topology_.find_attribute(ElementId::kL1, AttributeId::kSize);
    const std::vector<double> carve_outs = report::numbers_of(l1, "carve_outs_bytes");
    const std::vector<double> sizes = report::numbers_of(l1, "size_by_carve_out_bytes");
    const bool is_whole = std::ranges::all_of(carve_outs, [](double bytes) { return bytes >= 0 && bytes < 1e9; });
    if (carve_outs.empty() || !is_whole) {
      for (const char* key : {"-gpgpu_shmem_option", "-gpgpu_unified_l1d_size"}) {
        lack(key, "l1.size has no sizes for the carve-outs of shared memory; measure them: gputopo --only l1");
      }
      return;
    }
    std::vector<std::string> options;
    for (const double bytes : carve_outs) options.push_back(fmt::format("{:.0f}", bytes / kBytesPerKib));
    give("-gpgpu_shmem_option", fmt::format("{}", fmt::join(options, ",")));
    unified(carve_outs, sizes);
  }

  // L1 and shared memory together, at the smallest carve-out, rounded to a multiple of the tuner's 32 KiB L1.
  void unified(const std::vector<double>& carve_outs, const std::vector<double>& sizes) {
    constexpr std::string_view kKey = "-gpgpu_unified_l1d_size";
    constexpr double kUnitKib = 32;
    if (sizes.size() != carve_outs.size() || !(sizes.front() > 0 && sizes.front() < 1e9)) {
      lack(kKey, "l1.size lacks a valid size for a carve-out of shared memory");
      return;
    }
    const double kib = (sizes.front() + carve_outs.front()) / kBytesPerKib;
    comment(
        fmt::format("L1 and shared memory together measure {:.1f} KiB; the value is rounded to a multiple of 32 KiB, "
                    "which is the size of L1 that the tuner writes",
                    kib));
    give(kKey, static_cast<std::int64_t>(std::lround(kib / kUnitKib) * static_cast<long>(kUnitKib)));
  }

  void give_latency(std::string_view key, ElementId element) {
    const auto cycles = number_of(topology_, element, AttributeId::kLatency);
    cycles ? give(key, std::llround(std::min(*cycles, 1e9))) : lack(key, why_not(element, AttributeId::kLatency));
  }
  void give_difference(std::string_view key, ElementId farther, ElementId nearer) {
    const auto far = number_of(topology_, farther, AttributeId::kLatency);
    const auto near = number_of(topology_, nearer, AttributeId::kLatency);
    if (!far || !near) return lack(key, why_not(far ? nearer : farther, AttributeId::kLatency));
    if (*far < *near || *far > 1e9)
      return lack(key, fmt::format("the latency of {} is less than that of {}, or more than 1e9 cycles",
                                   to_string(farther), to_string(nearer)));
    give(key, std::llround(*far - *near));
  }
  void latencies() {
    give_latency("-gpgpu_l1_latency", ElementId::kL1);
    give_latency("-gpgpu_smem_latency", ElementId::kShared);
    give_difference("-gpgpu_l2_rop_latency", ElementId::kL2, ElementId::kL1);
    give_difference("-dram_latency", ElementId::kDevice, ElementId::kL2);
  }

  // "481 sets, 4 ways, 128 B lines, 32 B fetch granularity, write_through": the measured parts of a cache's geometry.
  [[nodiscard]] std::string geometry(ElementId element) const {
    struct Part {
      AttributeId id;
      const char* pattern;
    };
    constexpr Part kParts[] = {{AttributeId::kSize, "{} B"},
                               {AttributeId::kSets, "{} sets"},
                               {AttributeId::kWays, "{} ways"},
                               {AttributeId::kLineSize, "{} B lines"},
                               {AttributeId::kFetchGranularity, "{} B fetch granularity"}};
    std::vector<std::string> parts;
    for (const Part& part : kParts) {
      if (const auto count = count_of(topology_, element, part.id)) {
        parts.push_back(fmt::format(fmt::runtime(part.pattern), *count));
      }
    }
    for (const AttributeId id : {AttributeId::kIndex, AttributeId::kReplacement, AttributeId::kWritePolicy}) {
      const Attribute* attribute = topology_.find_attribute(element, id);
      if (attribute != nullptr && attribute->available()) parts.push_back(report::value_text(*attribute));
    }
    return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
  }
  void caches() {
    constexpr std::pair<std::string_view, ElementId> kCaches[] = {{"-gpgpu_cache:dl1", ElementId::kL1},
                                                                  {"-gpgpu_cache:dl2", ElementId::kL2},
                                                                  {"-gpgpu_const_cache:l1", ElementId::kConstantL1},
                                                                  {"-gpgpu_cache:il1", ElementId::kIcacheL1},
                                                                  {"-gpgpu_tex_cache:l1", ElementId::kTexture}};
    for (const auto& [key, element] : kCaches) {
      lack(key, fmt::format("the number of misses that this cache keeps in flight (MSHRs, queues) is not measured; "
                            "known about {}: {}",
                            to_string(element), geometry(element)));
    }
  }

  void operations() {
    constexpr std::pair<std::string_view, std::string_view> kUnits[] = {{"int", "add.s32"},
                                                                        {"sp", "fma.f32"},
                                                                        {"dp", "fma.f64"},
                                                                        {"sfu", "rsqrt.approx.f32"},
                                                                        {"tensor", "mma.m16n8k16.f32.f16"}};
    for (const auto& [unit, operation] : kUnits) {
      const Instruction* instruction = topology_.find_instruction(operation);
      const Attribute* latency =
          instruction == nullptr ? nullptr : find(instruction->attributes, AttributeId::kLatency);
      const std::string known = latency != nullptr && latency->available()
                                    ? fmt::format("the latency of {} is {}", operation, report::value_text(*latency))
                                    : fmt::format("measure the latency: gputopo --only instructions.{}", operation);
      lack(fmt::format("-trace_opcode_latency_initiation_{}", unit),
           fmt::format(
               "the initiation interval depends on the schedulers and units of an SM, which are not measured; {}",
               known));
    }
  }

  void rest() {
    constexpr std::pair<std::string_view, std::string_view> kUnknown[] = {
        {"-gpgpu_n_mem", "memory channels are not measured"},
        {"-gpgpu_n_sub_partition_per_mchannel", "memory channels are not measured"},
        {"-gpgpu_dram_buswidth", "memory channels are not measured"},
        {"-gpgpu_dram_burst_length", "the memory type is not reported"},
        {"-dram_data_command_freq_ratio", "the memory type is not reported"},
        {"-gpgpu_dram_timing_opt", "memory timings are not measured"},
        {"-gpgpu_mem_addr_mapping", "the mapping of addresses to channels is not measured"},
        {"-gpgpu_dram_scheduler", "the memory scheduler is not measured"},
        {"-gpgpu_pipeline_widths", "the units of an SM are not measured"},
        {"-gpgpu_l1_banks", "L1 banks are not measured"},
        {"-icnt_flit_size", "the on-chip network is not measured"},
        {"-gpgpu_kernel_launch_latency", "the latency of kernel launches is not measured"}};
    for (const auto& [key, why] : kUnknown) lack(key, std::string(why));
  }

  const Topology& topology_;
  std::string text_;
};

}  // namespace

std::string to_accel_sim(const Topology& topology) {
  if (vendor_of(topology.vendor) != Vendor::kNvidia) {
    throw FormatError(
        "Accel-Sim simulates only NVIDIA GPUs, and this report describes another vendor's GPU; "
        "use --json or --csv");
  }
  return Lines(topology).text();
}

}  // namespace gputopo
