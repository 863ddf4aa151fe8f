// Whether this build has AddressSanitizer, whose runtime needs time, memory, addresses and signals of its own.
#pragma once

namespace gputopo::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace gputopo::test
