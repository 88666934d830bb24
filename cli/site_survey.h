#ifndef ADDONS_CLI_SITE_SURVEY_H_
#define ADDONS_CLI_SITE_SURVEY_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/site_calls.h"
#include "cli/site_plan.h"

namespace addons {

/// What is looked at.
struct SurveyScope {
  std::vector<std::string> pools;
  std::string cluster;          // may be empty
  bool without_groups = false;  // each volume is taken by itself
  std::map<std::string, std::string> parameters;
};

/// Asks one daemon about the pools, and about the volume groups with members
/// in them, within `timeout`. Only reads. A pool that cannot be looked at is an
/// error, so that no part of a site is forgotten.
absl::StatusOr<SiteSurvey> LookAtSite(const SiteDaemon& daemon,
                                      const SurveyScope& scope,
                                      std::chrono::milliseconds timeout);

}  // namespace addons

#endif  // ADDONS_CLI_SITE_SURVEY_H_
