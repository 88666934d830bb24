#ifndef ADDONS_SERVER_PAGE_DOCUMENTS_H_
#define ADDONS_SERVER_PAGE_DOCUMENTS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace addons {

/// Where alerts are explained, as their runbook_url has it.
inline constexpr char kAlertsDocument[] = "docs/alerts.md";

/// A page of the documentation for those who are called at night.
struct Document {
  absl::string_view path;  // in the source: "docs/runbooks/split-brain.md"
  absl::string_view text;
};

/// The runbooks and the page about alerts, as they were when the daemon was
/// built. Does not block; for any thread.
const std::vector<Document>& Documents();

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_DOCUMENTS_H_
