// Findings, each made once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "gputopo/error.h"
#include "gputopo/model.h"
#include "probe/lab.h"

namespace gputopo {

// Why there is nothing to find.
struct Absence {
  Reason reason = Reason::kNone;
  std::string detail;
};

// As it was thrown first.
[[noreturn]] inline void raise(const Absence& absence) {
  switch (absence.reason) {
    case Reason::kInconclusive:
      throw probe::Inconclusive(absence.detail);
    case Reason::kNotPresent:
      throw probe::NotPresent(absence.detail);
    case Reason::kDeviceError:
      throw DeviceError(absence.detail);
    case Reason::kDisturbed:
      throw probe::Disturbed(absence.detail);
    default:
      throw NotSupportedError(absence.detail);
  }
}

// What was made for a key, or why nothing could be: neither is tried again. What ends a discovery (the user, the
// budget, a lost device) passes, and is kept as neither. References stay valid.
template <typename Key, typename T>
class Memo {
 public:
  // Throws Inconclusive, NotPresent, NotSupportedError or DeviceError where there is nothing, and what else `make`
  // throws.
  template <typename Make>
  const T& get(const Key& key, Make&& make) {
    const Entry& entry = look_up(key, make);
    if (const auto* absence = std::get_if<Absence>(&entry)) raise(*absence);
    return std::get<T>(entry);
  }

  // The same, and no value where there is nothing. Throws Disturbed where that is not known.
  template <typename Make>
  const T* find(const Key& key, Make&& make) {
    const Entry& entry = look_up(key, make);
    if (const auto* absence = std::get_if<Absence>(&entry); absence != nullptr) {
      if (absence->reason == Reason::kDisturbed) raise(*absence);
    }
    return std::get_if<T>(&entry);
  }

 private:
  using Entry = std::variant<T, Absence>;

  template <typename Make>
  const Entry& look_up(const Key& key, Make& make) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    Entry made = attempt(make);  // which may ask for others
    return entries_.emplace(key, std::move(made)).first->second;
  }

  template <typename Make>
  static Entry attempt(Make& make) {
    try {
      return Entry(std::in_place_type<T>, make());
    } catch (const probe::Inconclusive& error) {
      return Absence{Reason::kInconclusive, error.what()};
    } catch (const probe::NotPresent& error) {
      return Absence{Reason::kNotPresent, error.what()};
    } catch (const probe::Disturbed& error) {
      return Absence{Reason::kDisturbed, error.what()};
    } catch (const NotSupportedError& error) {
      return Absence{Reason::kNotSupported, error.what()};
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceError& error) {
      return Absence{Reason::kDeviceError, error.what()};
    }
  }

  std::map<Key, Entry> entries_;
};

// A finding that there is one of.
template <typename T>
class Once {
 public:
  template <typename Make>
  const T& get(Make&& make) {
    return memo_.get({}, std::forward<Make>(make));
  }
  template <typename Make>
  const T* find(Make&& make) {
    return memo_.find({}, std::forward<Make>(make));
  }

 private:
  Memo<std::monostate, T> memo_;
};

}  // namespace gputopo
