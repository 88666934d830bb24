#ifndef ADDONS_TESTS_FAKES_BLOCKLIST_COMMANDS_H_
#define ADDONS_TESTS_FAKES_BLOCKLIST_COMMANDS_H_

#include "nlohmann/json.hpp"
#include "tests/fakes/commands.h"
#include "tests/fakes/model.h"

namespace addons::model {

/// `osd blocklist`, `osd blocklist ls`, and what a fence looks at: `osd dump`,
/// `quorum_status`, `mgr dump`. As the monitor, it keeps host bits, answers 0
/// to the removal of what is not there, leaves the expiry of an entry that is
/// added again as it was, and forgets expired ones only when it looks again.
CommandResult RunBlocklistCommand(Model& model, Site& site,
                                  const nlohmann::json& command);

}  // namespace addons::model

#endif  // ADDONS_TESTS_FAKES_BLOCKLIST_COMMANDS_H_
