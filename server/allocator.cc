#include "server/allocator.h"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace addons {

void ShareHeaps() {
#ifdef __GLIBC__
  constexpr int kHeaps = 4;
  // Somebody may want to find out about other numbers.
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, kHeaps);
#endif
}

void ReturnFreeMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace addons
