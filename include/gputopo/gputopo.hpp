// gputopo for C++17: a header over the C interface (gputopo.h has the details) that needs only libgputopo.
//
//   const gputopo::Report report = gputopo::discover("cuda:0");
//   std::cout << report["l2.latency"].number << " cycles\n";
//
// Failures throw gputopo::Error, or gputopo::Unavailable if a GPU has no such value. Do not include this header
// together with those of gputopo::core, which use the same names.
#ifndef GPUTOPO_GPUTOPO_HPP
#define GPUTOPO_GPUTOPO_HPP

#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/gputopo.h"

namespace gputopo {
inline namespace c_interface {  // symbols that differ from gputopo::core's, for programs with both

// what() is one line that says what failed and what to do.
class Error : public std::runtime_error {
 public:
  Error(int status, const std::string& what) : std::runtime_error(what), status_(status) {}
  // A gputopo_status.
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

class Unavailable : public Error {
 public:
  Unavailable(gputopo_reason reason, const std::string& what) : Error(GPUTOPO_UNAVAILABLE, what), reason_(reason) {}
  [[nodiscard]] gputopo_reason reason() const noexcept { return reason_; }

 private:
  gputopo_reason reason_;
};

// A value that is available.
struct Value {
  gputopo_type type = GPUTOPO_TYPE_NONE;
  gputopo_source source = GPUTOPO_SOURCE_UNAVAILABLE;
  double number = std::nan("");  // in `unit`; a boolean is 0 or 1; NaN for other types
  std::optional<double> low;     // 95% confidence interval
  std::optional<double> high;
  std::string text;  // the value as `gputopo get` prints it, for every type
  std::string unit;  // "B", "cycles", "B/s", "MHz"; "" for counts and names
  std::string method;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<std::vector<std::uint32_t>> groups;  // groups of SMs
};

struct Device {
  std::string spec;         // argument of discover(): "cuda:0"
  std::string name;         // "NVIDIA H200"
  std::string pci_address;  // empty if there is none
  std::string detail;       // one short phrase
};

// See gputopo_options.
struct Options {
  std::vector<std::string> elements;    // "l2", "l2.size", "instructions"; empty: all
  std::vector<std::string> attributes;  // "size", "latency"; empty: all
  bool full = false;
  double budget_seconds = 60;
  std::uint64_t seed = 1;
  bool keep_samples = false;
  bool wait = true;
  double max_wait_seconds = 600;
  bool use_cache = false;
  double max_age_seconds = 0;
  // Called on the thread that called discover(). An exception from them ends the discovery and leaves discover().
  std::function<void(const gputopo_progress&)> progress;
  std::function<void(gputopo_log_level, std::string_view line)> log;
  std::function<bool()> cancelled;
};

namespace detail {

inline void check(int status) {
  if (status != GPUTOPO_OK) throw Error(status, gputopo_last_error());
}

struct FreeReport {
  void operator()(gputopo_report* report) const noexcept { gputopo_report_free(report); }
};
struct FreeString {
  void operator()(char* text) const noexcept { gputopo_string_free(text); }
};
struct FreeDevices {
  void operator()(gputopo_device** devices) const noexcept { gputopo_devices_free(devices); }
};

// Frees the value at the end of the scope.
class RawValue {
 public:
  RawValue() = default;
  RawValue(const RawValue&) = delete;
  RawValue& operator=(const RawValue&) = delete;
  ~RawValue() { gputopo_value_free(&value_); }
  gputopo_value* get() noexcept { return &value_; }
  [[nodiscard]] Value copy() const {
    Value value;
    value.type = static_cast<gputopo_type>(value_.type);
    value.source = static_cast<gputopo_source>(value_.source);
    value.number = value_.number;
    if (!std::isnan(value_.low)) value.low = value_.low;
    if (!std::isnan(value_.high)) value.high = value_.high;
    value.text = value_.text;
    value.unit = value_.unit;
    value.method = value_.method;
    if (value_.type == GPUTOPO_TYPE_NUMBERS) value.numbers.assign(value_.numbers, value_.numbers + value_.count);
    if (value_.type == GPUTOPO_TYPE_TEXTS) value.texts.assign(value_.texts, value_.texts + value_.count);
    for (std::size_t i = 0, begin = 0; i < value_.group_count; begin = value_.group_ends[i], ++i) {
      value.groups.emplace_back(value_.numbers + begin, value_.numbers + value_.group_ends[i]);
    }
    return value;
  }

 private:
  gputopo_value value_ = GPUTOPO_VALUE_INIT;
};

// Wraps the callbacks of Options in C callbacks, which must not throw.
class Callbacks {
 public:
  explicit Callbacks(const Options& options) : options_(options) {}
  void set(gputopo_options& raw) {
    raw.user = this;
    if (options_.progress) raw.progress = progress;
    if (options_.log) raw.log = log;
    raw.cancelled = cancelled;
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  template <typename Action>
  void guard(const Action& action) noexcept {
    if (thrown_) return;
    try {
      action();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  static void progress(void* user, const gputopo_progress* progress) {
    auto& self = *static_cast<Callbacks*>(user);
    self.guard([&] { self.options_.progress(*progress); });
  }
  static void log(void* user, std::int32_t level, const char* line) {
    auto& self = *static_cast<Callbacks*>(user);
    self.guard([&] { self.options_.log(static_cast<gputopo_log_level>(level), line); });
  }
  static std::int32_t cancelled(void* user) {
    auto& self = *static_cast<Callbacks*>(user);
    bool ends = false;
    self.guard([&] { ends = self.options_.cancelled && self.options_.cancelled(); });
    return ends || self.thrown_ ? 1 : 0;
  }

  const Options& options_;
  std::exception_ptr thrown_;
};

inline std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace detail

// The version of the library in use: "0.1.0".
[[nodiscard]] inline std::string version() { return gputopo_version(); }

// One report: everything known about one device. Copies share it.
class Report {
 public:
  [[nodiscard]] static Report load(const std::string& path) {
    gputopo_report* raw = nullptr;
    detail::check(gputopo_load(path.c_str(), &raw));
    return Report(raw);
  }
  [[nodiscard]] static Report parse(std::string_view json) {
    gputopo_report* raw = nullptr;
    detail::check(gputopo_parse(json.empty() ? "" : json.data(), json.size(), &raw));
    return Report(raw);
  }
  // Takes ownership of a report of the C interface.
  explicit Report(gputopo_report* raw) : raw_(raw, detail::FreeReport()) {}

  // A value by path: "l2.latency", "device.name". Throws Unavailable (with the reason), Error for an unknown path.
  [[nodiscard]] Value operator[](const std::string& path) const {
    detail::RawValue value;
    const int status = gputopo_get(raw_.get(), path.c_str(), value.get());
    if (status == GPUTOPO_UNAVAILABLE) {
      throw Unavailable(static_cast<gputopo_reason>(value.get()->reason), gputopo_last_error());
    }
    detail::check(status);
    return value.copy();
  }
  // The value, or nothing if it is unavailable. Throws Error for an unknown path.
  [[nodiscard]] std::optional<Value> find(const std::string& path) const {
    try {
      return (*this)[path];
    } catch (const Unavailable&) {
      return std::nullopt;
    }
  }
  // False if the discovery ended early.
  [[nodiscard]] bool complete() const {
    std::int32_t complete = 0;
    detail::check(gputopo_complete(raw_.get(), &complete));
    return complete != 0;
  }
  // `format` is named like an option of the program: "json", "html", "csv", ..., "table", "tree". Throws Error.
  [[nodiscard]] std::string render(const std::string& format) const {
    char* text = nullptr;
    std::size_t length = 0;
    detail::check(gputopo_render(raw_.get(), format.c_str(), &text, &length));
    const std::unique_ptr<char, detail::FreeString> owner(text);
    return std::string(text, length);
  }
  [[nodiscard]] gputopo_report* raw() const noexcept { return raw_.get(); }

 private:
  std::shared_ptr<gputopo_report> raw_;
};

// Measures a device; takes some seconds. "": the first GPU. Throws Error.
[[nodiscard]] inline Report discover(const std::string& device = "", const Options& options = {}) {
  const std::vector<const char*> elements = detail::pointers_to(options.elements);
  const std::vector<const char*> attributes = detail::pointers_to(options.attributes);
  gputopo_options raw;
  detail::check(gputopo_options_init(&raw, sizeof raw));
  raw.elements = elements.data();
  raw.element_count = elements.size();
  raw.attributes = attributes.data();
  raw.attribute_count = attributes.size();
  raw.full = options.full ? 1 : 0;
  raw.budget_seconds = options.budget_seconds;
  raw.seed = options.seed;
  raw.keep_samples = options.keep_samples ? 1 : 0;
  raw.wait = options.wait ? 1 : 0;
  raw.max_wait_seconds = options.max_wait_seconds;
  raw.use_cache = options.use_cache ? 1 : 0;
  raw.max_age_seconds = options.max_age_seconds;
  detail::Callbacks callbacks(options);
  callbacks.set(raw);
  gputopo_report* report = nullptr;
  const int status = gputopo_discover(device.c_str(), &raw, &report);
  std::optional<Report> owner;
  if (status == GPUTOPO_OK) owner.emplace(report);
  callbacks.rethrow();
  detail::check(status);
  return *std::move(owner);
}

// Lists the real devices of this machine, then the simulated ones. `problem`: one line if a driver is unusable.
[[nodiscard]] inline std::vector<Device> list(std::string* problem = nullptr) {
  gputopo_device** raw = nullptr;
  char* text = nullptr;
  detail::check(gputopo_list(&raw, &text));
  const std::unique_ptr<gputopo_device*, detail::FreeDevices> devices(raw);
  const std::unique_ptr<char, detail::FreeString> owner(text);
  if (problem != nullptr) *problem = text;
  std::vector<Device> found;
  for (gputopo_device** device = raw; *device != nullptr; ++device) {
    found.push_back({(*device)->spec, (*device)->name, (*device)->pci_address, (*device)->detail});
  }
  return found;
}

}  // namespace c_interface
}  // namespace gputopo

#endif
