// An NVIDIA GPU at the end of links.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/driver_api.h"
#include "device/cuda/ptx_target.h"
#include "device/cuda/transfer_queue.h"
#include "device/node/link_driver.h"

namespace gputopo::cuda {

class CudaLinkGpu : public node::LinkGpu {
 public:
  CudaLinkGpu(std::shared_ptr<const Driver> driver, DeviceHandle handle);
  CudaLinkGpu(const CudaLinkGpu&) = delete;
  CudaLinkGpu& operator=(const CudaLinkGpu&) = delete;
  // The current context may belong to another GPU that is gone by now.
  ~CudaLinkGpu() override { driver_->ctx_set_current(context_.handle()); }

  [[nodiscard]] ContextHandle context() const { return context_.handle(); }

  void make_current() override { context_.make_current(); }
  [[nodiscard]] std::uint32_t sms() const override { return sms_; }
  [[nodiscard]] bool has_host_atomics() const override { return has_host_atomics_; }
  void reserve(std::uint64_t bytes) override;
  [[nodiscard]] std::uint64_t reserved_bytes() const override { return memory_.bytes(); }
  [[nodiscard]] node::LinkAddress address() const override { return memory_.address(); }
  void upload(node::LinkAddress to, const void* from, std::uint64_t bytes) override;
  void download(void* to, node::LinkAddress from, std::uint64_t bytes) override;
  void synchronize(const std::string& what) override;
  [[nodiscard]] node::LinkQueue& queue(std::size_t index) override;
  void queue_copy(node::LinkQueue& queue, const node::LinkEnd& to, const node::LinkEnd& from,
                  std::uint64_t bytes) override;
  void queue_read(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes, std::uint32_t passes) override;
  void queue_write(node::LinkQueue& queue, node::LinkAddress memory, std::uint64_t bytes, std::uint32_t passes,
                   std::uint32_t word) override;
  [[nodiscard]] std::uint32_t most_blocks() const override;
  [[nodiscard]] std::vector<double> run_timed(const node::TimedLaunch& launch) override;

 private:
  void launch_stream(const char* kernel, StreamHandle stream, node::LinkAddress memory, std::uint64_t bytes,
                     std::uint32_t passes, std::uint32_t word);

  std::shared_ptr<const Driver> driver_;
  Context context_;  // declared before everything that lives in it
  PtxTarget target_;
  std::uint32_t sms_;
  bool has_host_atomics_;
  Module module_;
  Memory records_;  // the kernels' results: a word for each block
  std::deque<Queue> queues_;
  Memory memory_;
};

}  // namespace gputopo::cuda
