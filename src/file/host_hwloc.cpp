#include "file/host_hwloc.h"

#include <dlfcn.h>

namespace gputopo {
namespace {

// The part of hwloc.h (versions 2.x) that is used here.
using HwlocTopology = struct HwlocTopologyOpaque*;
struct Hwloc {
  int (*init)(HwlocTopology*) = nullptr;
  int (*load)(HwlocTopology) = nullptr;
  int (*export_xmlbuffer)(HwlocTopology, char**, int*, unsigned long) = nullptr;
  void (*free_xmlbuffer)(HwlocTopology, char*) = nullptr;
  void (*destroy)(HwlocTopology) = nullptr;
};

template <typename Function>
bool find_in(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// Never unloaded, because its plugins would not survive that.
bool open_hwloc(Hwloc& hwloc) {
  void* const library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && find_in(library, "hwloc_topology_init", hwloc.init) &&
         find_in(library, "hwloc_topology_load", hwloc.load) &&
         find_in(library, "hwloc_topology_export_xmlbuffer", hwloc.export_xmlbuffer) &&
         find_in(library, "hwloc_free_xmlbuffer", hwloc.free_xmlbuffer) &&
         find_in(library, "hwloc_topology_destroy", hwloc.destroy);
}

}  // namespace

std::string host_hwloc_xml() {
  Hwloc hwloc;
  HwlocTopology topology = nullptr;
  if (!open_hwloc(hwloc) || hwloc.init(&topology) != 0) return {};
  std::string xml;
  char* text = nullptr;
  int bytes = 0;
  if (hwloc.load(topology) == 0 && hwloc.export_xmlbuffer(topology, &text, &bytes, 0) == 0 && text != nullptr) {
    xml = text;
    hwloc.free_xmlbuffer(topology, text);
  }
  hwloc.destroy(topology);
  return xml;
}

}  // namespace gputopo
