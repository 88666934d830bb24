#include "replication/steps/ceph_faults/begun_copy.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ceph/image.h"
#include "ceph/image_diff.h"
#include "ceph/image_objects.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"

namespace addons {
namespace {

/// rbd-mirror would make it anew, and it reads as the last whole state.
bool IsBeginning(const ImageHeader& header, uint64_t snapshot_id) {
  const std::vector<MirrorSnapshot>& snapshots = header.mirror_snapshots;
  if (snapshots.size() < 2) return false;
  const MirrorSnapshot& copy = snapshots.back();
  const MirrorSnapshot& before = snapshots[snapshots.size() - 2];
  return copy.id == snapshot_id && copy.copied() && !copy.complete &&
         copy.last_copied_object == 0 && before.complete &&
         std::none_of(header.other_snapshots.begin(),
                      header.other_snapshots.end(),
                      [&](const ImageSnapshot& snapshot) {
                        return snapshot.id > before.id;
                      });
}

/// Of one copy.
class PutBack {
 public:
  PutBack(Cluster& cluster, std::string image_id, uint64_t snapshot_id)
      : cluster_(cluster),
        image_id_(std::move(image_id)),
        snapshot_id_(snapshot_id) {}

  absl::StatusOr<uint64_t> Run(int64_t pool_id,
                               const std::string& rados_namespace);

 private:
  /// false: it is none any more, or somebody has the image open.
  absl::StatusOr<bool> MayGoOn();
  absl::Status PutBackObject(const std::string& object);
  /// Ends the run.
  absl::Status Ceased() {
    ceased_ = true;
    return absl::AbortedError("the copy goes on");
  }

  Cluster& cluster_;
  const std::string image_id_;
  const uint64_t snapshot_id_;
  std::unique_ptr<Pool> headers_;
  std::unique_ptr<Pool> reads_;
  std::unique_ptr<Pool> changes_;
  ImageLayout layout_;
  uint64_t objects_ = 0;
  bool ceased_ = false;
};

absl::StatusOr<bool> PutBack::MayGoOn() {
  // A client that opens the image after this sees the header as it is.
  ADDONS_ASSIGN_OR_RETURN(const auto watchers,
                          headers_->ListWatchers(HeaderObject(image_id_)));
  if (!watchers.empty()) return false;
  ADDONS_ASSIGN_OR_RETURN(const ImageHeader header,
                          headers_->Header(image_id_));
  return IsBeginning(header, snapshot_id_);
}

absl::Status PutBack::PutBackObject(const std::string& object) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto now, reads_->ReadObject(object, kHead, layout_.object_bytes));
  ADDONS_ASSIGN_OR_RETURN(
      const auto whole,
      reads_->ReadObject(object, snapshot_id_, layout_.object_bytes));
  std::optional<uint64_t> version;
  if (now.has_value()) version = now->version;
  std::optional<std::string> bytes;
  if (whole.has_value()) bytes = whole->bytes;
  if (now.has_value() == whole.has_value() &&
      (!now.has_value() || now->bytes == whole->bytes)) {
    return absl::OkStatus();
  }
  // Also proves that the snapshot was there when it was read.
  ADDONS_ASSIGN_OR_RETURN(const bool may_go_on, MayGoOn());
  if (!may_go_on) return Ceased();
  ADDONS_ASSIGN_OR_RETURN(const bool put_back,
                          changes_->ReplaceObject(object, version, bytes));
  if (!put_back) return Ceased();
  ++objects_;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PutBack::Run(int64_t pool_id,
                                      const std::string& rados_namespace) {
  ADDONS_ASSIGN_OR_RETURN(
      headers_, cluster_.OpenPool(pool_id, rados_namespace, Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const bool may_begin, MayGoOn());
  if (!may_begin) return 0;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          headers_->OpenImageByIdReadOnly(image_id_));
  ADDONS_ASSIGN_OR_RETURN(layout_, image->Layout());
  ADDONS_RETURN_IF_ERROR(image->SelectSnapshot(snapshot_id_));
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout before, image->Layout());
  ADDONS_RETURN_IF_ERROR(image->Close());
  // What is cut off at its end may show again when the image grows.
  if (before.bytes != layout_.bytes) return 0;
  ADDONS_ASSIGN_OR_RETURN(
      reads_,
      cluster_.OpenPool(layout_.data_pool_id, rados_namespace, Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(
      changes_, cluster_.OpenPool(layout_.data_pool_id, rados_namespace,
                                  Access::kMutate));
  const ImageStates states{snapshot_id_, kHead, AbsentObject::kParent};
  const absl::Status done = ForEachObject(
      *reads_, layout_,
      [&](uint64_t /*done*/, uint64_t /*total*/) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(const bool may_go_on, MayGoOn());
        return may_go_on ? absl::OkStatus() : Ceased();
      },
      [&](uint64_t /*number*/, const std::string& name,
          const ObjectSnapshots& object) {
        return ObjectDifference(object, states).empty() ? absl::OkStatus()
                                                        : PutBackObject(name);
      });
  if (!done.ok() && !ceased_) return done;
  return objects_;
}

}  // namespace

absl::StatusOr<uint64_t> UndoBegunCopy(Cluster& cluster, int64_t pool_id,
                                       const std::string& rados_namespace,
                                       const std::string& image_id,
                                       uint64_t snapshot_id) {
  return PutBack(cluster, image_id, snapshot_id).Run(pool_id, rados_namespace);
}

}  // namespace addons
