// Findings, each made once. A class with many of them defines its destructor in a source file. A destructor that is
// left to the compiler makes each file that sees the class compile those of all findings.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "gputopo/error.h"
#include "gputopo/model.h"

namespace gputopo {

// Thrown if a finding or an attribute depends on itself. The text names the requests in between.
class CircularRequest : public Error {
 public:
  using Error::Error;
};

// Why there is no result.
struct MissingReason {
  Reason reason = Reason::kNone;
  std::string detail;
};

// Throws the exception that the absence was made of.
[[noreturn]] void raise(const MissingReason& absence);
// The absence for the exception that is being handled; rethrows an exception that is no absence.
[[nodiscard]] MissingReason current_missing_reason();

// Keeps a result, or why there is none, so that neither is tried again. Exceptions that end a discovery (the user, the
// budget, a lost device) pass through and are not kept. References stay valid.
template <typename T>
class LazyResult {
 public:
  // Throws Inconclusive, NotPresent, Disturbed, NotSupportedError or DeviceError if there is no result, and whatever
  // else `make` throws.
  template <typename Make>
  const T& get(Make&& make) {
    look_up(make);
    if (absence_) raise(*absence_);
    return *made_;
  }

  // Returns nullptr if there is no result. Throws Disturbed if that is unknown.
  template <typename Make>
  const T* find(Make&& make) {
    look_up(make);
    if (absence_ && absence_->reason == Reason::kDisturbed) raise(*absence_);
    return made_ ? &*made_ : nullptr;
  }

 private:
  template <typename Make>
  void look_up(Make& make) {
    if (made_ || absence_) return;
    if (is_being_made_) throw CircularRequest("an intermediate result depends on itself");
    is_being_made_ = true;
    try {
      made_.emplace(make());
    } catch (...) {
      is_being_made_ = false;
      absence_ = current_missing_reason();
    }
    is_being_made_ = false;
  }

  std::optional<T> made_;
  std::optional<MissingReason> absence_;
  bool is_being_made_ = false;
};

// A LazyResult for each key.
template <typename Key, typename T>
class LazyResultMap {
 public:
  template <typename Make>
  const T& get(const Key& key, Make&& make) {
    return entries_[key].get(make);  // `make` may ask for other keys
  }
  template <typename Make>
  const T* find(const Key& key, Make&& make) {
    return entries_[key].find(make);
  }

 private:
  std::map<Key, LazyResult<T>> entries_;
};

}  // namespace gputopo
