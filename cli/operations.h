#ifndef ADDONS_CLI_OPERATIONS_H_
#define ADDONS_CLI_OPERATIONS_H_

#include <string>

#include "rbdaddons/admin.pb.h"

namespace addons {

/// The operations as a table for people, then the use of each lane in a line.
/// What they are about is called by its name where that is known; with `wide`
/// by its id, too.
std::string OperationsText(
    const ::rbdaddons::admin::v1::ListOperationsResponse& list,
    bool wide = false);

/// "promote of volume 'x'", on one line, with a name where that is known.
std::string OperationText(const ::rbdaddons::admin::v1::Operation& operation);

/// What a cancel has done, as a line for people.
std::string CancelText(
    const ::rbdaddons::admin::v1::CancelOperationResponse& cancelled);

}  // namespace addons

#endif  // ADDONS_CLI_OPERATIONS_H_
