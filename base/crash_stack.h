#ifndef ADDONS_BASE_CRASH_STACK_H_
#define ADDONS_BASE_CRASH_STACK_H_

namespace addons {

/// Gives the calling thread a stack of its own for handlers of signals, until
/// it ends: one whose own stack is full could not say so otherwise. Does
/// nothing where the system has no memory for it, or where there is one.
void UseCrashStack();

}  // namespace addons

#endif  // ADDONS_BASE_CRASH_STACK_H_
