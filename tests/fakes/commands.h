#ifndef ADDONS_TESTS_FAKES_COMMANDS_H_
#define ADDONS_TESTS_FAKES_COMMANDS_H_

#include <string>

#include "tests/fakes/model.h"

namespace addons::model {

/// What rados_mon_command and rados_mgr_command give back.
struct CommandResult {
  int result = 0;
  std::string output;
  std::string status;
  SteadyDuration cost{};  // until it is committed
};

/// The commands of blocklist_commands.h; everything else is -EINVAL.
CommandResult RunMonCommand(Model& model, Site& site, const std::string& json);

/// `rbd mirror snapshot schedule add|remove|list`, `rbd task add flatten` and
/// `rbd task list`, as the module rbd_support answers them.
CommandResult RunMgrCommand(Model& model, Site& site, const std::string& json);

/// Drops the schedules of images that are not mirrored any more, as the module
/// does once a minute.
void RefreshSchedules(Site& site);

}  // namespace addons::model

#endif  // ADDONS_TESTS_FAKES_COMMANDS_H_
