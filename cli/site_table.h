#ifndef ADDONS_CLI_SITE_TABLE_H_
#define ADDONS_CLI_SITE_TABLE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/palette.h"
#include "cli/site_plan.h"
#include "cli/site_run.h"

namespace addons {

/// What became of one volume or group.
struct SiteRow {
  SiteItem item;
  std::string role;  // here now, as far as was seen
  SiteProgress progress;
};

/// "done", "waits", "refused", "left alone" or "not begun".
const char* ResultOf(const SiteRow& row);

/// All is as asked.
bool IsDone(const SiteRow& row);

/// Done, waiting and failed, and what most wait for, whole, in one line without
/// end.
std::string ProgressLine(const std::vector<SiteProgress>& items);

/// One line for each, trouble first, and the numbers; with `wide` ids beside
/// names, and all rows: see SelectRows() for many of one reason.
std::string SiteTable(std::vector<SiteRow> rows, const Palette& palette = {},
                      bool wide = false);

/// The same for programs.
nlohmann::ordered_json SiteJson(std::vector<SiteRow> rows,
                                const std::vector<std::string>& unseen);

}  // namespace addons

#endif  // ADDONS_CLI_SITE_TABLE_H_
