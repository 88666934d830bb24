#include "cli/adopt.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/aligned_table.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using AdoptedOutcome = admin_pb::AdoptedVolume::Outcome;

/// Trouble first.
int AdoptionRank(AdoptedOutcome outcome) {
  switch (outcome) {
    case admin_pb::AdoptedVolume::NO_VOLUME:
      return 1;
    case admin_pb::AdoptedVolume::WOULD_WRITE:
      return 2;
    case admin_pb::AdoptedVolume::WRITTEN:
      return 3;
    case admin_pb::AdoptedVolume::KNOWN:
      return 4;
    default:
      return 0;
  }
}

const char* AdoptionResult(AdoptedOutcome outcome) {
  switch (outcome) {
    case admin_pb::AdoptedVolume::NO_VOLUME:
      return "no volume";
    case admin_pb::AdoptedVolume::WOULD_WRITE:
      return "would write";
    case admin_pb::AdoptedVolume::WRITTEN:
      return "written";
    case admin_pb::AdoptedVolume::KNOWN:
      return "known";
    case admin_pb::AdoptedVolume::REFUSED:
      return "refused";
    default:
      return "failed";
  }
}

/// What stands behind the names of an entry, and what is said of it.
std::string AdoptionMessage(const admin_pb::AdoptedVolume& volume) {
  std::vector<std::string> parts;
  if (!volume.kms_id().empty()) {
    parts.push_back(absl::StrCat("encrypted (", volume.encryption_type(),
                                 ", KMS ", volume.kms_id(), ")"));
  }
  if (!volume.text().empty()) parts.push_back(volume.text());
  return CleanLine(absl::StrJoin(parts, "; "), kMaxShownText);
}

/// The requests of a command: one for each pool and namespace.
using AdoptRequests = std::map<std::pair<std::string, std::string>,
                               admin_pb::AdoptVolumesRequest>;

absl::StatusOr<AdoptRequests> RequestsOf(const AdoptCommand& command) {
  AdoptRequests requests;
  if (!command.pool.empty()) {
    requests[{command.pool, command.rados_namespace}];
  } else if (command.images.empty()) {
    return absl::InvalidArgumentError(
        "say which images, as POOL/IMAGE, or --pool POOL for all of a pool");
  }
  for (const std::string& image : command.images) {
    const std::vector<std::string> parts = absl::StrSplit(image, '/');
    if (parts.size() < 2 || parts.size() > 3 ||
        std::count(parts.begin(), parts.end(), "") > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", CleanLine(image, kMaxShownName),
                       "' is neither POOL/IMAGE nor POOL/NAMESPACE/IMAGE"));
    }
    requests[{parts.front(), parts.size() == 3 ? parts[1] : ""}].add_images(
        parts.back());
  }
  for (auto& [place, request] : requests) {
    request.set_cluster_id(command.cluster);
    request.set_pool(place.first);
    request.set_rados_namespace(place.second);
    request.set_write(command.yes);
    request.set_volume_name(command.volume_name);
    request.set_owner(command.owner);
    request.set_kms_id(command.kms_id);
    request.set_encryption_type(command.encryption_type);
  }
  return requests;
}

void AddAdopted(const admin_pb::AdoptVolumesResponse& found,
                admin_pb::AdoptVolumesResponse* all) {
  all->mutable_volumes()->MergeFrom(found.volumes());
  all->set_more(all->more() || found.more());
  all->set_known(all->known() + found.known());
  all->set_would_write(all->would_write() + found.would_write());
  all->set_written(all->written() + found.written());
  all->set_refused(all->refused() + found.refused());
  all->set_no_volume(all->no_volume() + found.no_volume());
}

}  // namespace

std::string AdoptText(const admin_pb::AdoptVolumesResponse& found,
                      Listing listing) {
  std::vector<const admin_pb::AdoptedVolume*> volumes;
  for (const admin_pb::AdoptedVolume& volume : found.volumes()) {
    volumes.push_back(&volume);
  }
  std::stable_sort(
      volumes.begin(), volumes.end(), [](const auto* a, const auto* b) {
        return AdoptionRank(a->outcome()) < AdoptionRank(b->outcome());
      });
  std::vector<Reasoned> reasons;
  reasons.reserve(volumes.size());
  for (const admin_pb::AdoptedVolume* const volume : volumes) {
    reasons.push_back({CleanLine(volume->image(), kMaxShownName),
                       AdoptionMessage(*volume),
                       AdoptionResult(volume->outcome()),
                       "",
                       {volume->image(), volume->volume_id()}});
  }
  const SelectedRows selected = SelectRows(reasons, listing);
  std::vector<std::vector<std::string>> rows = {
      {"RESULT", "NAME", "OWNER", "IMAGE", "ID", "MESSAGE"}};
  for (size_t i = 0; i < volumes.size(); ++i) {
    if (!selected.listed[i]) continue;
    const admin_pb::AdoptedVolume& volume = *volumes[i];
    rows.push_back({AdoptionResult(volume.outcome()), volume.volume_name(),
                    volume.owner(), volume.image(), volume.volume_id(),
                    AdoptionMessage(volume)});
  }
  std::string text = selected.counted;
  if (rows.size() > 1) text += AlignedTable(std::move(rows));
  if (found.more()) {
    absl::StrAppend(&text, "there are more than fit into one answer\n");
  }
  absl::StrAppend(&text, found.known(), " known, ");
  if (found.would_write() > 0) {
    absl::StrAppend(&text, found.would_write(), " to write, ");
  }
  absl::StrAppend(&text, found.written(), " written, ", found.refused(),
                  " refused or failed, ", found.no_volume(),
                  " not made by ceph-csi\n");
  if (found.would_write() > 0) {
    absl::StrAppend(&text,
                    "nothing was changed: run it again with --yes to write "
                    "the entries\n");
  }
  return text;
}

int RunAdopt(const AdoptCommand& command, Streams& streams) {
  auto requests = RequestsOf(command);
  if (!requests.ok()) return Fail(requests.status(), kCliUsage, streams);
  admin_pb::AdoptVolumesResponse all;
  for (auto& [place, request] : *requests) {
    admin_pb::AdoptVolumesResponse found;
    const absl::Status called =
        AskWithSecrets(command, request, found, streams);
    if (!called.ok()) {
      // What other pools have got is not to be forgotten.
      if (all.volumes_size() > 0)
        streams.err << AdoptText(all, ListingOf(streams));
      return FailCall(called, streams);
    }
    AddAdopted(found, &all);
  }
  const int printed =
      YieldMessage(all, AdoptText(all, ListingOf(streams)), streams);
  if (printed != 0) return printed;
  // What was named is to be a volume.
  const bool not_volumes = !command.images.empty() && all.no_volume() > 0;
  return all.refused() > 0 || not_volumes ? kWouldNotWork : 0;
}

}  // namespace addons
