// Visitors that write and read the fields of structs (program/fields.h) in a recording, as lists and as objects.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/replay/recorded_values.h"
#include "program/kinds.h"

namespace gputopo::recorded {

// The length, then bin and count of every bin that is not zero.
inline SortedJson encode_sparse(const std::vector<std::uint32_t>& counts) {
  SortedJson sparse = SortedJson::array({counts.size()});
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;
    sparse.push_back(bin);
    sparse.push_back(counts[bin]);
  }
  return sparse;
}

inline std::vector<std::uint32_t> decode_sparse(const SortedJson& sparse, const Place& place) {
  std::size_t length = 0;
  read(item(sparse, 0, place), {&place, {}, 0}, length);
  if (length > kHistogramBins) refuse(place, fmt::format("has more than {} bins", kHistogramBins));
  if (sparse.size() % 2 == 0) refuse(place, "has a bin without a count");
  std::vector<std::uint32_t> counts(length);
  for (std::size_t i = 1; i < sparse.size(); i += 2) {
    std::size_t bin = 0;
    read(sparse[i], {&place, {}, i}, bin);
    if (bin >= length) refuse({&place, {}, i}, fmt::format("is not one of the {} bins", length));
    read(sparse[i + 1], {&place, {}, i + 1}, counts[bin]);
  }
  return counts;
}

// Writes fields as the items of a list, in order. Fields that may be omitted come last.
class ListWriter {
 public:
  explicit ListWriter(SortedJson& list) : list_(list) { list_ = SortedJson::array(); }

  template <typename T>
  void operator()(std::string_view, const T& field) {
    list_.push_back(field);
  }
  void operator()(std::string_view, Sparse<const std::vector<std::uint32_t>> field) {
    list_.push_back(encode_sparse(field.list));
  }
  template <typename T>
  void operator()(std::string_view name, const T& field, const T& omitted) {
    if (field != omitted) (*this)(name, field);
  }

 private:
  SortedJson& list_;
};

class ListReader {
 public:
  ListReader(const SortedJson& list, const Place& place) : list_(list), place_(place) {}

  template <typename T>
  void operator()(std::string_view name, T& field) {
    const SortedJson& value = item(list_, next_++, place_);
    read(value, {&place_, name}, field);
  }
  void operator()(std::string_view name, Sparse<std::vector<std::uint32_t>> field) {
    const SortedJson& value = item(list_, next_++, place_);
    field.list = decode_sparse(value, {&place_, name});
  }
  template <typename T>
  void operator()(std::string_view name, T& field, const T& omitted) {
    field = omitted;
    if (next_ < list_.size()) (*this)(name, field);
  }

 private:
  const SortedJson& list_;
  const Place& place_;
  std::size_t next_ = 0;
};

// Writes fields as members of an object, by name.
class ObjectWriter {
 public:
  explicit ObjectWriter(SortedJson& object) : object_(object) {}

  template <typename T>
  void operator()(std::string_view name, const T& field) {
    object_[std::string(name)] = field;
  }
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& field) {
    if (field) (*this)(name, *field);
  }
  void operator()(std::string_view name, const std::vector<StepResult>& steps) {
    SortedJson& list = object_[std::string(name)] = SortedJson::array();
    for (const StepResult& step : steps) visit_fields(step, ListWriter(list.emplace_back()));
  }
  template <typename T>
  void operator()(std::string_view name, const T& field, const T& omitted) {
    if (field != omitted) (*this)(name, field);
  }

 private:
  SortedJson& object_;
};

class ObjectReader {
 public:
  ObjectReader(const SortedJson& object, const Place& place) : object_(object), place_(place) {}

  template <typename T>
  void operator()(std::string_view name, T& field) {
    read(member(object_, name, place_), {&place_, name}, field);
  }
  template <typename T>
  void operator()(std::string_view name, std::optional<T>& field) {
    if (object_.contains(name)) (*this)(name, field.emplace());
  }
  void operator()(std::string_view name, std::vector<StepResult>& steps) {
    const SortedJson& list = member(object_, name, place_);
    const Place place{&place_, name};
    if (!list.is_array()) refuse(place, "is not a list");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Place of_step{&place, {}, i};
      visit_fields(steps.emplace_back(), ListReader(list[i], of_step));
    }
  }
  template <typename T>
  void operator()(std::string_view name, T& field, const T& omitted) {
    field = omitted;
    if (object_.contains(name)) (*this)(name, field);
  }

 private:
  const SortedJson& object_;
  const Place& place_;
};

}  // namespace gputopo::recorded
