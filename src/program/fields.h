// Each struct of a program or result lists its fields once, in a function visit_fields(object, visit) (chase_fields.h,
// stream_fields.h, ...). Text, parsing and recordings all come from these lists.
//
// For every field, in the order of the text, the function calls visit(name, field), or visit(name, field, omitted) if
// the text leaves the field out while it has the value `omitted`. The text also leaves out an optional that is not set.
// Each field of a program is one word of the text, name=value. An item of a list (an array, an actor, a step) is one
// word of its scalar fields, the omissible ones last; its lists and tuples are words of their own behind it.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "gputopo/space.h"

namespace gputopo {

// Struct or const Struct, because visit_fields() both reads an object and fills one in.
template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

// A list of mostly zeros. Recordings keep only its other items.
template <typename List>
struct Sparse {
  List& list;
};
template <typename List>
Sparse(List&) -> Sparse<List>;

// Names of an enumeration's values, in order. One table serves both directions.
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
