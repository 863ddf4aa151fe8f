// Findings, each made once. A class of many has its destructor in a source file: where it is left to the compiler, each
// file that sees the class compiles those of all findings anew.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "gputopo/error.h"
#include "gputopo/model.h"

namespace gputopo {

// Thrown when a finding or an attribute asks for itself. The text names the requests in between.
class CircularRequest : public Error {
 public:
  using Error::Error;
};

// Why there is nothing to find.
struct Absence {
  Reason reason = Reason::kNone;
  std::string detail;
};

// As it was thrown first.
[[noreturn]] void raise(const Absence& absence);
// Of the exception that is being handled; throws it again where it is no absence.
[[nodiscard]] Absence absence_being_handled();

// What was made, or why nothing could be: neither is tried again. What ends a discovery (the user, the budget, a lost
// device) passes, and is kept as neither. References stay valid.
template <typename T>
class Once {
 public:
  // Throws Inconclusive, NotPresent, NotSupportedError or DeviceError where there is nothing, and what else `make`
  // throws.
  template <typename Make>
  const T& get(Make&& make) {
    look_up(make);
    if (absence_) raise(*absence_);
    return *made_;
  }

  // The same, and no value where there is nothing. Throws Disturbed where that is not known.
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
    if (is_being_made_) throw CircularRequest("a finding needs itself");
    is_being_made_ = true;
    try {
      made_.emplace(make());
    } catch (...) {
      is_being_made_ = false;
      absence_ = absence_being_handled();
    }
    is_being_made_ = false;
  }

  std::optional<T> made_;
  std::optional<Absence> absence_;
  bool is_being_made_ = false;
};

// The same for each key.
template <typename Key, typename T>
class Memo {
 public:
  template <typename Make>
  const T& get(const Key& key, Make&& make) {
    return entries_[key].get(make);  // which may ask for others
  }
  template <typename Make>
  const T* find(const Key& key, Make&& make) {
    return entries_[key].find(make);
  }

 private:
  std::map<Key, Once<T>> entries_;
};

}  // namespace gputopo
