#include "gputopo/discover.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/report_cache.h"
#include "gputopo/device.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "library/driver_use.h"
#include "library/handles.h"
#include "library/memory.h"
#include "library/status.h"
#include "library/worker_thread.h"

namespace gputopo::library {
namespace {

// An idle driver initializes its GPUs one by one.
constexpr double kPatienceToOpenSeconds = 30;
// Without a given device, NVIDIA's driver is queried and then AMD's.
constexpr double kPatienceToFindSeconds = 2 * kPatienceToOpenSeconds + 10;
// In addition to the budget: a launch may last 2 s, and a driver's compilation longer.
constexpr double kPatienceSeconds = 10;

// A request without pointers of the caller, because a thread that is left behind may outlive them.
struct Request {
  std::string device;
  DiscoverOptions options;
  double max_wait_seconds = 0;  // for another discovery of the same GPU
  bool uses_cache = false;
  std::optional<double> max_age_seconds;
};

// Wrong options. what() is one line.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::vector<std::string> names(const char* const* texts, size_t count, const char* member) {
  if (texts == nullptr && count != 0)
    throw ArgumentError(fmt::format("options.{} is NULL, but its count is {}", member, count));
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) throw ArgumentError(fmt::format("options.{}[{}] is NULL", member, i));
    result.emplace_back(texts[i]);
  }
  return result;
}

// Anybody may take the lock of a GPU and keep it, so nobody waits forever.
constexpr double kMaxWaitSeconds = 600;

// The size of the first version, the least that any caller has.
constexpr std::size_t kFirstOptionsBytes = offsetof(gputopo_options, user) + sizeof(void*);

gputopo_options default_options() {
  const DiscoverOptions defaults;
  gputopo_options options = {};
  options.size = sizeof(gputopo_options);
  options.budget_seconds = defaults.budget_seconds;
  options.seed = defaults.seed;
  options.wait = 1;
  options.max_wait_seconds = kMaxWaitSeconds;
  return options;
}

// The caller's options. The caller's header may be older or newer.
gputopo_options options_of(const gputopo_options* given) {
  gputopo_options options = default_options();
  if (given == nullptr) return options;
  if (given->size < kFirstOptionsBytes) {
    throw ArgumentError("options.size is wrong: initialize options with gputopo_options_init()");
  }
  std::memcpy(&options, given, std::min<std::size_t>(given->size, sizeof options));
  return options;
}

Request request_of(const char* device, const gputopo_options& options) {
  Request request;
  request.device = device == nullptr ? "" : device;
  request.options.elements = names(options.elements, options.element_count, "elements");
  request.options.attributes = names(options.attributes, options.attribute_count, "attributes");
  request.options.full = options.full != 0;
  request.options.keep_samples = options.keep_samples != 0;
  request.options.seed = options.seed;
  request.options.budget_seconds = options.budget_seconds;
  if (!(options.budget_seconds > 0) || !std::isfinite(options.budget_seconds)) {
    throw ArgumentError("options.budget_seconds must be more than 0");
  }
  if (!(options.max_age_seconds >= 0)) throw ArgumentError("options.max_age_seconds must not be less than 0");
  if (!(options.max_wait_seconds >= 0)) throw ArgumentError("options.max_wait_seconds must not be less than 0");
  request.max_wait_seconds = options.wait != 0 ? options.max_wait_seconds : 0;
  request.uses_cache = options.use_cache != 0;
  if (options.max_age_seconds > 0) request.max_age_seconds = options.max_age_seconds;
  return request;
}

// The key of a request in the cache. A single value without samples has the key of `gputopo get`, and shares its file.
std::string cache_key(const DiscoverOptions& options) {
  const bool is_plain = options.attributes.empty() && !options.full && !options.keep_samples;
  if (is_plain && options.elements.size() == 1) return options.elements.front();
  return fmt::format("elements {}; attributes {}; full {}; samples {}", fmt::join(options.elements, ","),
                     fmt::join(options.attributes, ","), options.full, options.keep_samples);
}

// Whether another discovery would give the same.
bool is_lasting(const Topology& topology) {
  const auto passes = [](const AttributeMap& attributes) {
    return std::ranges::none_of(attributes, [](const auto& named) {
      const Reason reason = named.second.reason;
      return reason == Reason::kDeviceError || reason == Reason::kDisturbed || reason == Reason::kTimedOut ||
             reason == Reason::kInterrupted;
    });
  };
  return topology.complete &&
         std::ranges::all_of(topology.memory,
                             [&](const MemoryElement& element) { return passes(element.attributes); }) &&
         std::ranges::all_of(topology.instructions, [&](const Instruction& one) { return passes(one.attributes); });
}

Topology measure(const Request& request, WorkerState& apart) {
  if (request.device.empty()) apart.expect_driver_within(kPatienceToFindSeconds);
  const DefaultDevice device_to_open = request.device.empty() ? default_device() : DefaultDevice{request.device, {}};
  if (device_to_open.spec.empty()) throw NoGpuError(device_to_open.problem);
  apart.throw_if_cancelled();
  const bool has_driver = needs_driver(device_to_open.spec);
  apart.expect_no_driver();
  if (has_driver) apart.expect_driver_within(kPatienceToOpenSeconds);
  const std::unique_ptr<DeviceTurn> turn = take_turn(device_to_open.spec, request.max_wait_seconds, apart);
  apart.throw_if_cancelled();
  if (has_driver) apart.expect_driver_within(kPatienceToOpenSeconds);
  const std::unique_ptr<Device> device = open_device(device_to_open.spec, request.options.seed);
  apart.expect_no_driver();
  // A simulation uses no driver, so its time is not limited.
  if (!device->info().simulated && has_driver) {
    apart.expect_driver_within(request.options.budget_seconds + kPatienceSeconds);
  }
  apart.throw_if_cancelled();
  DiscoverOptions options = request.options;
  options.stop = &apart.stop();
  options.on_progress = [&](const Progress& progress) { apart.post(progress); };
  options.on_log = [&](const std::string& line) { apart.post(LogLine{GPUTOPO_LOG_INFO, line}); };
  // All formats should show what the JSON contains.
  return read_json(to_json(discover(*device, options)));
}

Topology answer(const Request& request, WorkerState& apart) {
  if (!request.uses_cache) return measure(request, apart);
  if (needs_driver(request.device)) apart.expect_driver_within(kPatienceToFindSeconds);
  const ReportCache cache(request.device, request.options.seed, cache_key(request.options));
  if (std::optional<Topology> known = cache.load(request.max_age_seconds)) return *std::move(known);
  Topology topology = measure(request, apart);
  if (is_lasting(topology)) {
    cache.store(topology, [&](const std::string& line) { apart.post(LogLine{GPUTOPO_LOG_WARNING, line}); });
  }
  return topology;
}

Callbacks callbacks_of(const gputopo_options& options) {
  return {.take =
              [&options](const WorkerState::Event& event) {
                if (const auto* step = std::get_if<Progress>(&event)) {
                  if (options.progress == nullptr) return;
                  const gputopo_progress progress{step->probe.c_str(), step->done, step->total, step->elapsed_seconds};
                  options.progress(options.user, &progress);
                } else if (const auto* line = std::get_if<LogLine>(&event)) {
                  if (options.log != nullptr) options.log(options.user, line->level, line->text.c_str());
                }
              },
          .is_cancelled = [&options] { return options.cancelled != nullptr && options.cancelled(options.user) != 0; }};
}

int discover_report(const char* device, const gputopo_options* given, gputopo_report** report) {
  const gputopo_options options = options_of(given);
  auto request = std::make_shared<const Request>(request_of(device, options));
  if (needs_driver(request->device)) {
    if (const int status = begin_driver_use(); status != GPUTOPO_OK) return status;
  }
  const auto apart = std::make_shared<WorkerState>();
  const auto found = std::make_shared<std::optional<Topology>>();
  run_on_worker_thread(
      apart, [request, found, apart] { *found = answer(*request, *apart); }, callbacks_of(options));
  *report = add_report(std::make_shared<const Topology>(std::move(**found)));
  return GPUTOPO_OK;
}

// ---- list ----

struct Listed {
  std::vector<DeviceListing> devices;
  std::string problem;
};

void free_devices(gputopo_device** devices) {
  for (gputopo_device** device = devices; *device != nullptr; ++device) {
    for (const char* text : {(*device)->spec, (*device)->name, (*device)->pci_address, (*device)->detail}) {
      std::free(const_cast<char*>(text));
    }
    std::free(*device);
  }
  std::free(devices);
}

struct FreeDevices {
  void operator()(gputopo_device** devices) const { free_devices(devices); }
};

std::unique_ptr<gputopo_device*, FreeDevices> copy_of(const std::vector<DeviceListing>& listings) {
  std::unique_ptr<gputopo_device*, FreeDevices> devices(allocate<gputopo_device*>(listings.size() + 1).release());
  for (std::size_t i = 0; i < listings.size(); ++i) {
    gputopo_device* device = allocate<gputopo_device>(1).release();
    devices.get()[i] = device;
    device->spec = copy_of_text(listings[i].spec).release();
    device->name = copy_of_text(listings[i].name).release();
    device->pci_address = copy_of_text(listings[i].pci_address).release();
    device->detail = copy_of_text(listings[i].detail).release();
  }
  return devices;
}

int list_all(gputopo_device*** devices, char** problem) {
  if (const int status = begin_driver_use(); status != GPUTOPO_OK) return status;
  const auto apart = std::make_shared<WorkerState>();
  const auto listed = std::make_shared<Listed>();
  apart->expect_driver_within(kPatienceToFindSeconds);
  run_on_worker_thread(apart, [listed] { listed->devices = list_devices(listed->problem); },
                       {.take = [](const WorkerState::Event&) {}, .is_cancelled = [] { return false; }});
  auto found = copy_of(listed->devices);
  Owned<char> text = copy_of_text(listed->problem);
  *devices = found.release();
  if (problem != nullptr) *problem = text.release();
  return GPUTOPO_OK;
}

}  // namespace
}  // namespace gputopo::library

using namespace gputopo;
using namespace gputopo::library;

extern "C" {

int gputopo_options_init(gputopo_options* options, size_t size) {
  if (options == nullptr) return fail_with_null("gputopo_options_init", "options");
  if (size < kFirstOptionsBytes || size > UINT32_MAX) {
    return fail(GPUTOPO_ERROR_ARGUMENT, "gputopo_options_init: size must be sizeof(gputopo_options)");
  }
  const gputopo_options defaults = default_options();
  std::memset(options, 0, size);
  std::memcpy(options, &defaults, std::min(size, sizeof defaults));
  options->size = static_cast<uint32_t>(size);
  return GPUTOPO_OK;
}

int gputopo_discover(const char* device, const gputopo_options* options, gputopo_report** report) {
  return guarded([&]() -> int {
    if (report == nullptr) return fail_with_null("gputopo_discover", "report");
    try {
      return discover_report(device, options, report);
    } catch (const ArgumentError& error) {
      return fail(GPUTOPO_ERROR_ARGUMENT, error.what());
    } catch (const BusyError& error) {
      return fail(GPUTOPO_ERROR_BUSY, error.what());
    }
  });
}

int gputopo_list(gputopo_device*** devices, char** problem) {
  return guarded([&]() -> int {
    if (devices == nullptr) return fail_with_null("gputopo_list", "devices");
    return list_all(devices, problem);
  });
}

void gputopo_devices_free(gputopo_device** devices) {
  if (devices != nullptr) free_devices(devices);
}
}
