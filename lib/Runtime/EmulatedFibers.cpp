//===- EmulatedFibers.cpp - The threads of a CTA as fibers ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of Boost.Context only the two functions that make and switch contexts are
// used: its classes unwind a fiber by an exception when they are destroyed.
//
//===----------------------------------------------------------------------===//

#include "EmulatedFibers.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>
#include <unistd.h>

#if LLVM_ADDRESS_SANITIZER_BUILD
// As in sanitizer/common_interface_defs.h, which isn't installed everywhere.
extern "C" {
void __sanitizer_start_switch_fiber(void **fakeStack, const void *bottom,
                                    size_t bytes);
void __sanitizer_finish_switch_fiber(void *fakeStack, const void **bottom,
                                     size_t *bytes);
}
#endif

using namespace norm::emulated;
namespace context = boost::context::detail;

// The address sanitizer has to know whose stack is in use.
static void startSwitch([[maybe_unused]] void **fakeStack,
                        [[maybe_unused]] const void *bottom,
                        [[maybe_unused]] size_t bytes) {
#if LLVM_ADDRESS_SANITIZER_BUILD
  __sanitizer_start_switch_fiber(fakeStack, bottom, bytes);
#endif
}

static void finishSwitch([[maybe_unused]] void *fakeStack,
                         [[maybe_unused]] const void **bottom,
                         [[maybe_unused]] size_t *bytes) {
#if LLVM_ADDRESS_SANITIZER_BUILD
  __sanitizer_finish_switch_fiber(fakeStack, bottom, bytes);
#endif
}

static size_t pageBytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

llvm::Expected<std::unique_ptr<Fibers>> Fibers::create(unsigned count) {
  size_t bytes = size_t(count) * (kStackBytes + pageBytes());
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return llvm::createStringError("expects " + llvm::Twine(bytes) +
                                   " bytes for stacks but got none");
  std::unique_ptr<Fibers> made(new Fibers(static_cast<char *>(memory), count));
  for (unsigned i = 0; i < count; ++i)
    if (mprotect(made->stack(i) - pageBytes(), pageBytes(), PROT_NONE) != 0)
      return llvm::createStringError("expects protected pages between " +
                                     llvm::Twine(count) +
                                     " stacks but the system refuses them");
  return made;
}

Fibers::~Fibers() {
  munmap(memory, fibers.size() * (kStackBytes + pageBytes()));
}

char *Fibers::stack(unsigned fiber) const {
  return memory + size_t(fiber) * (kStackBytes + pageBytes()) + pageBytes();
}

/// What the assembly calls on a new stack.
struct Fibers::Entry {
  static void run(context::transfer_t from) {
    enter(from.fctx, static_cast<Fibers *>(from.data));
  }
};

void Fibers::enter(void *caller, Fibers *self) {
  finishSwitch(nullptr, &self->callerStack, &self->callerStackBytes);
  self->caller = caller;
  self->body(self->current);
  self->fibers[self->current].done = true;
  self->leave(/*forever=*/true);
  llvm_unreachable("a fiber that is done was resumed");
}

void Fibers::start(unsigned number, llvm::function_ref<void(unsigned)> next) {
  body = next;
  for (unsigned i = 0; i < number; ++i)
    fibers[i] = {context::make_fcontext(stack(i) + kStackBytes, kStackBytes,
                                        &Entry::run),
                 nullptr, false};
}

bool Fibers::resume(unsigned fiber) {
  current = fiber;
  void *fakeStack = nullptr;
  startSwitch(&fakeStack, stack(fiber), kStackBytes);
  context::transfer_t from =
      context::jump_fcontext(fibers[fiber].context, this);
  finishSwitch(fakeStack, nullptr, nullptr);
  fibers[fiber].context = from.fctx;
  return fibers[fiber].done;
}

void Fibers::leave(bool forever) {
  Fiber &fiber = fibers[current];
  startSwitch(forever ? nullptr : &fiber.fakeStack, callerStack,
              callerStackBytes);
  context::transfer_t from = context::jump_fcontext(caller, nullptr);
  finishSwitch(fiber.fakeStack, &callerStack, &callerStackBytes);
  caller = from.fctx;
}
