#ifndef ADDONS_OPERATION_GROWING_KEYS_H_
#define ADDONS_OPERATION_GROWING_KEYS_H_

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "operation/operation_table.h"
#include "operation/run_operation.h"

namespace addons {

// Which objects an operation concerns may stand in what it reads: the members
// of a group are known only once the group was read, and may have changed when
// it holds their keys.

/// Keys of the operation table.
using KeySet = std::set<decltype(OperationSpec::keys)::value_type>;

/// What work with such keys comes to: its result, or, when it found that it
/// needs others than it holds, all keys that it needs; then it has done
/// nothing.
template <typename Result>
using ResultOrKeys = std::variant<Result, KeySet>;

/// `held` and `needed` together when some of `needed` are not held; otherwise
/// nullopt.
std::optional<KeySet> KeysToAdd(const KeySet& held, const KeySet& needed);

/// ABORTED: each time the work had its keys it needed others.
absl::Status KeysChangeTooOften(const OperationSpec& spec);

/// Each time, somebody has changed what the operation is about in between.
inline constexpr int kKeyAttempts = 5;

/// RunOperation() with the keys of `spec`, and again, in their place, with
/// those that `work` asks for. ABORTED: they change faster than they can be
/// taken.
template <typename Result>
Later<absl::StatusOr<Result>> RunWithGrowingKeys(
    OperationTable& table, OperationSpec spec, const Caller& caller,
    const std::function<absl::StatusOr<ResultOrKeys<Result>>(
        OperationContext&, const KeySet& held)>& work,
    int attempts = kKeyAttempts) {
  const KeySet held(spec.keys.begin(), spec.keys.end());
  return RunOperation<ResultOrKeys<Result>>(
             table, spec, caller,
             [work, held](OperationContext& context) {
               return work(context, held);
             })
      .Then([&table, spec, caller, work,
             attempts](absl::StatusOr<ResultOrKeys<Result>> outcome) mutable
            -> Later<absl::StatusOr<Result>> {
        ADDONS_RETURN_IF_ERROR(outcome.status());
        if (auto* const result = std::get_if<Result>(&*outcome)) {
          return std::move(*result);
        }
        if (attempts <= 1) return KeysChangeTooOften(spec);
        const KeySet& keys = std::get<KeySet>(*outcome);
        spec.keys.assign(keys.begin(), keys.end());
        return RunWithGrowingKeys<Result>(table, std::move(spec), caller, work,
                                          attempts - 1);
      });
}

}  // namespace addons

#endif  // ADDONS_OPERATION_GROWING_KEYS_H_
