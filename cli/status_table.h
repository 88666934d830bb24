#ifndef ADDONS_CLI_STATUS_TABLE_H_
#define ADDONS_CLI_STATUS_TABLE_H_

#include <string>

#include "cli/palette.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// How StatusText() shows what it shows.
struct StatusForm {
  bool wide = false;          // ids, places, and why a volume is not in step
  std::string text = {};      // what the volumes were searched for
  bool trouble_only = false;  // others were left out
};

/// `rbd-addons status` for people: a line for each pool, what is to be said of
/// pools, a line for each volume in the order of `seen`, and the numbers.
std::string StatusText(const ::rbdaddons::admin::v1::ListStatusResponse& seen,
                       const StatusForm& form = {},
                       const Palette& palette = {});

}  // namespace addons

#endif  // ADDONS_CLI_STATUS_TABLE_H_
