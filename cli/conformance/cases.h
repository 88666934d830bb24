#ifndef ADDONS_CLI_CONFORMANCE_CASES_H_
#define ADDONS_CLI_CONFORMANCE_CASES_H_

#include "cli/conformance/case.h"

namespace addons {

/// Who the server is and what it says that it can do.
Cases IdentityCases();
/// What every call promises about requests that are wrong, too large, or about
/// objects that are not there.
Cases RequestCases();
/// What every call promises to several callers, and to those who leave.
Cases CallerCases();
/// A volume that is enabled, promoted, demoted and disabled.
Cases ReplicationCases();
/// A range that is fenced and unfenced.
Cases FenceCases();
/// A group that is made, changed and deleted.
Cases GroupCases();
/// Space of a volume that is reclaimed.
Cases ReclaimCases();

}  // namespace addons

#endif  // ADDONS_CLI_CONFORMANCE_CASES_H_
