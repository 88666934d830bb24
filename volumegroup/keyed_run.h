#ifndef ADDONS_VOLUMEGROUP_KEYED_RUN_H_
#define ADDONS_VOLUMEGROUP_KEYED_RUN_H_

#include <functional>

#include "absl/status/statusor.h"
#include "operation/operation_table.h"
#include "volumegroup/environment.h"

namespace addons {

using GroupVerb = std::function<absl::StatusOr<GroupOutcome>(OperationContext&,
                                                             const HeldKeys&)>;

/// Runs `verb` with the keys of `spec`, and again with more for as long as it
/// asks for them. Blocks and answers as OperationTable::Run(). ABORTED: the
/// group changes faster than its keys can be taken.
absl::StatusOr<GroupAnswer> RunWithKeys(OperationTable& operations,
                                        OperationSpec spec,
                                        const Caller& caller,
                                        const GroupVerb& verb);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_KEYED_RUN_H_
