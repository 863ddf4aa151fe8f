// Runs the driver's compiler on threads of its own.
//
// Measured on an H100 (driver 580.159.04): while other threads are in cuLinkAddData, launches take no longer than
// usual, and each of 14 threads compiles as quickly as one alone. cuModuleLoadDataEx of PTX delays every launch until
// it has compiled. So PTX that is compiled ahead is linked, and only its machine code is loaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/driver_api.h"
#include "device/driver/driver_call.h"

namespace gputopo::cuda {

class CompileAhead {
 public:
  CompileAhead(std::shared_ptr<const Driver> driver, std::shared_ptr<const Context> context);
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  // Drops work that has not begun. Waits for work that has, but not forever.
  ~CompileAhead();

  // Whether there is a core besides this thread's. Without one, work ahead only gets in the way.
  [[nodiscard]] static bool has_room();
  // Threads that work at once.
  [[nodiscard]] static std::size_t threads();

  // Deals items out among the threads, in parts of at most `most` items. Neighbors, which often take similarly long, go
  // to different parts.
  template <typename Item>
  [[nodiscard]] static std::vector<std::vector<Item>> parts_of(const std::vector<Item>& items, std::size_t most) {
    const std::size_t each = std::min(most, items.size() / threads() + 1);
    std::vector<std::vector<Item>> parts(each == 0 ? 0 : (items.size() + each - 1) / each);
    for (std::size_t i = 0; i < items.size(); ++i) parts[i % parts.size()].push_back(items[i]);
    return parts;
  }

  template <typename Result>
  class Begun {
   public:
    // Waits for the result. Throws what the work threw.
    [[nodiscard]] const Result& get() const {
      wait_on_behalf_of(*call_, [this](auto most) { return result_.wait_for(most) == std::future_status::ready; });
      return result_.get();
    }

   private:
    friend class CompileAhead;
    std::shared_future<Result> result_;
    std::shared_ptr<LastCall> call_ = std::make_shared<LastCall>("cuLinkCreate_v2");
  };

  // Runs `work` on one of the threads, where the context is current.
  template <typename Result>
  [[nodiscard]] Begun<Result> begin(std::function<Result()> work) {
    Begun<Result> begun;
    auto task = std::make_shared<std::packaged_task<Result()>>(
        [context = context_, call = begun.call_, work = std::move(work)] {
          publish_driver_calls(call.get());
          context->make_current();
          return work();
        });
    begun.result_ = task->get_future().share();
    add([task] { (*task)(); });
    return begun;
  }

  // Begins to compile this PTX, whose machine code will be needed.
  void expect(const std::string& ptx);
  // Compiles in this thread if the PTX was not expected. Throws DeviceError.
  [[nodiscard]] std::string machine_code(const std::string& ptx) const;
  // The same code as a module, ready to run.
  [[nodiscard]] Module module_of(const std::string& ptx) const;

 private:
  struct State;

  void add(std::function<void()> work);

  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const Context> context_;
  std::shared_ptr<State> state_;  // shared with the threads, which may outlive this object
  std::map<std::string, Begun<std::string>, std::less<>> expected_;
};

}  // namespace gputopo::cuda
