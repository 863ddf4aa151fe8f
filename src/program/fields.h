// How the fields of programs and of their results are listed: once, in a function visit_fields(object, visit) of each
// struct (chase.h, stream.h, ...). Text, parsing and recordings all come from these lists.
//
// For every field it calls visit(name, field), in the order of the text, or visit(name, field, omitted) where the field
// is left out while it has the value `omitted`; an optional is left out while it is not set. Of a program each field is
// a word of the text, name=value. Of an item of a list (an array, an actor, a step) the single values stand together in
// the item's word, and those that may be left out stand last; lists and tuples are words of their own behind it.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "gputopo/space.h"

namespace gputopo {

// Struct or const Struct: visit_fields() is for reading an object and for filling one in.
template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

// A list of mostly zeros, which a recording keeps by its other items.
template <typename List>
struct Sparse {
  List& list;
};
template <typename List>
Sparse(List&) -> Sparse<List>;

// The names of an enumeration's values in order: one table serves both directions.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kNames{};

template <>
inline constexpr std::array<std::string_view, 8> kNames<Space>{"global",   "global_bypass_l1", "read_only", "texture",
                                                               "constant", "shared",           "scalar",    "local"};

template <typename Enum>
[[nodiscard]] std::string_view name_of(Enum value) {
  return kNames<Enum>.at(static_cast<std::size_t>(value));
}

}  // namespace gputopo
