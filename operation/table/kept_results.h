#ifndef ADDONS_OPERATION_TABLE_KEPT_RESULTS_H_
#define ADDONS_OPERATION_TABLE_KEPT_RESULTS_H_

#include <any>
#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "operation/operation_spec.h"

namespace addons {

/// Whether a call with `a` may join or get the result of an operation with `b`.
/// The keys of both are sorted.
bool IsSameWork(const OperationSpec& a, const OperationSpec& b);

/// OK results that nobody was there to collect, for the caller's retry. Bounded
/// in number (the oldest goes first) and age. Not thread-safe.
///
/// At most one result is kept per key. An operation drops those of other work
/// on its keys when it begins to change something.
class KeptResults {
 public:
  KeptResults(size_t capacity, SteadyDuration max_age)
      : capacity_(capacity), max_age_(max_age) {}

  /// Replaces whatever is kept for one of the keys. Without keys: keeps
  /// nothing.
  void Keep(const OperationSpec& spec, std::any value, SteadyTime now);
  /// The result of the same work; null when there is none or it is too old.
  /// Valid until the next call that is not const.
  const std::any* Find(const OperationSpec& spec, SteadyTime now);
  /// Forgets everything that shares a key with `spec` but is other work.
  void DropOthers(const OperationSpec& spec);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    OperationSpec spec;
    std::any value;
    SteadyTime kept_at;
  };
  using Entries = std::list<Entry>;  // oldest first

  void Erase(Entries::iterator entry);
  void DropExpired(SteadyTime now);

  const size_t capacity_;
  const SteadyDuration max_age_;
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_key_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_TABLE_KEPT_RESULTS_H_
