#include "reclaimspace/reclaim_decision.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ceph/mirror_clients.h"

namespace addons {
namespace {

std::string DescribeSnapshots(const std::vector<ImageSnapshot>& snapshots) {
  struct Row {
    SnapshotKind kind = SnapshotKind::kUnknown;
    absl::string_view name;
  };
  constexpr std::array<Row, 5> kRows = {
      {{SnapshotKind::kUser, "user"},
       {SnapshotKind::kGroup, "group"},
       {SnapshotKind::kTrash, "removed but kept for clones"},
       {SnapshotKind::kMirror, "mirroring"},
       {SnapshotKind::kUnknown, "of an unknown kind"}}};
  std::vector<std::string> parts;
  for (const Row& row : kRows) {
    const auto count = std::count_if(snapshots.begin(), snapshots.end(),
                                     [&](const ImageSnapshot& snapshot) {
                                       return snapshot.kind == row.kind;
                                     });
    if (count > 0) parts.push_back(absl::StrCat(count, " ", row.name));
  }
  return absl::StrJoin(parts, ", ");
}

bool AllAreSparsifiers(const ImageFacts& facts) {
  return std::all_of(facts.workloads.begin(), facts.workloads.end(),
                     [&](const Watcher& watcher) {
                       return facts.sparsifiers.contains(watcher.client_id);
                     }) &&
         std::all_of(facts.lockers.begin(), facts.lockers.end(),
                     [&](const Locker& locker) {
                       return facts.sparsifiers.contains(
                           ClientIdOf(locker.client).value_or(0));
                     });
}

std::string DescribeLockers(const std::vector<Locker>& lockers) {
  return absl::StrJoin(lockers, ", ", [](std::string* out, const Locker& l) {
    absl::StrAppend(out, l.client, " at ", l.address);
  });
}

}  // namespace

std::optional<SkipReason> WhySkip(const ImageFacts& facts, WithSnapshots with) {
  if (facts.secondary) {
    return SkipReason{
        ReclaimOutcome::kSecondary,
        "it is the secondary of a mirrored pair, which cannot be written; "
        "what the primary frees stays here until the copy is made anew"};
  }
  if (facts.features.migrating) {
    return SkipReason{
        ReclaimOutcome::kMigrating,
        "it is being migrated; finish that with `rbd migration commit`"};
  }
  if (!facts.data_pool.slow_release.empty()) {
    return SkipReason{
        ReclaimOutcome::kErasureCoded,
        absl::StrCat(
            "its data lies in an erasure-coded pool, and an OSD is of "
            "Ceph ",
            facts.data_pool.slow_release,
            ", which would be busy for seconds with each object of "
            "zeros; it is done when all OSDs are of Ceph 18 or later")};
  }
  const bool only_sparsifiers = AllAreSparsifiers(facts);
  if (!facts.workloads.empty()) {
    return SkipReason{
        only_sparsifiers ? ReclaimOutcome::kOtherDaemon
                         : ReclaimOutcome::kInUse,
        absl::StrCat("it is in use by ", DescribeWatchers(facts.workloads))};
  }
  // Nobody watches it, so it is a locker that is none.
  if (!only_sparsifiers) {
    return SkipReason{
        ReclaimOutcome::kInUse,
        absl::StrCat("it is locked by ", DescribeLockers(facts.lockers),
                     " (the lock of a client that died stays until the "
                     "volume is used again)")};
  }
  if (!facts.snapshots.empty() && with == WithSnapshots::kNo) {
    return SkipReason{
        ReclaimOutcome::kSnapshots,
        absl::StrCat("it has snapshots (", DescribeSnapshots(facts.snapshots),
                     "), which would make it grow; set the parameter "
                     "withSnapshots: \"true\" to do it all the same")};
  }
  return std::nullopt;
}

}  // namespace addons
