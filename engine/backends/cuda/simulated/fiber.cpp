#include "engine/backends/cuda/simulated/fiber.h"

#include <sys/mman.h>

#include <utility>

#include "engine/backends/cuda/simulated/races.h"
#include "engine/core/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#error "simulated GPU: switching stacks is written for x86-64"
#endif

// Keeps the registers that a call must preserve on the old stack, takes them from the new one.
extern "C" void skep_switch_stack(void** save, void* load);
asm(R"(
.text
.globl skep_switch_stack
.type skep_switch_stack,@function
skep_switch_stack:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  ret
.size skep_switch_stack,.-skep_switch_stack
)");

namespace skep::simulated {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;  // AddressSanitizer's frames are large
constexpr int saved_registers = 6;

thread_local Fiber* starting = nullptr;

}  // namespace

Fiber::Fiber(std::function<void(Fiber&)> work) : work_(std::move(work)) {
  void* memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "simulated GPU: no memory for a stack");
  stack_ = static_cast<std::byte*>(memory);
#ifdef __SANITIZE_ADDRESS__
  // A fiber that was left for good may have lain here, its frames still marked.
  __asan_unpoison_memory_region(stack_, stack_bytes);
#endif
  // As if begin() had been left just before its first instruction; below it the return address that
  // the ABI's alignment wants, and that nobody uses.
  auto** top = reinterpret_cast<void**>(stack_ + stack_bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::begin);
  for (int i = 0; i < saved_registers; ++i) *--top = nullptr;
  inside_ = top;
  thread_ = races::make_thread();
}

Fiber::~Fiber() {
  races::end_thread(thread_);
  munmap(stack_, stack_bytes);
}

void Fiber::resume() {
  starting = this;
#ifdef __SANITIZE_ADDRESS__
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_, stack_bytes);
#endif
  resumer_ = races::this_thread();
  races::go_on_as(thread_);
  skep_switch_stack(&outside_, inside_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&fake_stack_, outside_bottom_, outside_size_);
#endif
  races::go_on_as(resumer_);
  skep_switch_stack(&inside_, outside_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack_, &outside_bottom_, &outside_size_);
#endif
}

void Fiber::begin() {
  Fiber& self = *starting;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &self.outside_bottom_, &self.outside_size_);
#endif
  while (true) {
    self.work_(self);
    self.suspend();
  }
}

}  // namespace skep::simulated
