#include "inspection/adopt_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/look/image_directory.h"
#include "volume/volume_directory.h"
#include "volume/volume_id.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

constexpr char kSnapshotPrefix[] = "csi-snap-";

void AddText(Adoption& adoption, absl::string_view text) {
  absl::StrAppend(&adoption.text, adoption.text.empty() ? "" : "; ", text);
}

/// Looks at the images of one pool and namespace, and says what is to be
/// written.
class Planner {
 public:
  Planner(OperationContext& context, const ResolvedPlace& place,
          const AdoptRequest& request)
      : context_(context), place_(place), request_(request) {}

  absl::StatusOr<std::vector<Planned>> Run() {
    context_.Step("looking at the images");
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            place_.OpenPool(Access::kRead));
    ADDONS_ASSIGN_OR_RETURN(
        names_, VolumeDirectory(*pool, request_.instance_id).ReadAll());
    for (const auto& [name, uuid] : names_) reserved_.emplace(uuid, name);
    std::vector<Planned> all;
    if (request_.images.empty()) {
      ADDONS_ASSIGN_OR_RETURN(all, AllMirrored(*pool));
    } else {
      ADDONS_ASSIGN_OR_RETURN(all, Named(*pool));
    }
    const std::stop_token stop = context_.stop_token();
    std::vector<absl::Status> looks(all.size());
    RunParallel(all.size(), kImagesAtOnce, [&](size_t i) {
      if (stop.stop_requested() || !all[i].adoption.text.empty()) return;
      looks[i] = Look(all[i]);
      if (looks[i].ok()) return;
      Refuse(all[i],
             absl::StrCat("it could not be looked at: ", looks[i].message()),
             AdoptOutcome::kFailed);
    });
    for (const absl::Status& look : looks) {
      if (SaysBlocklisted(look)) return look;
    }
    if (stop.stop_requested()) {
      return absl::CancelledError("nobody waits for the adoption any more");
    }
    Settle(all);
    return all;
  }

 private:
  Planned Begin(const ImageName& name) const {
    Planned planned;
    planned.name = name;
    planned.adoption.image = place_.Spec(name);
    return planned;
  }

  absl::StatusOr<std::vector<Planned>> AllMirrored(Pool& pool) const {
    ADDONS_ASSIGN_OR_RETURN(const auto names, ReadImageNames(pool));
    ADDONS_ASSIGN_OR_RETURN(const auto mirrored, ReadMirroredImageIds(pool));
    std::vector<Planned> all;
    for (const std::string& id : mirrored) {
      const auto name = names.find(id);
      if (name == names.end() || name->second.empty()) {
        all.push_back(Begin(ImageName(absl::StrCat("id ", id))));
        Refuse(all.back(),
               "its mirroring is noted, but the pool has no image of this id "
               "with a name: it is in the trash, or being removed");
        continue;
      }
      all.push_back(Begin(name->second));
      all.back().image_id = id;
    }
    std::sort(all.begin(), all.end(), [](const Planned& a, const Planned& b) {
      return a.name < b.name;
    });
    return all;
  }

  absl::StatusOr<std::vector<Planned>> Named(Pool& pool) const {
    std::vector<ImageName> wanted = request_.images;
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::vector<Planned> all;
    for (const ImageName& name : wanted) {
      all.push_back(Begin(name));
      auto id = FindImageId(pool, name);
      if (absl::IsNotFound(id.status())) {
        Refuse(all.back(), NoSuchImage(pool, name));
        continue;
      }
      ADDONS_RETURN_IF_ERROR(id.status());
      all.back().image_id = *std::move(id);
    }
    return all;
  }

  static std::string NoSuchImage(Pool& pool, const ImageName& name) {
    // The names are in the values, behind their length.
    if (const auto trash = pool.ReadOmap("rbd_trash", "id_"); trash.ok()) {
      for (const auto& [key, value] : *trash) {
        if (!absl::StrContains(value, name.text())) continue;
        return "it is in the trash of the pool: `rbd trash restore` first, if "
               "it is still wanted";
      }
    }
    return "there is no such image: nothing of it was ever copied here, or it "
           "was removed";
  }

  absl::Status Look(Planned& planned) const {
    planned.uuid = UuidIn(planned.name);
    if (planned.uuid.empty()) {
      Refuse(planned,
             "its name does not end with a uuid, so ceph-csi did not make it, "
             "and it has no volume id",
             AdoptOutcome::kNoVolume);
      return absl::OkStatus();
    }
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            place_.OpenPool(Access::kRead));
    const auto snapshot =
        pool->ReadOmap(absl::StrCat("csi.snap.", planned.uuid), "csi.");
    if (!snapshot.ok() && !absl::IsNotFound(snapshot.status())) {
      return snapshot.status();
    }
    if (snapshot.ok() ||
        absl::StartsWith(planned.name.text(), kSnapshotPrefix)) {
      Refuse(planned, "it holds a snapshot of ceph-csi, and is no volume",
             AdoptOutcome::kNoVolume);
      return absl::OkStatus();
    }
    ADDONS_ASSIGN_OR_RETURN(planned.adoption.volume_id, IdOf(planned.uuid));
    const auto entry = VolumeJournal(*pool).Read(planned.uuid);
    if (entry.ok()) return JudgeEntry(*pool, *entry, planned);
    if (!absl::IsNotFound(entry.status())) return entry.status();
    planned.without_object = true;
    return JudgeImage(*pool, planned);
  }

  absl::StatusOr<std::string> IdOf(const std::string& uuid) const {
    VolumeId id;
    id.cluster_id = place_.cluster_id;
    id.pool_id = place_.pool_id;
    id.uuid = uuid;
    return id.ToString();
  }

  /// What the image tells of its volume.
  absl::StatusOr<ToldEntry> ReadTold(Pool& pool, const Planned& planned) const {
    std::map<std::string, std::string> metadata;
    auto header = pool.Header(planned.image_id);
    if (header.ok()) {
      metadata = std::move(header->metadata);
    } else {
      ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                              pool.OpenImageByIdReadOnly(planned.image_id));
      ADDONS_ASSIGN_OR_RETURN(metadata, image->ListMetadata(""));
      ADDONS_RETURN_IF_ERROR(image->Close());
    }
    ToldEntry told = ReadToldEntry(metadata, planned.uuid);
    if (!request_.request_name.empty()) {
      told.request_name = request_.request_name;
      told.source = ToldEntry::Source::kNote;
    }
    if (!request_.owner.empty()) told.owner = request_.owner;
    // Files that are encrypted within the image do not show there.
    const bool files =
        request_.encryption_type == "file" && !request_.images.empty();
    if ((told.encrypted || files) && told.kms_id.empty()) {
      told.kms_id = request_.kms_id;
      told.encryption_type = request_.encryption_type;
    }
    return told;
  }

  /// Of an image whose volume has no entry.
  absl::Status JudgeImage(Pool& pool, Planned& planned) const {
    ADDONS_ASSIGN_OR_RETURN(const auto record,
                            pool.MirrorRecord(planned.image_id));
    if (!record.has_value() || record->state == MirrorImageState::kDisabled) {
      Refuse(planned,
             "it is not mirrored, so it is no copy of another site's volume; "
             "what a volume of this site has lost, `rbd-addons audit journal` "
             "names");
      return absl::OkStatus();
    }
    if (record->state != MirrorImageState::kEnabled) {
      Refuse(planned,
             record->state == MirrorImageState::kDisabling
                 ? "its replication is being disabled, and with that this copy "
                   "removed"
                 : "rbd-mirror is just making it, or something is the matter "
                   "with it: repeat the call when `rbd mirror image status` "
                   "shows it");
      return absl::OkStatus();
    }
    ADDONS_ASSIGN_OR_RETURN(planned.told, ReadTold(pool, planned));
    TakeReserved(planned);
    if (planned.told.encrypted && planned.told.kms_id.empty()) {
      Refuse(planned,
             "it is encrypted, and does not tell which KMS has its key: name "
             "that with --kms, as encryptionKMSID in its StorageClass");
      return absl::OkStatus();
    }
    planned.adoption.outcome = AdoptOutcome::kWouldWrite;
    VolumeAttributes& entry = planned.adoption.entry;
    entry.image_name = planned.name;
    entry.image_id = planned.image_id;
    entry.request_name = planned.told.request_name;
    entry.owner = planned.told.owner;
    entry.kms_id = planned.told.kms_id;
    entry.encryption_type = planned.told.encryption_type;
    return absl::OkStatus();
  }

  /// A name leads to the volume already, although it has no entry yet: a call
  /// has died after its first step, or one of ceph-csi, which knows the name.
  void TakeReserved(Planned& planned) const {
    const auto [begin, end] = reserved_.equal_range(planned.uuid);
    for (auto it = begin; it != end; ++it) {
      const std::string& name = it->second;
      if (planned.told.request_name.empty() &&
          name != GeneratedRequestName(planned.name)) {
        planned.told.request_name = name;
        planned.told.source = ToldEntry::Source::kNote;
      } else if (name != planned.told.request_name &&
                 !planned.told.request_name.empty()) {
        planned.former = name;
      }
    }
  }

  /// Of a volume that has one.
  absl::Status JudgeEntry(Pool& pool, const VolumeAttributes& entry,
                          Planned& planned) const {
    planned.adoption.entry = entry;
    if (entry.image_name != planned.name) {
      Refuse(planned,
             absl::StrCat("the journal has the volume with the image '",
                          entry.image_name.text(), "'"));
      return absl::OkStatus();
    }
    const std::string generated = GeneratedRequestName(planned.name);
    planned.adoption.outcome = AdoptOutcome::kKnown;
    planned.adoption.generated_name = entry.request_name == generated;
    if (planned.adoption.generated_name) {
      ADDONS_ASSIGN_OR_RETURN(planned.told, ReadTold(pool, planned));
      if (!planned.told.request_name.empty()) {
        Rename(planned);
        return absl::OkStatus();
      }
    } else if (!request_.request_name.empty() &&
               request_.request_name != entry.request_name) {
      Refuse(planned, absl::StrCat("the journal has the volume with the name '",
                                   entry.request_name, "'"));
      return absl::OkStatus();
    }
    Complete(planned);
    return absl::OkStatus();
  }

  /// A generated name, which ceph-csi cannot find the volume by, gives way.
  static void Rename(Planned& planned) {
    VolumeAttributes& entry = planned.adoption.entry;
    planned.former = entry.request_name;
    entry.request_name = planned.told.request_name;
    if (!planned.told.owner.empty()) entry.owner = planned.told.owner;
    if (!planned.told.kms_id.empty()) {
      entry.kms_id = planned.told.kms_id;
      entry.encryption_type = planned.told.encryption_type;
    }
    entry.image_id = planned.image_id;
    planned.renames = true;
    planned.adoption.generated_name = false;
    planned.adoption.outcome = AdoptOutcome::kWouldWrite;
    AddText(planned.adoption, absl::StrCat("in place of the generated name '",
                                           planned.former, "'"));
  }

  /// What is missing beside an entry that is whole.
  void Complete(Planned& planned) const {
    Adoption& adoption = planned.adoption;
    const auto there = names_.find(adoption.entry.request_name);
    if (there == names_.end()) {
      adoption.outcome = AdoptOutcome::kWouldWrite;
      AddText(adoption, "it has its entry, but its name does not lead there");
    } else if (there->second != planned.uuid) {
      Refuse(planned,
             absl::StrCat("it has an entry with the name '",
                          adoption.entry.request_name,
                          "', which leads to another volume, ", there->second));
      return;
    }
    if (adoption.entry.image_id != planned.image_id) {
      adoption.outcome = AdoptOutcome::kWouldWrite;
      planned.correct_image_id = true;
      AddText(
          adoption,
          absl::StrCat("it has its entry, but with the image id '",
                       adoption.entry.image_id, "' of an image that is gone"));
      adoption.entry.image_id = planned.image_id;
    }
    const std::string generated = GeneratedRequestName(planned.name);
    const auto left = names_.find(generated);
    if (!adoption.generated_name && left != names_.end() &&
        left->second == planned.uuid) {
      adoption.outcome = AdoptOutcome::kWouldWrite;
      planned.former = generated;
      AddText(adoption,
              "it has its entry, and its generated name is not freed "
              "yet");
    }
  }

  bool Free(const std::string& name, const std::string& uuid) const {
    const auto taken = names_.find(name);
    return taken == names_.end() || taken->second == uuid;
  }

  /// What only all of them together show.
  void Settle(std::vector<Planned>& all) const {
    std::map<std::string, int> of_uuid;
    for (const Planned& planned : all) ++of_uuid[planned.uuid];
    std::map<std::string, int> of_name;
    for (const Planned& planned : all) {
      if (planned.writes()) ++of_name[planned.adoption.entry.request_name];
    }
    for (Planned& planned : all) {
      if (!planned.writes()) continue;
      if (planned.without_object && of_uuid[planned.uuid] > 1) {
        Refuse(planned,
               "several images end with this uuid, and one of them only can be "
               "the volume: name that one");
        continue;
      }
      const std::string& wanted = planned.adoption.entry.request_name;
      NameIt(planned, wanted.empty() || of_name[wanted] == 1);
    }
  }

  /// `alone`: no other image of the plan is to have its name.
  void NameIt(Planned& planned, bool alone) const {
    Adoption& adoption = planned.adoption;
    std::string& name = adoption.entry.request_name;
    if (!planned.without_object && !planned.renames) return;
    if (!name.empty() && alone && Free(name, planned.uuid)) return;
    if (planned.told.source == ToldEntry::Source::kNote) {
      return Refuse(planned,
                    absl::StrCat("its name is '", name,
                                 "', which another volume has here; see which "
                                 "of them the PersistentVolume means"));
    }
    if (planned.renames) {
      // It keeps what it has.
      adoption.outcome = AdoptOutcome::kKnown;
      name = std::exchange(planned.former, "");
      adoption.generated_name = true;
      adoption.text.clear();
      return;
    }
    if (!name.empty()) {
      AddText(adoption, absl::StrCat("its metadata tells the name '", name,
                                     "', which another volume has"));
    }
    name = GeneratedRequestName(planned.name);
    adoption.generated_name = true;
    AddText(adoption,
            "nobody tells the name of its PersistentVolume, so that a name is "
            "generated; --pv-name gives it the right one, also later");
    if (!Free(name, planned.uuid)) {
      Refuse(planned,
             absl::StrCat("the name '", name, "' leads to another volume"));
    }
  }

  OperationContext& context_;
  const ResolvedPlace& place_;
  const AdoptRequest& request_;
  std::map<std::string, std::string> names_;          // uuids of the directory
  std::multimap<std::string, std::string> reserved_;  // the same by uuid
};

}  // namespace

void Refuse(Planned& planned, std::string why, AdoptOutcome outcome) {
  planned.adoption.outcome = outcome;
  planned.adoption.text = std::move(why);
}

absl::StatusOr<std::vector<Planned>> PlanImages(OperationContext& context,
                                                const ResolvedPlace& place,
                                                const AdoptRequest& request) {
  return Planner(context, place, request).Run();
}

}  // namespace addons
