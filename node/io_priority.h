#ifndef ADDONS_NODE_IO_PRIORITY_H_
#define ADDONS_NODE_IO_PRIORITY_H_

namespace addons {

/// Gives the calling thread the I/O priority class "idle" and restores what it
/// had when this dies, on the same thread. Where the kernel refuses, nothing
/// changes. Schedulers without priorities ("none", usual for RBD) ignore it.
/// ioprio_get(2), ioprio_set(2)
class IdleIoPriority {
 public:
  IdleIoPriority();
  ~IdleIoPriority();
  IdleIoPriority(const IdleIoPriority&) = delete;
  IdleIoPriority& operator=(const IdleIoPriority&) = delete;

 private:
  int before_;  // -1: leave it
};

}  // namespace addons

#endif  // ADDONS_NODE_IO_PRIORITY_H_
