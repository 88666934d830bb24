#include "cli/audit.h"

#include "absl/strings/str_cat.h"
#include "cli/streams.h"
#include "rpc/text.h"

namespace addons {

std::string AuditText(
    const ::rbdaddons::admin::v1::ListMirroredClonesResponse& found) {
  if (found.clones().empty()) {
    return "no mirrored clones: the copies of this pool are whole, as far as "
           "their parents go\n";
  }
  std::string text;
  for (const auto& clone : found.clones()) {
    absl::StrAppend(&text, CleanLine(clone.image(), kMaxShownName), ": ",
                    CleanLine(clone.text(), kMaxShownText), "\n");
  }
  absl::StrAppend(&text, found.clones_size(),
                  found.clones_size() == 1 ? " image" : " images",
                  found.more() ? ", and there are more: repair these, then ask "
                                 "again\n"
                               : "\n");
  return text;
}

}  // namespace addons
