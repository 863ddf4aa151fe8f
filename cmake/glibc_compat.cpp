// Debian 12's static libgcc unwinds through _dl_find_object, which glibc has since 2.35. The binary must run on 2.34
// (RHEL 9) too, so it brings its own, over dl_iterate_phdr: exceptions are rare here, and being slower at them costs
// nothing. Linked only with a static libgcc, and hidden, so that the libraries loaded at run time keep glibc's.
#include <features.h>

// A glibc that has it declares it; an older one comes with a libgcc that does not ask for it.
#if defined(__GLIBC__) && defined(__x86_64__)
#if __GLIBC_PREREQ(2, 35)

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

int visit_object(dl_phdr_info* info, std::size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t eh_frame = 0;
  bool holds_address = false;
  for (const ElfW(Phdr)* header = info->dlpi_phdr; header != info->dlpi_phdr + info->dlpi_phnum; ++header) {
    const std::uintptr_t segment = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) eh_frame = segment;
    if (header->p_type != PT_LOAD) continue;
    begin = segment < begin ? segment : begin;
    end = segment + header->p_memsz > end ? segment + header->p_memsz : end;
    holds_address = holds_address || (search.address >= segment && search.address < segment + header->p_memsz);
  }
  if (!holds_address || eh_frame == 0) return 0;
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.result->dlfo_map_end = reinterpret_cast<void*>(end);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(eh_frame);
  return 1;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(visit_object, &search) == 1 ? 0 : -1;
}

#endif
#endif
