// The structs of kernel_layout.h by name, so that the text of a kernel can refer to their fields.
#pragma once

#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <cstddef>
#include <span>
#include <string_view>

namespace gputopo::launch {

// A field ("BlockRecord.sm") or a whole struct ("BlockRecord").
struct KernelField {
  std::string_view name;
  std::size_t offset;
  std::size_t bytes;
};

// KernelField entries of a struct: the struct itself and the fields that kernels use.
#define GPUTOPO_KERNEL_FIELD(unused, type, field) \
  , { #type "." BOOST_PP_STRINGIZE(field), offsetof(type, field), sizeof(type::field) }
#define GPUTOPO_KERNEL_STRUCT(type, ...) \
  {#type, 0, sizeof(type)} BOOST_PP_SEQ_FOR_EACH(GPUTOPO_KERNEL_FIELD, type, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))

// Finds an entry in a vendor's `own` structs or in those that all vendors share. Throws Error if there is none.
[[nodiscard]] const KernelField& kernel_field(std::string_view name, std::span<const KernelField> own = {});

}  // namespace gputopo::launch
