#ifndef ADDONS_TESTS_FAKES_FAKE_IMAGE_H_
#define ADDONS_TESTS_FAKES_FAKE_IMAGE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/model.h"

namespace addons {

/// An open handle of an image, as FakePool gives it out: a watch when it is
/// writable, and what librbd keeps in memory from the moment of opening. The
/// methods do what ceph/image.h says of them. Private to tests/fakes.
class FakeImage final : public Image {
 public:
  using Connection = std::shared_ptr<FakeWorld::Connection>;

  /// `seen` is the image as it was when it was opened, `cookie` tells its
  /// watch.
  FakeImage(FakeWorld& world, Connection connection, std::string spec,
            std::shared_ptr<model::Image> image, model::Image seen,
            bool writable, uint64_t cookie)
      : world_(world),
        connection_(std::move(connection)),
        spec_(std::move(spec)),
        image_(std::move(image)),
        seen_(std::move(seen)),
        name_(ImageName(seen_.name)),
        writable_(writable),
        cookie_(cookie),
        exceptions_(std::uncaught_exceptions()) {}
  ~FakeImage() override;
  FakeImage(const FakeImage&) = delete;
  FakeImage& operator=(const FakeImage&) = delete;

  // --- what it is, who uses it (fake_image.cc)

  const ImageName& name() const override { return name_; }
  absl::StatusOr<std::string> Id() override;
  absl::StatusOr<ImageSize> Size() override;
  absl::StatusOr<Timestamp> CreateTimestamp() override;
  absl::StatusOr<ImageFeatures> Features() override;
  absl::StatusOr<std::optional<ImageParent>> Parent() override;
  absl::StatusOr<std::vector<LinkedImage>> Clones() override;
  absl::StatusOr<std::optional<GroupSpec>> Group() override;
  absl::StatusOr<std::vector<Watcher>> Watchers() override;
  absl::StatusOr<std::vector<Locker>> Lockers() override;
  absl::StatusOr<bool> HoldsLock() override;
  absl::Status AcquireLock(LockMode mode) override;
  absl::Status ReleaseLock() override;
  absl::StatusOr<bool> HasTransientLock() override;
  absl::StatusOr<std::vector<ImageSnapshot>> Snapshots() override;
  absl::StatusOr<std::optional<std::string>> Metadata(
      const std::string& key) override;
  absl::StatusOr<std::map<std::string, std::string>> ListMetadata(
      const std::string& prefix) override;
  absl::Status ChangeMetadata(const MetadataChanges& changes) override;
  absl::Status ChangeMetadataOfSecondary(
      const MetadataChanges& changes) override;
  absl::Status SetMetadata(const std::string& key,
                           const std::string& value) override;
  absl::Status RemoveMetadata(const std::string& key) override;
  absl::Status Close() override;

  // --- mirroring (fake_image_mirroring.cc)

  absl::StatusOr<bool> MarkedNonPrimary() override;
  absl::StatusOr<MirrorImageInfo> MirrorInfo() override;
  absl::StatusOr<std::vector<MirrorSnapshot>> MirrorSnapshots() override;
  absl::StatusOr<std::vector<SiteStatus>> MirrorStatus() override;
  absl::Status MirrorEnable(MirrorMode mode) override;
  absl::Status MirrorDisable(Force force) override;
  absl::Status MirrorPromote(Force force) override;
  absl::Status MirrorPromoteByForce(SteadyTime latest) override;
  absl::Status MirrorDemote() override;
  // Works on a read-only handle, too: it writes metadata only.
  absl::Status MirrorResync() override;
  absl::StatusOr<uint64_t> CreateMirrorSnapshot() override;
  absl::Status CreateSnapshot(const std::string& name) override;
  absl::Status RemoveSnapshot(uint64_t snapshot_id) override;

  // --- content and space (fake_image_content.cc)

  absl::Status SelectSnapshot(uint64_t snapshot_id) override;
  absl::StatusOr<ImageLayout> Layout() override;
  absl::StatusOr<std::vector<ImageData>> Read(
      const std::vector<ImageRange>& ranges) override;
  absl::Status Write(const std::vector<ImageData>& data) override;
  absl::Status Flush() override;
  absl::Status Resize(uint64_t bytes) override;
  absl::Status Flatten(const ProgressFn& progress) override;
  absl::StatusOr<std::optional<uint64_t>> UsedBytes(
      std::chrono::milliseconds at_most) override;
  absl::StatusOr<SparsifyEnd> Sparsify(uint64_t sparse_bytes,
                                       const ProgressFn& progress) override;

 private:
  absl::Status ChangeMetadataWhere(bool secondary,
                                   const MetadataChanges& changes);
  /// What a call looks at: the handle, mirroring objects, the image's header.
  enum class Use { kMemory, kRead, kHeader, kMutate };

  absl::Status PromoteUntil(Force force, SteadyTime latest);

  /// All calls of a handle go through here: those on a closed one are
  /// violations.
  int Run(const char* call, Use use, const FakeWorld::Body& body);
  /// Run() for what changes something, which needs a writable handle ...
  absl::Status Mutate(const char* call, const char* action,
                      const FakeWorld::Body& body);
  /// ... or at least the connection for changes.
  absl::Status MutateThroughAnyHandle(const char* call, const char* action,
                                      const FakeWorld::Body& body);
  absl::Status Error(int result, absl::string_view action) const;
  // A dead client's watch and lock stay until somebody notices.
  void Release(bool crashed);
  bool OwnsLock() const;
  const model::Client& Self() const { return connection_->client; }
  model::Namespace& Space(model::Site& site) const {
    return site.pools[image_->pool_id].namespaces[image_->rados_namespace];
  }

  /// A violation when the forced `call` would end the process inside librbd.
  void ExpectNoCrash(absl::string_view call);
  void ExpectNoHandLock(absl::string_view call);
  /// Likewise when the manager makes a mirror snapshot at this moment.
  void ExpectNoOtherMaker(absl::string_view call);

  /// What the handle shows: the image, or one of its snapshots.
  struct Shown {
    const ImageSize* size = nullptr;
    const model::Content* content = nullptr;  // nullptr: it was removed
  };
  Shown Show() const;
  /// How long librbd takes for so many objects.
  static SteadyDuration TimeFor(size_t objects);
  absl::StatusOr<SparsifyEnd> SparsifyInTime(FakeWorld::LongCallId call,
                                             uint64_t sparse_bytes,
                                             const ProgressFn& progress);
  /// Objects by simulated time, whoever lets it pass.
  SparsifyEnd RunSparsify(FakeWorld::LongCallId call,
                          const ProgressFn& progress);
  /// nullopt: go on.
  std::optional<SparsifyEnd> SparsifyObject(uint64_t object,
                                            const ProgressFn& progress);

  FakeWorld& world_;
  const Connection connection_;
  const std::string spec_;
  const std::shared_ptr<model::Image> image_;
  const model::Image seen_;  // as it was when it was opened
  const ImageName name_;
  const bool writable_;
  const uint64_t cookie_;
  const int exceptions_;
  bool open_ = true;
  std::optional<uint64_t> selected_;  // snapshot
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_FAKE_IMAGE_H_
