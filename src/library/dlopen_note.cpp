// The libraries that are opened at run time, for packaging tools: the ELF note of the UAPI Group's "Package Metadata
// for dlopen". All are optional: saved reports and simulated devices need none.
#include <cstdint>

namespace {

#define GPUTOPO_NOTE                                                                                       \
  R"([{"feature":"cuda","description":"NVIDIA GPUs","priority":"suggested","soname":["libcuda.so.1"]},)"   \
  R"({"feature":"nvml","description":"clocks and other processes of NVIDIA GPUs","priority":"suggested",)" \
  R"("soname":["libnvidia-ml.so.1"]},)"                                                                    \
  R"({"feature":"hip","description":"AMD GPUs","priority":"suggested",)"                                   \
  R"("soname":["libamdhip64.so.7","libamdhip64.so.6","libamdhip64.so.5","libamdhip64.so"]},)"              \
  R"({"feature":"hiprtc","description":"the compiler for AMD GPUs","priority":"suggested",)"               \
  R"("soname":["libhiprtc.so.7","libhiprtc.so.6","libhiprtc.so.5"]}])"

constexpr char kVendor[] = "FDO";
constexpr std::uint32_t kType = 0x407c0c0a;

// The layout of ELF notes: three sizes, a name, a text, each aligned to four bytes.
struct Note {
  std::uint32_t name_bytes;
  std::uint32_t text_bytes;
  std::uint32_t type;
  char name[sizeof(kVendor)];
  alignas(std::uint32_t) char text[sizeof(GPUTOPO_NOTE)];
};
static_assert(sizeof(kVendor) % alignof(std::uint32_t) == 0);

[[gnu::used, gnu::section(".note.dlopen"), gnu::aligned(4)]] const Note kNote = {sizeof(kVendor), sizeof(GPUTOPO_NOTE),
                                                                                 kType, "FDO", GPUTOPO_NOTE};

}  // namespace
