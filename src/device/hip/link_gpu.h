// An AMD GPU at the end of links.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "device/hip/device_wait.h"
#include "device/hip/runtime_api.h"
#include "device/hip/transfer_source.h"
#include "device/node/link_driver.h"

namespace gputopo::hip {

// Signal memory, on which streams can wait.
class SignalGate : public node::LinkGate {
 public:
  explicit SignalGate(std::shared_ptr<const Runtime> runtime);
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;
  ~SignalGate() override;
  [[nodiscard]] std::uint32_t* word() const override { return static_cast<std::uint32_t*>(memory_); }  // may be null

 private:
  std::shared_ptr<const Runtime> runtime_;
  Pointer memory_ = nullptr;
};

// A stream, and the events around the work queued in it.
class HipQueue : public node::LinkQueue {
 public:
  HipQueue(std::shared_ptr<const Runtime> runtime, DeviceWait& wait);
  HipQueue(const HipQueue&) = delete;
  HipQueue& operator=(const HipQueue&) = delete;
  ~HipQueue() override;
  [[nodiscard]] StreamHandle stream() const { return stream_; }
  [[nodiscard]] bool hold(const node::LinkGate& gate, std::uint32_t ticket) override;
  void begin() override { runtime_->check(runtime_->event_record(begin_, stream_), "hipEventRecord"); }
  void end() override { runtime_->check(runtime_->event_record(end_, stream_), "hipEventRecord"); }
  [[nodiscard]] double seconds(const std::string& what) override;
  [[nodiscard]] double began_after(const node::LinkQueue& other) const override;

 private:
  [[nodiscard]] double elapsed_seconds(EventHandle from, EventHandle to) const;

  std::shared_ptr<const Runtime> runtime_;
  DeviceWait& wait_;
  StreamHandle stream_ = nullptr;
  EventHandle begin_ = nullptr;
  EventHandle end_ = nullptr;
};

class HipLinkGpu : public node::LinkGpu {
 public:
  HipLinkGpu(std::shared_ptr<const Runtime> runtime, int ordinal);

  [[nodiscard]] int ordinal() const { return ordinal_; }

  void make_current() override { runtime_->check(runtime_->set_device(ordinal_), "hipSetDevice"); }
  [[nodiscard]] std::uint32_t sms() const override { return cus_; }
  [[nodiscard]] bool has_host_atomics() const override { return has_host_atomics_; }
  void reserve(std::uint64_t bytes) override;
  [[nodiscard]] std::uint64_t reserved_bytes() const override { return memory_.bytes(); }
  [[nodiscard]] node::LinkAddress address() const override { return memory_.address(); }
  void upload(node::LinkAddress to, const void* from, std::uint64_t bytes) override;
  void download(void* to, node::LinkAddress from, std::uint64_t bytes) override;
  void synchronize(const std::string& what) override { runtime_->check(wait_(), what); }
  [[nodiscard]] node::LinkQueue& queue(std::size_t index) override;
  void queue_copy(node::LinkQueue& queue, const node::LinkEnd& to, const node::LinkEnd& from,
                  std::uint64_t bytes) override;
  void queue_read(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes, std::uint32_t passes) override;
  void queue_write(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes, std::uint32_t passes,
                   std::uint32_t word) override;
  [[nodiscard]] std::uint32_t most_blocks() const override;
  [[nodiscard]] std::vector<double> run_timed(const node::TimedLaunch& launch) override;

 private:
  [[nodiscard]] std::uint32_t attribute(DeviceAttribute attribute) const;
  void launch_stream(const char* kernel, StreamHandle stream, node::LinkAddress memory, std::uint64_t bytes,
                     std::uint32_t passes, std::uint32_t word);

  std::shared_ptr<const Runtime> runtime_;
  int ordinal_;
  DeviceWait wait_;
  std::uint32_t cus_ = 1;
  std::uint32_t wall_clock_khz_ = 0;  // 0: not reported
  bool has_host_atomics_ = false;
  TransferShape shape_;
  std::unique_ptr<Module> module_;
  Memory records_;  // the kernels' results: a word for each block
  std::deque<HipQueue> queues_;
  Memory memory_;
};

}  // namespace gputopo::hip
