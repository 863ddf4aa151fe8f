#include "device/cuda/cuda_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "device/cuda/link_ends.h"
#include "device/node/host_memory.h"
#include "file/limits.h"
#include "program/transfer.h"

namespace gputopo::cuda {
namespace {

constexpr Status kPeersAlready = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
// At the end of what is copied: whether it came.
constexpr std::uint64_t kTokenBytes = sizeof(std::uint64_t);

// Where a transfer is from and to, in addresses.
struct Slot {
  DevicePointer from = 0;
  DevicePointer to = 0;
};

class CudaLinks : public Links {
 public:
  explicit CudaLinks(std::shared_ptr<const Driver> driver)
      : driver_(std::move(driver)), info_(read_cuda_node(*driver_)), hosts_(info_.numa_nodes.size()) {}

  [[nodiscard]] const NodeInfo& info() const override { return info_; }

  [[nodiscard]] TransferResult run(const TransferProgram& program) override {
    validate(program);
    info_.check(program);
    open_once();
    check_is_open(program);
    TransferResult result = answer(program);
    if (const std::string wrong = misfit(program, result); !wrong.empty()) {
      throw DeviceError(fmt::format("the answer to a {} {}: the driver does not work as it should; update it",
                                    to_string(program.op), wrong));
    }
    return result;
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (!cannot_hold_) return {};
    return {
        "the driver cannot hold transfers back: small copies and those at once have the host's calls in their time"};
  }

  void rest(double seconds) override { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

 private:
  TransferResult answer(const TransferProgram& program) {
    switch (program.op) {
      case TransferOp::kCopy:
      case TransferOp::kRead:
      case TransferOp::kWrite:
        return stream(program);
      case TransferOp::kPageableCopy:
        return copy_pageable(program);
      case TransferOp::kLoad:
      case TransferOp::kAtomic:
        return chase(program);
      case TransferOp::kStore:
        break;
    }
    return store(program);
  }

  // ---- What there is ----

  void require_functions() const {
    const bool has_all = driver_->memcpy_htod_async != nullptr && driver_->memcpy_peer_async != nullptr &&
                         driver_->ctx_enable_peer_access != nullptr && driver_->stream_create != nullptr &&
                         driver_->stream_synchronize != nullptr && driver_->stream_destroy != nullptr &&
                         driver_->event_create != nullptr && driver_->event_record != nullptr &&
                         driver_->event_elapsed_time != nullptr && driver_->event_destroy != nullptr &&
                         driver_->mem_host_register != nullptr && driver_->mem_host_unregister != nullptr &&
                         driver_->mem_host_get_device_pointer != nullptr;
    if (!has_all) throw NotSupportedError("this NVIDIA driver is too old to measure links; update it");
  }

  void open_once() {
    if (!gpus_.empty()) return;
    require_functions();
    gpus_.resize(info_.gpus.size());
    failures_.resize(info_.gpus.size());
    for (std::size_t ordinal = 0; ordinal < gpus_.size(); ++ordinal) open(ordinal);
    for (const PeerLink& peer : info_.peers) {
      if (!peer.is_reachable || gpus_[peer.to] == nullptr || gpus_[peer.from] == nullptr) continue;
      gpus_[peer.to]->context.make_current();
      const Status status = driver_->ctx_enable_peer_access(gpus_[peer.from]->context.handle(), 0);
      if (status != kPeersAlready) driver_->check(status, "cuCtxEnablePeerAccess");
    }
    if (std::ranges::all_of(gpus_, [](const auto& gpu) { return gpu == nullptr; })) {
      throw DeviceError(failures_.front());
    }
    make_any_current();
    gate_.emplace(driver_, sizeof(std::uint32_t));
    if (gate_->bytes() > 0) std::fill_n(gate_->data(), sizeof(std::uint32_t), std::byte{0});
  }

  // One that is lost or held by others does not cost the links of the rest.
  void open(std::size_t ordinal) {
    try {
      DeviceHandle handle = 0;
      driver_->check(driver_->device_get(&handle, static_cast<int>(ordinal)), fmt::format("cuDeviceGet({})", ordinal));
      gpus_[ordinal] = std::make_unique<GpuEnd>(driver_, handle);
      load_kernels(*gpus_[ordinal]);
    } catch (const DeviceError& error) {
      failures_[ordinal] = error.what();
    }
  }

  // Drivers load code when it is launched first, and wait then for all that is under way: for ever where that is held
  // back.
  void load_kernels(const GpuEnd& gpu) {
    const TransferProgram nothing{.op = TransferOp::kRead, .transfers = {}, .bytes = 0, .repeats = 1};
    TransferProgram also = nothing;
    also.op = TransferOp::kWrite;
    for (const TransferProgram& program : {nothing, also}) queue_kernel(gpu, program, {}, 0, nullptr);
    driver_->check(driver_->ctx_synchronize(), "kernels of transfers");
  }

  void check_is_open(const TransferProgram& program) const {
    for (const Transfer& transfer : program.transfers) {
      for (const Place& place : {transfer.from, transfer.to}) {
        if (place.kind != PlaceKind::kGpu || gpus_[place.index] != nullptr) continue;
        throw DeviceError(fmt::format("{} could not be opened: {}", to_text(place), failures_[place.index]));
      }
    }
  }

  // ---- Memory ----

  [[nodiscard]] std::optional<std::uint32_t> numa_id(std::uint32_t index) const {
    if (info_.numa_nodes.size() == 1) return std::nullopt;
    return info_.numa_nodes[index].id;
  }

  void make_any_current() const {
    const auto open = std::ranges::find_if(gpus_, [](const auto& gpu) { return gpu != nullptr; });
    (*open)->context.make_current();
  }

  // An address with at least so many bytes behind it; what was there is lost where it has to grow.
  DevicePointer reserve(const Place& place, std::uint64_t bytes) {
    if (place.kind == PlaceKind::kHost) {
      std::optional<LockedMemory>& locked = hosts_[place.index].locked;
      if (!locked || locked->bytes() < bytes) {
        chains_.erase(place);
        locked.reset();
        make_any_current();
        locked.emplace(driver_, bytes, numa_id(place.index));
      }
      return locked->address();
    }
    GpuEnd& gpu = *gpus_[place.index];
    if (gpu.memory.bytes() < bytes) {
      chains_.erase(place);
      gpu.context.make_current();
      gpu.memory = Memory();
      gpu.memory = Memory(driver_, bytes);
    }
    return gpu.memory.address();
  }

  void put(const Place& place, DevicePointer address, const void* data, std::uint64_t bytes) {
    if (place.kind == PlaceKind::kHost) {
      const LockedMemory& locked = *hosts_[place.index].locked;
      std::copy_n(static_cast<const std::byte*>(data), bytes, locked.data() + (address - locked.address()));
      return;
    }
    gpus_[place.index]->context.make_current();
    const std::string what = fmt::format("cuMemcpyHtoD({})", bytes);
    driver_->check(driver_->memcpy_htod(address, data, bytes), what);
    // It returns before the last part is there, and what other GPUs do does not wait for that.
    driver_->check(driver_->ctx_synchronize(), what);
  }

  std::uint64_t token_at(const Place& place, DevicePointer address) {
    std::uint64_t token = 0;
    if (place.kind == PlaceKind::kHost) {
      const LockedMemory& locked = *hosts_[place.index].locked;
      std::copy_n(locked.data() + (address - locked.address()), kTokenBytes, reinterpret_cast<std::byte*>(&token));
      return token;
    }
    gpus_[place.index]->context.make_current();
    driver_->check(driver_->memcpy_dtoh(&token, address, kTokenBytes), "cuMemcpyDtoH(8)");
    return token;
  }

  // Each transfer has memory of its own at both ends.
  std::vector<Slot> slots_of(const TransferProgram& program) {
    std::map<Place, std::uint64_t> bytes;
    std::vector<Slot> slots(program.transfers.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i].from = bytes[program.transfers[i].from];
      bytes[program.transfers[i].from] += program.bytes;
      slots[i].to = bytes[program.transfers[i].to];
      bytes[program.transfers[i].to] += program.bytes;
    }
    std::map<Place, DevicePointer> bases;
    for (const auto& [place, needed] : bytes) bases[place] = reserve(place, needed);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i].from += bases[program.transfers[i].from];
      slots[i].to += bases[program.transfers[i].to];
    }
    return slots;
  }

  // ---- Many at once ----

  // The GPU whose engine or SMs do it.
  static std::uint32_t worker_of(TransferOp op, const Transfer& transfer) {
    if (op == TransferOp::kRead) return transfer.to.index;
    return transfer.from.kind == PlaceKind::kGpu ? transfer.from.index : transfer.to.index;
  }

  void queue_copy(const Transfer& transfer, const Slot& slot, std::uint64_t bytes, StreamHandle stream) {
    if (transfer.from.kind == PlaceKind::kHost) {
      const LockedMemory& locked = *hosts_[transfer.from.index].locked;
      const std::byte* from = locked.data() + (slot.from - locked.address());
      driver_->check(driver_->memcpy_htod_async(slot.to, from, bytes, stream), "cuMemcpyHtoDAsync");
    } else if (transfer.to.kind == PlaceKind::kHost) {
      const LockedMemory& locked = *hosts_[transfer.to.index].locked;
      std::byte* to = locked.data() + (slot.to - locked.address());
      driver_->check(driver_->memcpy_dtoh_async(to, slot.from, bytes, stream), "cuMemcpyDtoHAsync");
    } else {
      driver_->check(driver_->memcpy_peer_async(slot.to, gpus_[transfer.to.index]->context.handle(), slot.from,
                                                gpus_[transfer.from.index]->context.handle(), bytes, stream),
                     "cuMemcpyPeerAsync");
    }
  }

  void queue_kernel(const GpuEnd& gpu, const TransferProgram& program, const Slot& slot, std::uint64_t token,
                    StreamHandle stream) {
    constexpr unsigned kThreads = 512;
    constexpr unsigned kBlocksPerSm = 4;
    const bool reads = program.op == TransferOp::kRead;
    DevicePointer memory = reads ? slot.from : slot.to;
    std::uint64_t bytes = program.bytes;
    std::uint32_t passes = program.repeats;
    auto word = static_cast<std::uint32_t>(token);
    DevicePointer sink = gpu.records.address();
    void* parameters[] = {&memory, &bytes, &passes, &word, &sink};
    driver_->check(driver_->launch_kernel(gpu.module.function(reads ? "read" : "write"), gpu.sms * kBlocksPerSm, 1, 1,
                                          kThreads, 1, 1, 0, stream, parameters, nullptr),
                   "cuLaunchKernel(transfer)");
  }

  const Queue& queue_of(GpuEnd& gpu, std::size_t index) {
    gpu.context.make_current();
    while (gpu.queues.size() <= index) gpu.queues.emplace_back(driver_);
    return gpu.queues[index];
  }

  // Holds queues back until all is queued; opened whatever happens, for nothing else would ever end them.
  class Gate {
   public:
    explicit Gate(CudaLinks& links) : links_(links), ticket_(++links.ticket_) {}
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() { open(); }
    // Drivers that cannot wait do not: what is queued begins at once.
    void hold(StreamHandle stream) const {
      constexpr unsigned kAtLeast = 0;  // CU_STREAM_WAIT_VALUE_GEQ
      if (links_.driver_->stream_wait_value == nullptr || links_.gate_->bytes() == 0) {
        links_.cannot_hold_ = true;
        return;
      }
      const auto address = reinterpret_cast<DevicePointer>(links_.gate_->data());
      links_.cannot_hold_ |= links_.driver_->stream_wait_value(stream, address, ticket_, kAtLeast) != kSuccess;
    }
    void open() const {
      if (links_.gate_->bytes() == 0) return;
      std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(links_.gate_->data())).store(ticket_);
    }

   private:
    CudaLinks& links_;
    std::uint32_t ticket_;
  };

  TransferResult stream(const TransferProgram& program) {
    const std::vector<Slot> slots = slots_of(program);
    chains_.clear();
    const std::uint64_t last = program.bytes - kTokenBytes;
    const bool carries = program.op != TransferOp::kRead;
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      // Of a write every word is the same.
      const std::uint64_t token = (next_token_++ & UINT32_MAX) * 0x1'0000'0001ull;
      tokens.push_back(token);
      put(program.transfers[i].from, slots[i].from + last, &token, kTokenBytes);
      const std::uint64_t none = 0;
      put(program.transfers[i].to, slots[i].to + last, &none, kTokenBytes);
    }
    const std::vector<const Queue*> queues = queue_all(program, slots, tokens);
    TransferResult result;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Transfer& transfer = program.transfers[i];
      gpus_[worker_of(program.op, transfer)]->context.make_current();
      const std::string what =
          fmt::format("{} from {} to {}", to_string(program.op), to_text(transfer.from), to_text(transfer.to));
      result.seconds.push_back(queues[i]->seconds(what));
      if (carries && token_at(transfer.to, slots[i].to + last) != tokens[i]) {
        throw DeviceError(fmt::format("{}: what arrived is not what was sent: the link or the driver is broken", what));
      }
    }
    if (slots.size() > 1) result.begins = begins_of(program, queues);
    return result;
  }

  // Events can be compared on one GPU only; the gate lets those of all GPUs begin together.
  std::vector<double> begins_of(const TransferProgram& program, const std::vector<const Queue*>& queues) const {
    std::map<std::uint32_t, std::vector<std::size_t>> of_worker;
    for (std::size_t i = 0; i < queues.size(); ++i) of_worker[worker_of(program.op, program.transfers[i])].push_back(i);
    std::vector<double> begins(queues.size());
    for (const auto& [worker, places] : of_worker) {
      gpus_[worker]->context.make_current();
      double first = 0;
      for (const std::size_t i : places) {
        begins[i] = queues[i]->began_after(*queues[places.front()]);
        first = std::min(first, begins[i]);
      }
      for (const std::size_t i : places) begins[i] -= first;
    }
    return begins;
  }

  std::vector<const Queue*> queue_all(const TransferProgram& program, const std::vector<Slot>& slots,
                                      const std::vector<std::uint64_t>& tokens) {
    std::map<std::uint32_t, std::size_t> used;
    std::vector<const Queue*> queues;
    const Gate gate(*this);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::uint32_t worker = worker_of(program.op, program.transfers[i]);
      const Queue& queue = queue_of(*gpus_[worker], used[worker]++);
      gate.hold(queue.stream());
      queue.begin();
      if (program.op == TransferOp::kCopy) {
        for (std::uint32_t pass = 0; pass < program.repeats; ++pass) {
          queue_copy(program.transfers[i], slots[i], program.bytes, queue.stream());
        }
      } else {
        queue_kernel(*gpus_[worker], program, slots[i], tokens[i], queue.stream());
      }
      queue.end();
      queues.push_back(&queue);
    }
    return queues;
  }

  TransferResult copy_pageable(const TransferProgram& program) {
    const Transfer& transfer = program.transfers.front();
    const bool is_upload = transfer.from.kind == PlaceKind::kHost;
    const Place host = is_upload ? transfer.from : transfer.to;
    const Place gpu = is_upload ? transfer.to : transfer.from;
    node::HostMemory& memory = hosts_[host.index].pageable;
    if (memory.bytes() < program.bytes) memory = node::HostMemory(program.bytes, numa_id(host.index));
    const DevicePointer address = reserve(gpu, program.bytes);
    chains_.erase(gpu);
    gpus_[gpu.index]->context.make_current();
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t pass = 0; pass < program.repeats; ++pass) {
      driver_->check(is_upload ? driver_->memcpy_htod(address, memory.data(), program.bytes)
                               : driver_->memcpy_dtoh(memory.data(), address, program.bytes),
                     is_upload ? "cuMemcpyHtoD" : "cuMemcpyDtoH");
    }
    driver_->check(driver_->ctx_synchronize(), "cuCtxSynchronize");  // uploads return before the last part is there
    return {.seconds = {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()}};
  }

  // ---- Latencies ----

  // Links, each to the next of a random cycle through all of them.
  void build_chain(const Place& place, DevicePointer base, std::uint64_t bytes) {
    const auto known = chains_.find(place);
    if (known != chains_.end() && known->second == std::pair(base, bytes)) return;
    const std::uint64_t count = bytes / kTransferStride;
    std::vector<std::uint64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(count);
    std::shuffle(order.begin(), order.end(), random);
    constexpr std::uint64_t kWords = kTransferStride / sizeof(std::uint64_t);
    std::vector<std::uint64_t> image(count * kWords);
    for (std::uint64_t i = 0; i < count; ++i) {
      image[order[i] * kWords] = base + order[(i + 1) % count] * kTransferStride;
    }
    put(place, base, image.data(), image.size() * sizeof(std::uint64_t));
    chains_[place] = {base, bytes};
  }

  // Runs a kernel whose records are nanoseconds of so many accesses.
  TransferResult launch_timed(const GpuEnd& gpu, const char* kernel, unsigned blocks, std::uint32_t accesses,
                              void** parameters) {
    gpu.context.make_current();
    const std::string what = fmt::format("kernel {}", kernel);
    driver_->check(driver_->memset_d8(gpu.records.address(), 0, kRecordBytes), "cuMemsetD8");
    driver_->check(
        driver_->launch_kernel(gpu.module.function(kernel), blocks, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
        "cuLaunchKernel(transfer)");
    driver_->check(driver_->ctx_synchronize(), what);
    std::vector<std::uint64_t> records(blocks);
    driver_->check(driver_->memcpy_dtoh(records.data(), gpu.records.address(), blocks * sizeof(std::uint64_t)),
                   "cuMemcpyDtoH");
    constexpr double kNano = 1e-9;
    TransferResult result;
    for (const std::uint64_t ns : records) {
      if (ns == 0) throw DeviceError(fmt::format("{} told no time: its clock stands still", what));
      result.seconds.push_back(static_cast<double>(ns) * kNano / accesses);
    }
    return result;
  }

  TransferResult chase(const TransferProgram& program) {
    constexpr std::uint32_t kWarm = 64;
    const Transfer& transfer = program.transfers.front();
    const GpuEnd& gpu = *gpus_[transfer.to.index];
    DevicePointer memory = reserve(transfer.from, program.bytes);
    build_chain(transfer.from, memory, program.bytes);
    const auto blocks = static_cast<unsigned>(
        std::min<std::uint64_t>({gpu.sms, program.bytes / kTransferStride, kRecordBytes / sizeof(std::uint64_t)}));
    std::uint64_t apart = program.bytes / kTransferStride / blocks * kTransferStride;
    std::uint32_t warm = kWarm;
    std::uint32_t count = program.repeats;
    DevicePointer records = gpu.records.address();
    void* parameters[] = {&memory, &apart, &warm, &count, &records};
    return launch_timed(gpu, chase_kernel_of(program), blocks, count, parameters);
  }

  // Atomics at the scope of the system are allowed where the link carries them, else at the GPU's own.
  [[nodiscard]] const char* chase_kernel_of(const TransferProgram& program) const {
    if (program.op == TransferOp::kLoad) return "load";
    const Transfer& transfer = program.transfers.front();
    const PeerLink* peer = info_.peer(transfer.from.index, transfer.to.index);
    const bool carries = transfer.from.kind == PlaceKind::kHost ? gpus_[transfer.to.index]->has_host_atomics
                                                                : peer != nullptr && peer->has_atomics.value_or(false);
    return carries ? "atomic" : "atomic_of_gpu";
  }

  TransferResult store(const TransferProgram& program) {
    const Transfer& transfer = program.transfers.front();
    const GpuEnd& gpu = *gpus_[transfer.from.index];
    DevicePointer memory = reserve(transfer.to, program.bytes);
    chains_.erase(transfer.to);
    std::uint64_t lines = program.bytes / kTransferStride;
    std::uint32_t count = program.repeats;
    DevicePointer records = gpu.records.address();
    void* parameters[] = {&memory, &lines, &count, &records};
    return launch_timed(gpu, "store", 1, count, parameters);
  }

  std::shared_ptr<const Driver> driver_;
  NodeInfo info_;
  std::vector<std::unique_ptr<GpuEnd>> gpus_;  // empty until the first program; null: failures_ says why
  std::vector<std::string> failures_;
  std::vector<HostEnd> hosts_;
  std::optional<PinnedMemory> gate_;
  std::uint32_t ticket_ = 0;
  bool cannot_hold_ = false;
  std::uint64_t next_token_ = 1;
  std::map<Place, std::pair<DevicePointer, std::uint64_t>> chains_;  // that lie at places
};

}  // namespace

std::unique_ptr<Links> open_cuda_links() { return std::make_unique<CudaLinks>(Driver::load()); }

}  // namespace gputopo::cuda
