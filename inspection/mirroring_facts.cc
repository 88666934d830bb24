#include "inspection/mirroring_facts.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/look/evictions.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/peers.h"
#include "replication/look/role_log.h"

namespace addons {
namespace {

std::string Seconds(SteadyDuration age) {
  return absl::StrCat(
      std::chrono::duration_cast<std::chrono::seconds>(age).count(), " s");
}

/// What one look adds to the facts.
class MirroringFacts {
 public:
  MirroringFacts(const ReplicationEnvironment& environment,
                 std::vector<Fact>* facts)
      : environment_(environment), facts_(*facts) {}

  void AddMirroring(const OpenedVolume& opened, const MirrorView& view);

 private:
  void Add(const char* topic, std::string name, std::string value) {
    facts_.push_back({topic, std::move(name), std::move(value)});
  }
  void AddSnapshots(const MirrorView& view);
  void AddSite(const SiteView& site, const std::string& name);
  void AddNotes(const MirrorView& view);

  const ReplicationEnvironment& environment_;
  std::vector<Fact>& facts_;
};

void MirroringFacts::AddSnapshots(const MirrorView& view) {
  const auto text = [&](const MirrorSnapshot& snapshot) {
    return absl::StrCat(
        "id ", snapshot.id, ", ", Name(snapshot.kind), ", ",
        snapshot.complete ? "complete" : "not complete", ", here since ",
        FormatUnixSeconds(
            std::chrono::system_clock::to_time_t(snapshot.created)));
  };
  const MirrorSnapshot* newest = view.Newest();
  if (newest == nullptr) return;
  Add("mirroring", "newest snapshot", text(*newest));
  if (const std::string progress = view.CopyProgress(); !progress.empty()) {
    Add("mirroring", "copying", progress);
  }
  const MirrorSnapshot* whole = view.LastComplete();
  if (whole != nullptr && whole != newest) {
    Add("mirroring", "last complete snapshot", text(*whole));
  }
}

void MirroringFacts::AddSite(const SiteView& site, const std::string& name) {
  Add("mirroring", name,
      absl::StrCat("rbd-mirror is ", site.status.up ? "up" : "down", ", says '",
                   Name(site.status.state), ": ", site.status.description,
                   "' at ", site.ReportedAt(),
                   WholeSeconds(site.age) == 0
                       ? std::string()
                       : absl::StrCat(", not rewritten for at least ",
                                      Seconds(site.age))));
}

/// What this daemon has noted of earlier calls.
void MirroringFacts::AddNotes(const MirrorView& view) {
  if (AwaitsFollowers(view, environment_.options.settle_time)) {
    Add("mirroring", "own demotion",
        "taken back, and the peers do not follow yet");
  } else if (view.Yielded()) {
    Add("mirroring", "own demotion",
        "given back to a site that was primary, whose content is not here");
  } else if (view.own.demotion.has_value() && !view.info.primary) {
    Add("mirroring", "own demotion", "this site has demoted its image");
  }
  if (view.refused_demotion.has_value()) {
    Add("mirroring", "refused demotion",
        absl::StrCat(DescribeRefusedDemotion(*view.refused_demotion),
                     "; known here for ", Seconds(view.refused_demotion_age)));
  }
  if (const std::string proof = DescribeProof(view.proof); !proof.empty()) {
    Add("mirroring", "copy", proof);
  }
  if (view.resync_requested) {
    Add("mirroring", "resync", "requested, and not carried out yet");
  }
  if (view.first_copy_pending) {
    Add("mirroring", "first copy", "not complete");
  }
  if (view.marked_non_primary && view.info.primary) {
    Add("mirroring", "writable",
        "no: a promotion died in the middle, or a demotion met the limit of "
        "its snapshots; promote it again");
  }
}

void MirroringFacts::AddMirroring(const OpenedVolume& opened,
                                  const MirrorView& view) {
  Add("mirroring", "state", std::string(Name(view.info.state)));
  if (view.info.state == MirrorImageState::kDisabled) return;
  Add("mirroring", "mode", std::string(Name(view.info.mode)));
  Add("mirroring", "role", std::string(RoleName(view)));
  Add("mirroring", "global id", view.info.global_id);
  AddSnapshots(view);
  if (!view.info.primary) {
    Add("mirroring", "forcing returns to", view.RestorePoint());
  }
  if (view.local.has_value()) {
    AddSite(*view.local, "this site");
    if (std::string sent_away =
            WhySilentHere(opened.cluster(), *opened.reads, view,
                          environment_.clock.WallNow());
        !sent_away.empty()) {
      Add("mirroring", "sent away", std::move(sent_away));
    }
  } else {
    Add("mirroring", "this site", "there is no report of its rbd-mirror");
  }
  for (const SiteView& peer : view.peers) {
    AddSite(peer, SiteName(*opened.reads, peer.status.mirror_uuid));
  }
  if (view.peers.empty()) {
    Add("mirroring", "the peer site",
        view.silent_peer_age.has_value()
            ? absl::StrCat(
                  "there is no report of its rbd-mirror on this image, "
                  "also not in the last ",
                  Seconds(*view.silent_peer_age))
            : "has never reported on this image");
  }
  AddNotes(view);
  if (std::string loss = DescribeCloneLoss(view, opened.volume.ImageSpec());
      !loss.empty()) {
    Add("mirroring", "clone", std::move(loss));
  }
}

}  // namespace

void AddMirroringFacts(const ReplicationEnvironment& environment,
                       const OpenedVolume& opened, const MirrorView& view,
                       std::vector<Fact>* facts) {
  MirroringFacts(environment, facts).AddMirroring(opened, view);
}

}  // namespace addons
