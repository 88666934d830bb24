#include "tests/orchestrator/resync_evidence.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace addons::testing {
namespace {

using nlohmann::json;

json Parse(const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json() : parsed;
}

json NewestMirrorSnapshot(const json& listing) {
  json newest;
  if (!listing.is_array()) return newest;
  for (const json& snapshot : listing) {
    const json kind = snapshot.value("namespace", json::object());
    if (kind.value("type", "") == "mirror") newest = snapshot;
  }
  return newest;
}

bool Begun(const ResyncEvidence& seen) {
  return seen.absent || seen.requested || seen.copying || seen.syncing ||
         seen.demotion_is_copied;
}

}  // namespace

ResyncEvidence ReadResyncEvidence(const std::string& info,
                                  const std::string& metadata,
                                  const std::string& snapshots,
                                  const std::string& status,
                                  bool other_site_is_primary) {
  ResyncEvidence seen;
  const json image = Parse(info);
  seen.absent = !image.is_object();
  if (seen.absent) return seen;
  seen.image_id = image.value("id", "");
  seen.requested = metadata.find("resync_requested") != std::string::npos;
  const json report = Parse(status);
  const std::string state =
      report.is_object() ? report.value("state", "") : std::string();
  seen.syncing = state.find("syncing") != std::string::npos;
  const json newest = NewestMirrorSnapshot(Parse(snapshots));
  if (!newest.is_object()) {
    // Made a moment ago.
    seen.copying = true;
    return seen;
  }
  seen.newest_id = newest.value("id", int64_t{-1});
  const json kind = newest.value("namespace", json::object());
  const bool is_copy = !kind.value("primary_mirror_uuid", "").empty();
  seen.copying = is_copy && !kind.value("complete", false);
  // After a demotion of this site it only looks what there is.
  seen.syncing |= is_copy && state.find("starting_replay") != std::string::npos;
  seen.demotion_is_copied =
      !is_copy && !other_site_is_primary &&
      kind.value("state", "").find("demoted") != std::string::npos;
  return seen;
}

bool ResyncHasBegun(const ResyncEvidence& before, const ResyncEvidence& after) {
  return Begun(before) || Begun(after) || before.image_id != after.image_id ||
         before.newest_id != after.newest_id;
}

std::string Describe(const ResyncEvidence& seen) {
  return absl::StrCat("image '", seen.image_id, "', absent ", seen.absent,
                      ", requested ", seen.requested, ", newest snapshot ",
                      seen.newest_id, ", copying ", seen.copying, ", syncing ",
                      seen.syncing, ", own demotion ", seen.demotion_is_copied);
}

}  // namespace addons::testing
