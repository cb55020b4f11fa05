//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions newer than glibc 2.34 that the linked archives call. Linked into
// the self-contained executable, they keep it running where glibc has none of
// them: libgcc's unwinder wants _dl_find_object (2.35), LLVM and libstdc++ want
// arc4random (2.36), MLIR wants the hypot of 2.35, which differs from the older
// one only in how it reports errors. All follow glibc's documented interface.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <link.h>
#include <sys/random.h>

#define NORM_HIDDEN __attribute__((visibility("hidden")))

#if __GLIBC_PREREQ(2, 36)
extern "C" NORM_HIDDEN uint32_t arc4random() noexcept {
  uint32_t value = 0;
  auto *bytes = reinterpret_cast<unsigned char *>(&value);
  for (size_t filled = 0; filled < sizeof(value);) {
    // Fewer bytes than asked for, or an interrupted call, is no failure.
    ssize_t got = getrandom(bytes + filled, sizeof(value) - filled, 0);
    if (got > 0)
      filled += static_cast<size_t>(got);
  }
  return value;
}
#endif

#if __GLIBC_PREREQ(2, 35)
__asm__(".symver olderHypot, hypot@GLIBC_2.2.5");
extern "C" double olderHypot(double x, double y) noexcept;
extern "C" NORM_HIDDEN double hypot(double x, double y) noexcept {
  return olderHypot(x, y);
}

namespace {
struct Search {
  uintptr_t address;
  dl_find_object *result;
};
} // namespace

// Fills the result and ends the iteration at the object with the address.
static int matchObject(dl_phdr_info *info, size_t, void *data) {
  auto *search = static_cast<Search *>(data);
  bool contains = false;
  uintptr_t begin = UINTPTR_MAX, end = 0, unwindTable = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME)
      unwindTable = start;
    if (segment.p_type != PT_LOAD)
      continue;
    uintptr_t stop = start + segment.p_memsz;
    begin = start < begin ? start : begin;
    end = stop > end ? stop : end;
    contains |= search->address >= start && search->address < stop;
  }
  if (!contains || !unwindTable)
    return 0;
  *search->result = {};
  search->result->dlfo_map_start = reinterpret_cast<void *>(begin);
  search->result->dlfo_map_end = reinterpret_cast<void *>(end);
  search->result->dlfo_eh_frame = reinterpret_cast<void *>(unwindTable);
  return 1;
}

extern "C" NORM_HIDDEN int _dl_find_object(void *address,
                                           dl_find_object *result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(matchObject, &search) ? 0 : -1;
}
#endif
