#include "operation/table/kept_results.h"

#include <utility>

namespace addons {

bool IsSameWork(const OperationSpec& a, const OperationSpec& b) {
  return a.verb == b.verb && a.parameters == b.parameters && a.keys == b.keys;
}

void KeptResults::Keep(const OperationSpec& spec, std::any value,
                       SteadyTime now) {
  DropExpired(now);
  if (spec.keys.empty() || capacity_ == 0) return;
  for (const std::string& key : spec.keys) {
    const auto it = by_key_.find(key);
    if (it != by_key_.end()) Erase(it->second);
  }
  if (entries_.size() >= capacity_) Erase(entries_.begin());
  const auto added =
      entries_.insert(entries_.end(), Entry{spec, std::move(value), now});
  for (const std::string& key : spec.keys) by_key_[key] = added;
}

const std::any* KeptResults::Find(const OperationSpec& spec, SteadyTime now) {
  DropExpired(now);
  if (spec.keys.empty()) return nullptr;
  const auto it = by_key_.find(spec.keys.front());
  if (it == by_key_.end() || !IsSameWork(it->second->spec, spec)) {
    return nullptr;
  }
  return &it->second->value;
}

void KeptResults::DropOthers(const OperationSpec& spec) {
  for (const std::string& key : spec.keys) {
    const auto it = by_key_.find(key);
    if (it != by_key_.end() && !IsSameWork(it->second->spec, spec)) {
      Erase(it->second);
    }
  }
}

void KeptResults::Erase(Entries::iterator entry) {
  for (const std::string& key : entry->spec.keys) by_key_.erase(key);
  entries_.erase(entry);
}

void KeptResults::DropExpired(SteadyTime now) {
  while (!entries_.empty() && now - entries_.front().kept_at >= max_age_) {
    Erase(entries_.begin());
  }
}

}  // namespace addons
