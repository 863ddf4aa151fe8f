// The functions of fmt, compiled here once: Debian has no static fmt, and with the header-only one every file would
// compile all of them again, which is a third of its time.
#include <fmt/format-inl.h>

namespace fmt {
namespace detail {

// What <fmt/format.h> leaves to one file to instantiate.
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;

}  // namespace detail
}  // namespace fmt
