#include "device/node/link_driver.h"

namespace gputopo::node {

const char* name_of(LinkKernel kernel) {
  switch (kernel) {
    case LinkKernel::kLoad:
      return "load";
    case LinkKernel::kAtomic:
      return "atomic";
    case LinkKernel::kAtomicOfGpu:
      return "atomic_of_gpu";
    case LinkKernel::kStore:
      break;
  }
  return "store";
}

}  // namespace gputopo::node
