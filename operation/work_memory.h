#ifndef ADDONS_OPERATION_WORK_MEMORY_H_
#define ADDONS_OPERATION_WORK_MEMORY_H_

#include <any>
#include <map>
#include <typeindex>
#include <typeinfo>

namespace addons {

/// What work keeps for when it is run again: one value of each type, so that
/// layers of a verb which know nothing of each other have each their own. It
/// may die on any thread. Not thread-safe.
class WorkMemory {
 public:
  /// Made when it is asked for first. Valid until Forget().
  template <typename Value>
  Value& Of() {
    std::any& value = values_[typeid(Value)];
    if (!value.has_value()) value.emplace<Value>();
    return *std::any_cast<Value>(&value);
  }
  template <typename Value>
  void Forget() {
    values_.erase(typeid(Value));
  }

 private:
  std::map<std::type_index, std::any> values_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_WORK_MEMORY_H_
