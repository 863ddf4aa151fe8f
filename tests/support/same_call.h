// Checks that a function declared here is called as the vendor's header declares it.
#pragma once

#include <type_traits>

namespace gputopo::test {

// Whether both types are the same to the calling convention: both pointers, or of the same size and kind.
template <typename Ours, typename Theirs>
constexpr bool interchangeable() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  } else {
    return sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct SameCall<OurResult(Ours...), TheirResult(Theirs...)>
    : std::bool_constant<interchangeable<OurResult, TheirResult>() && (interchangeable<Ours, Theirs>() && ...)> {
};

}  // namespace gputopo::test
