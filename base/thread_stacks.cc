// Every thread of the daemon, also those that librados, librbd and gRPC make,
// has a stack for handlers of signals (base/crash_stack.h). What ended daemons
// inside librbd was a full stack, of which nothing else could tell. A program's
// own pthread_create() stands before that of the C library, so this file is
// part of the program, not of a library.

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <memory>
#include <new>

#include "base/crash_stack.h"

// The sanitizers have one of their own, which does this.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

struct Begin {
  void* (*run)(void*);
  void* argument;
};

void* RunWithCrashStack(void* begin) {
  const Begin what = *std::unique_ptr<Begin>(static_cast<Begin*>(begin));
  addons::UseCrashStack();
  return what.run(what.argument);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create =
      int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (create == nullptr) return EAGAIN;
  std::unique_ptr<Begin> begin(new (std::nothrow) Begin{run, argument});
  if (begin == nullptr) return EAGAIN;
  const int result = create(thread, attributes, RunWithCrashStack, begin.get());
  if (result == 0) begin.release();
  return result;
}

#endif
