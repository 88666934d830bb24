#ifndef ADDONS_CLI_AUDIT_H_
#define ADDONS_CLI_AUDIT_H_

#include <string>
#include <vector>

#include "rbdaddons/admin.pb.h"

namespace addons {

/// What can be looked at, as the command line calls it, and all of it.
inline constexpr char kAuditAll[] = "all";
std::vector<std::string> AuditKinds();

/// `kind` is one of AuditKinds().
void SetAuditKind(const std::string& kind,
                  ::rbdaddons::admin::v1::AuditPoolRequest* request);

/// What was found, a paragraph for each, or a line that nothing was.
std::string AuditText(const ::rbdaddons::admin::v1::AuditPoolRequest& request,
                      const ::rbdaddons::admin::v1::AuditPoolResponse& found);

}  // namespace addons

#endif  // ADDONS_CLI_AUDIT_H_
