// Included by the copies of sources whose tunables are varied (tunables.py). One build has all of them; the environment
// variable GPUTOPO_TUNABLE says which ones are 20% larger ("+NAME") or smaller ("-NAME"), separated by commas.
// GPUTOPO_TUNABLE_NOTES is the file for the results and for the tunables that took part in them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

namespace gputopo_tuned {

// A text as a template argument.
template <std::size_t kLength>
struct Name {
  char text[kLength]{};
  consteval Name(const char (&from)[kLength]) { std::copy_n(from, kLength, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, kLength - 1}; }
};

// 1: larger, -1: smaller, 0: as it is.
inline int direction_of(std::string_view name) {
  static const char* const kWanted = std::getenv("GPUTOPO_TUNABLE");
  for (std::string_view rest = kWanted == nullptr ? "" : kWanted; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (!one.empty() && one.substr(1) == name) return one.front() == '+' ? 1 : -1;
  }
  return 0;
}

template <typename T>
T varied(T value, int direction) {
  constexpr double kFactor = 1.2;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(direction > 0 ? value * kFactor : value / kFactor);
  } else if constexpr (std::is_integral_v<T>) {
    const double exact = static_cast<double>(value) * (direction > 0 ? kFactor : 1 / kFactor);
    if (exact >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    const T rounded = static_cast<T>(std::round(exact));
    if (rounded != value) return rounded;
    return static_cast<T>((direction > 0) == (value > 0) ? value + 1 : value - 1);
  } else {
    for (auto& part : value) part = varied(part, direction);
    return value;
  }
}

// ---- Notes ----

inline std::mutex& notes_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Each note begins with a record separator, because its text has newlines.
inline void note(std::string_view kind, std::string_view key, const std::string& text) {
  static const char* const kPath = std::getenv("GPUTOPO_TUNABLE_NOTES");
  if (kPath == nullptr) return;
  static std::FILE* const file = std::fopen(kPath, "a");
  if (file == nullptr) return;
  const std::lock_guard lock(notes_mutex());
  std::fprintf(file, "\x1e%.*s\t%.*s\n%s", static_cast<int>(kind.size()), kind.data(), static_cast<int>(key.size()),
               key.data(), text.c_str());
  std::fflush(file);
}

// Constants are initialized before the first measurement, which takes no part in it.
inline std::atomic<bool> has_begun{false};
inline thread_local std::string current_step;

class Slot {
 public:
  explicit Slot(std::string_view name) : name_(name), direction_(direction_of(name)) {}
  [[nodiscard]] int direction() const { return direction_; }
  void take_part() {
    if (is_noted_.load(std::memory_order_relaxed) || !has_begun.load(std::memory_order_relaxed)) return;
    if (!is_noted_.exchange(true)) note("part", name_, current_step);
  }

 private:
  std::string_view name_;
  int direction_;
  std::atomic<bool> is_noted_{false};
};

template <Name kName>
Slot& slot() {
  static Slot only(kName.view());
  return only;
}

// ---- Calls in the copies ----

// The initializer of a tunable.
template <Name kName, typename T>
T tuned(T value) {
  Slot& mine = slot<kName>();
  mine.take_part();
  return mine.direction() == 0 ? value : varied(std::move(value), mine.direction());
}

// The initializer of a constant, which the compiler must not compute.
template <typename Make>
auto at_run_time(const Make& make) {
  return make();
}

// A constant where it is used. `kName`: the tunable, or the struct of tunables.
template <Name kName, typename T>
const T& used(const T& constant) {
  slot<kName>().take_part();
  return constant;
}

// What discover() is asked for, and which attribute it is measuring. GPUTOPO_TUNABLE_ONLY: nothing but this attribute.
template <typename Options>
Options noted(Options options) {
  has_begun = true;
  if (const char* only = std::getenv("GPUTOPO_TUNABLE_ONLY")) {
    options.elements = {only};
    options.attributes.clear();
  }
  options.on_progress = [](const auto& progress) { current_step = progress.probe; };
  return options;
}

}  // namespace gputopo_tuned
