#ifndef ADDONS_CLI_AUDIT_H_
#define ADDONS_CLI_AUDIT_H_

#include <string>

#include "rbdaddons/admin.pb.h"

namespace addons {

/// What was found, a paragraph for each image, or a line that nothing was.
std::string AuditText(
    const ::rbdaddons::admin::v1::ListMirroredClonesResponse& found);

}  // namespace addons

#endif  // ADDONS_CLI_AUDIT_H_
