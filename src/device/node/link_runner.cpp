#include "device/node/link_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "device/node/link_memory.h"
#include "gputopo/error.h"
#include "program/transfer_fields.h"

namespace gputopo::node {
namespace {

// Size of the token at the end of copied data that shows whether the data arrived.
constexpr std::uint64_t kTokenBytes = sizeof(std::uint64_t);

class LinkRunner : public Links {
 public:
  LinkRunner(std::unique_ptr<LinkDriver> driver, NodeInfo info)
      : driver_(std::move(driver)),
        info_(std::move(info)),
        gpus_(info_.gpus.size()),
        failures_(info_.gpus.size()),
        memory_(*driver_, info_, gpus_) {}

  [[nodiscard]] const NodeInfo& info() const override { return info_; }

  void prepare(std::size_t gpu) noexcept override {
    try {
      driver_->require_functions();
      if (gpus_.at(gpu) == nullptr) gpus_[gpu] = driver_->open(gpu);
    } catch (const std::exception&) {
      // Nothing has changed; run() tries again.
    }
  }

  [[nodiscard]] TransferResult run(const TransferProgram& program) override {
    validate(program);
    info_.check(program);
    open_once();
    check_is_open(program);
    TransferResult result = answer(program);
    if (const std::string wrong = result_mismatch(program, result); !wrong.empty()) {
      throw DeviceError(
          fmt::format("the result of the operation '{}' {}: the driver is not working correctly; update it",
                      to_string(program.op), wrong));
    }
    return result;
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (!cannot_hold_) return {};
    return {
        "the driver cannot delay transfers until all are queued, so the times of small or simultaneous copies include "
        "the host's driver calls"};
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

  void open_once() {
    if (is_open_) return;
    driver_->require_functions();
    is_open_ = true;
    for (std::size_t ordinal = 0; ordinal < gpus_.size(); ++ordinal) {
      if (gpus_[ordinal] == nullptr) open(ordinal);
    }
    for (const PeerLink& peer : info_.peers) {
      if (!peer.is_reachable || gpus_[peer.to] == nullptr || gpus_[peer.from] == nullptr) continue;
      gpus_[peer.to]->make_current();
      driver_->reach(*gpus_[peer.to], *gpus_[peer.from]);
    }
    if (std::ranges::all_of(gpus_, [](const auto& gpu) { return gpu == nullptr; })) {
      throw DeviceError(failures_.front());
    }
    make_any_current(gpus_);
    gate_ = driver_->open_gate();
  }

  // A GPU that is lost or held by others does not affect the links of the rest.
  void open(std::size_t ordinal) {
    try {
      gpus_[ordinal] = driver_->open(ordinal);
    } catch (const DeviceError& error) {
      failures_[ordinal] = error.what();
    }
  }

  void check_is_open(const TransferProgram& program) const {
    for (const Transfer& transfer : program.transfers) {
      for (const Endpoint& place : {transfer.from, transfer.to}) {
        if (place.kind != EndpointKind::kGpu || gpus_[place.index] != nullptr) continue;
        throw DeviceError(fmt::format("{} could not be opened: {}", to_text(place), failures_[place.index]));
      }
    }
  }

  // ---- Many at once ----

  // The GPU whose engine or SMs do the work.
  static std::uint32_t worker_of(TransferOp op, const Transfer& transfer) {
    if (op == TransferOp::kRead) return transfer.to.index;
    return transfer.from.kind == EndpointKind::kGpu ? transfer.from.index : transfer.to.index;
  }

  void queue(const TransferProgram& program, std::size_t index, const Slot& slot, std::uint64_t token, LinkGpu& gpu,
             LinkQueue& queue) {
    const Transfer& transfer = program.transfers[index];
    if (program.op == TransferOp::kRead) return gpu.queue_read(queue, slot.from, program.bytes, program.repeats);
    if (program.op == TransferOp::kWrite) {
      return gpu.queue_write(queue, slot.to, program.bytes, program.repeats, static_cast<std::uint32_t>(token));
    }
    const LinkEnd to = memory_.end_at(transfer.to, slot.to);
    const LinkEnd from = memory_.end_at(transfer.from, slot.from);
    for (std::uint32_t pass = 0; pass < program.repeats; ++pass) gpu.queue_copy(queue, to, from, program.bytes);
  }

  // Holds queues back until all work is queued. The destructor opens it, because nothing else would release the queues.
  class Gate {
   public:
    explicit Gate(LinkRunner& links) : links_(links), ticket_(++links.ticket_) {}
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() { open(); }
    // If the driver cannot wait, the work begins at once.
    void hold(LinkQueue& queue) const {
      links_.cannot_hold_ |= links_.gate_ == nullptr || !queue.hold(*links_.gate_, ticket_);
    }
    void open() const {
      if (links_.gate_ != nullptr) std::atomic_ref<std::uint32_t>(*links_.gate_->word()).store(ticket_);
    }

   private:
    LinkRunner& links_;
    std::uint32_t ticket_;
  };

  TransferResult stream(const TransferProgram& program) {
    const std::vector<Slot> slots = memory_.slots_of(program);
    memory_.forget_chains();
    const std::uint64_t last = program.bytes - kTokenBytes;
    const bool carries = program.op != TransferOp::kRead;
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      // All words of a write are the same.
      const std::uint64_t token = (next_token_++ & UINT32_MAX) * 0x1'0000'0001ull;
      tokens.push_back(token);
      memory_.put(program.transfers[i].from, slots[i].from + last, &token, kTokenBytes);
      const std::uint64_t none = 0;
      memory_.put(program.transfers[i].to, slots[i].to + last, &none, kTokenBytes);
    }
    const std::vector<LinkQueue*> queues = queue_all(program, slots, tokens);
    TransferResult result;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Transfer& transfer = program.transfers[i];
      gpus_[worker_of(program.op, transfer)]->make_current();
      const std::string what =
          fmt::format("{} from {} to {}", to_string(program.op), to_text(transfer.from), to_text(transfer.to));
      result.seconds.push_back(queues[i]->seconds(what));
      if (carries && memory_.word_at(transfer.to, slots[i].to + last) != tokens[i]) {
        throw DeviceError(
            fmt::format("{}: the received data differ from the sent data: the link or the driver is faulty", what));
      }
    }
    if (slots.size() > 1) result.begins = begins_of(program, queues);
    return result;
  }

  // Events can only be compared on one GPU. The gate lets all GPUs begin together.
  std::vector<double> begins_of(const TransferProgram& program, const std::vector<LinkQueue*>& queues) const {
    std::map<std::uint32_t, std::vector<std::size_t>> of_worker;
    for (std::size_t i = 0; i < queues.size(); ++i) of_worker[worker_of(program.op, program.transfers[i])].push_back(i);
    std::vector<double> begins(queues.size());
    for (const auto& [worker, places] : of_worker) {
      gpus_[worker]->make_current();
      double first = 0;
      for (const std::size_t i : places) {
        begins[i] = queues[i]->began_after(*queues[places.front()]);
        first = std::min(first, begins[i]);
      }
      for (const std::size_t i : places) begins[i] -= first;
    }
    return begins;
  }

  std::vector<LinkQueue*> queue_all(const TransferProgram& program, const std::vector<Slot>& slots,
                                    const std::vector<std::uint64_t>& tokens) {
    std::map<std::uint32_t, std::size_t> used;
    std::vector<LinkQueue*> queues;
    const Gate gate(*this);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::uint32_t worker = worker_of(program.op, program.transfers[i]);
      LinkGpu& gpu = *gpus_[worker];
      gpu.make_current();
      LinkQueue& next = gpu.queue(used[worker]++);
      gate.hold(next);
      next.begin();
      queue(program, i, slots[i], tokens[i], gpu, next);
      next.end();
      queues.push_back(&next);
    }
    return queues;
  }

  TransferResult copy_pageable(const TransferProgram& program) {
    const Transfer& transfer = program.transfers.front();
    const bool is_upload = transfer.from.kind == EndpointKind::kHost;
    const Endpoint host = is_upload ? transfer.from : transfer.to;
    const Endpoint gpu = is_upload ? transfer.to : transfer.from;
    const LinkAddress address = memory_.reserve(gpu, program.bytes);
    HostMemory& memory = memory_.pageable(host.index, program.bytes);
    memory_.forget_chain(gpu);
    LinkGpu& copying = *gpus_[gpu.index];
    copying.make_current();
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t pass = 0; pass < program.repeats; ++pass) {
      if (is_upload) copying.upload(address, memory.data(), program.bytes);
      if (!is_upload) copying.download(memory.data(), address, program.bytes);
    }
    copying.synchronize("pageable copies");  // uploads return before the last part has arrived
    return {.seconds = {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()}};
  }

  // ---- Latencies ----

  static TransferResult timed(LinkGpu& gpu, const TimedLaunch& launch) {
    gpu.make_current();
    constexpr double kNano = 1e-9;
    TransferResult result;
    for (const double ns : gpu.run_timed(launch)) {
      if (ns <= 0) throw DeviceError("a kernel measured no elapsed time: the GPU's clock is not running");
      result.seconds.push_back(ns * kNano / launch.count);
    }
    return result;
  }

  TransferResult chase(const TransferProgram& program) {
    constexpr std::uint32_t kWarm = 64;
    const Transfer& transfer = program.transfers.front();
    LinkGpu& gpu = *gpus_[transfer.to.index];
    const LinkAddress memory = memory_.reserve(transfer.from, program.bytes);
    memory_.build_chain(transfer.from, memory, program.bytes);
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({gpu.sms(), program.bytes / kTransferStride, gpu.most_blocks()}));
    return timed(gpu, {.kernel = kernel_of(program),
                       .blocks = blocks,
                       .memory = memory,
                       .span = program.bytes / kTransferStride / blocks * kTransferStride,
                       .warm = kWarm,
                       .count = program.repeats});
  }

  // Atomics use system scope if the link carries them, otherwise the scope of the GPU.
  [[nodiscard]] LinkKernel kernel_of(const TransferProgram& program) const {
    if (program.op == TransferOp::kLoad) return LinkKernel::kLoad;
    const Transfer& transfer = program.transfers.front();
    const PeerLink* peer = info_.peer(transfer.from.index, transfer.to.index);
    const bool carries = transfer.from.kind == EndpointKind::kHost
                             ? gpus_[transfer.to.index]->has_host_atomics()
                             : peer != nullptr && peer->has_atomics.value_or(false);
    return carries ? LinkKernel::kAtomic : LinkKernel::kAtomicOfGpu;
  }

  TransferResult store(const TransferProgram& program) {
    const Transfer& transfer = program.transfers.front();
    const LinkAddress memory = memory_.reserve(transfer.to, program.bytes);
    memory_.forget_chain(transfer.to);
    return timed(*gpus_[transfer.from.index], {.kernel = LinkKernel::kStore,
                                               .memory = memory,
                                               .span = program.bytes / kTransferStride,
                                               .count = program.repeats});
  }

  // The last members are destroyed first: queues wait for the gate, and host memory is unlocked while GPUs are open.
  std::unique_ptr<LinkDriver> driver_;
  NodeInfo info_;
  bool is_open_ = false;  // all GPUs that can be are open
  LinkGpus gpus_;         // failures_ says why one is not open
  std::vector<std::string> failures_;
  LinkMemory memory_;
  std::unique_ptr<LinkGate> gate_;
  std::uint32_t ticket_ = 0;
  bool cannot_hold_ = false;
  std::uint64_t next_token_ = 1;
};

}  // namespace

std::unique_ptr<Links> run_links(std::unique_ptr<LinkDriver> driver, NodeInfo info) {
  return std::make_unique<LinkRunner>(std::move(driver), std::move(info));
}

}  // namespace gputopo::node
