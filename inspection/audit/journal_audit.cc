#include "inspection/audit/journal_audit.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/shell_command.h"
#include "volume/volume_directory.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

// Names are ceph-csi's.
constexpr absl::string_view kPrefix = "csi.volume.";
constexpr char kRequestName[] = "csi.volname";
constexpr char kImagePrefix[] = "csi-vol-";
constexpr size_t kUuidLength = 36;

class JournalAudit {
 public:
  explicit JournalAudit(AuditedPlace& place)
      : place_(place),
        journal_(place.pool),
        directory_(absl::StrCat("csi.volumes.", place.instance_id)) {
    for (const auto& [id, name] : place_.images) {
      names_.insert(name);
      if (const std::string uuid = UuidIn(name); !uuid.empty()) {
        by_uuid_.emplace(uuid, std::make_pair(id, name));
      }
    }
  }

  void Run() {
    const auto reserved =
        place_.pool.ReadOmap(directory_, std::string(kPrefix));
    if (!reserved.ok() && !absl::IsNotFound(reserved.status())) {
      // Without it every image would seem to be unknown.
      place_.NotSeen(AuditKind::kJournal, place_.pool.Spec(directory_),
                     reserved.status());
      return;
    }
    if (reserved.ok()) reserved_ = *reserved;
    for (const auto& [key, uuid] : reserved_) CheckName(key, uuid);
    for (const auto& [uuid, image] : by_uuid_) {
      if (!known_.contains(uuid)) CheckImage(uuid, image.first, image.second);
    }
  }

 private:
  std::string Rados(const std::vector<std::string>& words) const {
    return RadosCommand(place_.pool.name(), place_.pool.rados_namespace(),
                        words);
  }
  static std::string ObjectOf(const std::string& uuid) {
    return absl::StrCat(kPrefix, uuid);
  }
  std::string FreeName(const std::string& key) const {
    return Rados({"rmomapkey", directory_, key});
  }
  /// Commands that write the journal object of a volume, which has an image.
  std::string WriteObject(const std::string& uuid, const std::string& name,
                          const std::string& image_id,
                          const ImageName& image) const {
    const std::string object = ObjectOf(uuid);
    return absl::StrCat(
        Rados({"setomapval", object, kRequestName, name}), " && ",
        Rados({"setomapval", object, "csi.imagename", image.text()}), " && ",
        Rados({"setomapval", object, "csi.imageid", image_id}));
  }

  void CheckName(const std::string& key, const std::string& uuid) {
    known_.insert(uuid);
    const std::string object = place_.pool.Spec(ObjectOf(uuid));
    if (uuid.size() != kUuidLength) {
      place_.Unclear(AuditKind::kJournal, place_.pool.Spec(key),
                     absl::StrCat("the name leads to '", uuid,
                                  "', which is no volume of this pool, and was "
                                  "not looked at"));
      return;
    }
    const auto read = journal_.Read(uuid);
    if (absl::IsNotFound(read.status())) return CheckStub(key, uuid);
    if (!read.ok()) {
      return place_.NotSeen(AuditKind::kJournal, object, read.status());
    }
    if (names_.contains(read->image_name)) return;
    const auto renamed = place_.images.find(read->image_id);
    if (renamed != place_.images.end()) {
      place_.Found(
          AuditKind::kJournal, object,
          absl::StrCat("the journal calls its image '", read->image_name.text(),
                       "', and the image with its id is called '",
                       renamed->second.text(),
                       "': it was renamed, and no call finds it. Give it its "
                       "name back on its primary's site; a copy follows"),
          ShellCommand({"rbd", "rename", place_.pool.Spec(renamed->second),
                        place_.pool.Spec(read->image_name)}));
      return;
    }
    place_.Found(
        AuditKind::kJournal, object,
        absl::StrCat("the name '", read->request_name,
                     "' is reserved, but there is no image '",
                     read->image_name.text(),
                     "'. A volume that is just being made looks so, and one "
                     "whose copy has not begun to arrive or is made anew "
                     "(resync): remove it only when the PersistentVolume is "
                     "gone on all sites"),
        absl::StrCat(Rados({"rm", ObjectOf(uuid)}), " && ", FreeName(key)));
  }

  /// A name without journal object, or with one that says nothing.
  void CheckStub(const std::string& key, const std::string& uuid) {
    const std::string object = ObjectOf(uuid);
    const std::string name = key.substr(kPrefix.size());
    const auto value = place_.pool.ReadOmapKey(object, kRequestName);
    if (value.ok() && value->has_value()) return;  // written meanwhile
    if (!value.ok() && !absl::IsNotFound(value.status())) {
      return place_.NotSeen(AuditKind::kJournal, place_.pool.Spec(object),
                            value.status());
    }
    const std::string what = absl::StrCat(
        "the name '", name, "' is reserved, but its journal object ",
        value.ok() ? "is a stub without csi.volname" : "does not exist");
    const auto image = by_uuid_.find(uuid);
    if (image != by_uuid_.end()) {
      place_.Found(
          AuditKind::kJournal, place_.pool.Spec(object),
          absl::StrCat(what, ", and the image '", image->second.second.text(),
                       "' is there. An encrypted volume needs "
                       "csi.volume.encryptKMS and "
                       "csi.volume.encryptionType, too"),
          WriteObject(uuid, name, image->second.first, image->second.second));
      return;
    }
    place_.Found(
        AuditKind::kJournal, place_.pool.Spec(object),
        absl::StrCat(what,
                     ", and there is no image of it. A volume that is just "
                     "being made looks so for a moment"),
        value.ok() ? absl::StrCat(Rados({"rm", object}), " && ", FreeName(key))
                   : FreeName(key));
    if (place_.unnamed_images) return;  // it may be one of these
    // Not the stub: it might be written at that very moment, and harms nobody.
    place_.MayRepair(
        absl::StrCat("free the name '", name, "', as ceph-csi does"),
        {OmapRepair::Change::kRemove, place_.pool.rados_namespace(), directory_,
         key, uuid});
  }

  /// An image to which no name leads.
  void CheckImage(const std::string& uuid, const std::string& image_id,
                  const ImageName& image) {
    const bool mirrored = place_.mirrored.contains(image_id);
    if (!mirrored && !absl::StartsWith(image.text(), kImagePrefix)) return;
    const std::string spec = place_.pool.Spec(image);
    const auto read = journal_.Read(uuid);
    if (absl::IsNotFound(read.status())) {
      if (mirrored) NoJournal(image);
      return;
    }
    if (!read.ok()) {
      return place_.NotSeen(AuditKind::kJournal, spec, read.status());
    }
    const std::string key = absl::StrCat(kPrefix, read->request_name);
    const auto other = reserved_.find(key);
    if (other != reserved_.end()) {
      place_.Unclear(
          AuditKind::kJournal, spec,
          absl::StrCat("its journal object says that it is '",
                       read->request_name,
                       "', but that name leads to the volume ", other->second,
                       ": which of them the PersistentVolume means "
                       "is in its volumeHandle"));
      return;
    }
    place_.Found(
        AuditKind::kJournal, spec,
        absl::StrCat("its journal object says that it is '", read->request_name,
                     "', but no name leads there, so ceph-csi would "
                     "make that volume a second time"),
        Rados({"setomapval", directory_, key, uuid}));
    const auto [claimed, first] =
        claimed_.emplace(key, place_.findings.size() - 1);
    if (!first) {
      // Two volumes say that they have this name: a person has to know which.
      place_.findings[claimed->second].repair.clear();
      return;
    }
    place_.MayRepair(absl::StrCat("let the name '", read->request_name,
                                  "' lead to this volume again"),
                     {OmapRepair::Change::kAdd, place_.pool.rados_namespace(),
                      directory_, key, uuid});
  }

  void NoJournal(const ImageName& image) {
    place_.Found(
        AuditKind::kJournal, place_.pool.Spec(image),
        "it is mirrored, but this site's journal does not know it, so no call "
        "can name it here. ceph-csi's controller writes the entry when the "
        "PersistentVolume is restored on this site; where it is not, adopt "
        "writes it",
        ShellCommand(
            {"rbd-addons", "adopt", place_.pool.Spec(image), "--yes"}));
  }

  AuditedPlace& place_;
  VolumeJournal journal_;
  const std::string directory_;
  std::set<ImageName> names_;
  /// Images of volumes: internal id and name.
  std::map<std::string, std::pair<std::string, ImageName>> by_uuid_;
  OmapValues reserved_;          // uuids by key
  std::set<std::string> known_;  // uuids that a name leads to
  /// Names that lead nowhere, and the finding of the first volume that says to
  /// have it.
  std::map<std::string, size_t> claimed_;
};

}  // namespace

void AuditJournal(AuditedPlace& place) { JournalAudit(place).Run(); }

}  // namespace addons
