// A kernel that does nothing, with so many bytes of arguments.
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

std::string generate_empty_ptx(const PtxTarget& target, std::uint32_t argument_bytes) {
  PtxText text;
  text.raw(module_header(target));
  kernel_line(text, kEmptyKernel, argument_bytes);
  text.line("{{");
  text.line("ret;");
  text.line("}}");
  return text.take();
}

}  // namespace gputopo::cuda
