// A neighbor for tests on a GPU: keeps the GPU busy, or its memory allocated, until it gets a signal. It is independent
// of gputopo and needs only the NVIDIA driver.
//   gpu_hog stream [BLOCKS]   reads memory without pause, with this number of blocks (default: four per SM)
//   gpu_hog burst MS          reads for MS milliseconds, sleeps as long, and repeats
//   gpu_hog hold GIB          allocates all memory except GIB, and leaves the GPU idle
// Prints "ready" once it is at work. SIGTERM ends it. Exit code 77: there is no GPU.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr int kNoGpu = 77;
constexpr std::uint64_t kStreamBytes = 1ull << 30;
constexpr std::uint32_t kPasses = 60;  // over the whole buffer: tens of milliseconds per launch on all SMs

volatile std::sig_atomic_t g_ended = 0;

// Each thread reads 16 bytes at a time; neighboring threads of the grid read neighboring bytes.
constexpr char kKernel[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry stream(.param .u64 begin, .param .u64 bytes, .param .u32 passes)
{
  .reg .pred %more;
  .reg .b32 %thread, %threads, %block, %blocks, %passes, %a, %b, %c, %d, %sum;
  .reg .b64 %begin, %bytes, %offset, %step, %address;
  ld.param.u64 %begin, [begin];
  ld.param.u64 %bytes, [bytes];
  ld.param.u32 %passes, [passes];
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %sum, 0;
  mul.lo.u32 %a, %blocks, %threads;
  mul.wide.u32 %step, %a, 16;
PASS:
  mad.lo.u32 %b, %block, %threads, %thread;
  mul.wide.u32 %offset, %b, 16;
NEXT:
  add.u64 %address, %begin, %offset;
  ld.global.cg.v4.u32 {%a, %b, %c, %d}, [%address];
  add.u32 %sum, %sum, %a;
  add.u32 %sum, %sum, %d;
  add.u64 %offset, %offset, %step;
  setp.lt.u64 %more, %offset, %bytes;
  @%more bra NEXT;
  sub.u32 %passes, %passes, 1;
  setp.ne.u32 %more, %passes, 0;
  @%more bra PASS;
  setp.ne.u32 %more, %sum, 0x12345678;
  @%more bra END;
  st.global.u32 [%begin], %sum;
END:
  ret;
}
)";

struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

  // Calls a function of the library, and exits if it fails.
  template <typename... Args>
  void call(const char* name, Args... args) const {
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    const int status = function == nullptr ? -1 : function(args...);
    if (status == 0) return;
    std::fprintf(stderr, "gpu_hog: %s: %d\n", name, status);
    std::exit(1);
  }
};

class Hog {
 public:
  Hog() {
    int device = 0;
    void* context = nullptr;
    driver_.call("cuInit", 0u);
    driver_.call("cuDeviceGet", &device, 0);
    driver_.call("cuDeviceGetAttribute", &sms_, 16, device);  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    driver_.call("cuDevicePrimaryCtxRetain", &context, device);
    driver_.call("cuCtxSetCurrent", context);
  }

  [[nodiscard]] int sms() const { return sms_; }

  void take(std::uint64_t bytes) {
    driver_.call("cuMemAlloc_v2", &begin_, static_cast<std::size_t>(bytes));
    driver_.call("cuMemsetD8_v2", begin_, static_cast<unsigned char>(0), static_cast<std::size_t>(bytes));
  }

  [[nodiscard]] std::uint64_t free_bytes() const {
    std::size_t free = 0;
    std::size_t total = 0;
    driver_.call("cuMemGetInfo_v2", &free, &total);
    return free;
  }

  void load() {
    void* module = nullptr;
    driver_.call("cuModuleLoadData", &module, static_cast<const void*>(kKernel));
    driver_.call("cuModuleGetFunction", &stream_, module, "stream");
    take(kStreamBytes);
  }

  void stream(unsigned blocks, std::uint32_t passes) {
    std::uint64_t bytes = kStreamBytes;
    void* parameters[] = {&begin_, &bytes, &passes};
    driver_.call("cuLaunchKernel", stream_, blocks, 1u, 1u, 512u, 1u, 1u, 0u, static_cast<void*>(nullptr),
                 static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }
  void wait() const { driver_.call("cuCtxSynchronize"); }

 private:
  Driver driver_;
  int sms_ = 0;
  void* stream_ = nullptr;
  std::uint64_t begin_ = 0;
};

void say_ready() {
  std::puts("ready");
  std::fflush(stdout);
}

void run_stream(Hog& hog, unsigned blocks) {
  hog.load();
  say_ready();
  // A few blocks need long for a single pass.
  const auto passes = static_cast<std::uint32_t>(blocks < 32 ? 1 : kPasses);
  constexpr int kAhead = 4;  // queued launches, so the GPU is hardly ever idle
  while (g_ended == 0) {
    for (int i = 0; i < kAhead; ++i) hog.stream(blocks, passes);
    hog.wait();
  }
}

void run_bursts(Hog& hog, std::chrono::milliseconds length) {
  hog.load();
  say_ready();
  const auto blocks = static_cast<unsigned>(4 * hog.sms());
  while (g_ended == 0) {
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
      hog.stream(blocks, kPasses / 10);
      hog.wait();
    }
    std::this_thread::sleep_for(length);
  }
}

void hold(Hog& hog, double gib) {
  const auto left = static_cast<std::uint64_t>(gib * (1ull << 30));
  const std::uint64_t free = hog.free_bytes();
  if (free > left) hog.take(free - left);
  say_ready();
  while (g_ended == 0) pause();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { g_ended = 1; });
  std::signal(SIGINT, [](int) { g_ended = 1; });
  const std::string mode = argc > 1 ? argv[1] : "";
  const double number = argc > 2 ? std::atof(argv[2]) : 0;
  if (mode != "stream" && mode != "burst" && mode != "hold") {
    std::fputs("usage: gpu_hog stream [BLOCKS] | burst MS | hold GIB\n", stderr);
    return 2;
  }
  if (Driver().library == nullptr) return kNoGpu;
  Hog hog;
  if (mode == "stream")
    run_stream(hog, number > 0 ? static_cast<unsigned>(number) : 4u * static_cast<unsigned>(hog.sms()));
  if (mode == "burst") run_bursts(hog, std::chrono::milliseconds(static_cast<int>(number)));
  if (mode == "hold") hold(hog, number);
  return 0;
}
