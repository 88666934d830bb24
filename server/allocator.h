#ifndef ADDONS_SERVER_ALLOCATOR_H_
#define ADDONS_SERVER_ALLOCATOR_H_

namespace addons {

// The daemon has few threads most of the time and some hundred in a storm of
// calls. glibc gives threads heaps of their own, up to eight for each
// processor, and keeps in each what was needed once.

/// All threads share a few heaps. Before the first thread; does nothing where
/// the C library is not glibc. mallopt(M_ARENA_MAX)
void ShareHeaps();

/// Gives memory that is free back to the system; takes some milliseconds, in
/// which threads may wait for memory. Thread-safe. malloc_trim
void ReturnFreeMemory();

}  // namespace addons

#endif  // ADDONS_SERVER_ALLOCATOR_H_
