#include "points/test_failover.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "lease/leased_context.h"
#include "points/whole_point.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/point.h"
#include "volume/pool_room.h"
#include "volume/told_entry.h"
#include "volume/volume_directory.h"
#include "volume/volume_id.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

constexpr char kStartAction[] = "start a test of";
constexpr char kStopAction[] = "stop the test of";
constexpr char kVerb[] = "make or end";
/// For people who look at the image.
constexpr char kTestNote[] = "rbd-addons.test";

LeaseTarget LeaseOfTest(const ResolvedPlace& place,
                        const std::string& source_uuid) {
  return {place, absl::StrCat("rbd_addons.lease.test.", source_uuid),
          absl::StrCat("the test of volume '", source_uuid, "'"),
          /*although_full=*/true};
}

/// UNAVAILABLE: somebody has the test's image open. librbd finds that out by
/// itself, but waits for the lock before. FAILED_PRECONDITION: it has become
/// something else.
absl::Status CheckUnused(Pool& pool, const StartedTest& test) {
  const auto image = pool.OpenImageReadOnly(test.image());
  if (absl::IsNotFound(image.status())) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(image.status());
  ADDONS_ASSIGN_OR_RETURN(const MirrorImageInfo mirrored,
                          (*image)->MirrorInfo());
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, (*image)->Snapshots());
  if (mirrored.state != MirrorImageState::kDisabled || !snapshots.empty()) {
    return absl::FailedPreconditionError(
        "its image is replicated or has snapshots, so it is in use as "
        "something else than a test; end that first");
  }
  ADDONS_ASSIGN_OR_RETURN(const auto watchers, (*image)->Watchers());
  if (watchers.empty()) return (*image)->Close();
  return absl::UnavailableError(absl::StrCat(
      "client ", watchers.front().address,
      " has its image open; end that workload, and repeat the call"));
}

/// Its image, then all that leads to it: whoever has it open keeps everything.
/// OK also where parts of it are gone.
absl::Status RemoveTestVolume(Pool& pool, const std::string& instance,
                              const std::string& source_uuid,
                              const StartedTest& test) {
  ADDONS_RETURN_IF_ERROR(CheckUnused(pool, test));
  ADDONS_RETURN_IF_ERROR(pool.RemoveImage(test.image()));
  ADDONS_RETURN_IF_ERROR(
      VolumeDirectory(pool, instance).Release(test.request_name(), test.uuid));
  ADDONS_RETURN_IF_ERROR(VolumeJournal(pool).Remove(test.uuid));
  return RemoveTest(pool, source_uuid, test);
}

absl::Status CheckTestRoom(const WholePoint& whole) {
  const ContentSource& source = whole.source;
  const auto room =
      ReadPoolRoom(whole.seen.opened.cluster(), source.layout.data_pool_id);
  if (!room.ok()) {
    return whole.seen.Refuse(
        room.status().code(),
        absl::StrCat("whether its pool has room is not known: ",
                     room.status().message()));
  }
  const uint64_t most = whole.record.with_data() * source.shape.object_bytes;
  // A tenth stays for what mirroring brings meanwhile.
  if (most <= *room - *room / 10) return absl::OkStatus();
  return whole.seen.Refuse(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("it may take ", most, " bytes, and its pool has room for ",
                   *room,
                   ", a tenth of which stays free; add room, or stop "
                   "other tests"));
}

/// A test whose driver could not open it is none.
absl::Status CheckKey(const SeenImage& seen) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      seen.opened.reads->OpenImageByIdReadOnly(seen.view.image_id));
  for (const char* const key : {kPassphraseKey, kOldPassphraseKey}) {
    ADDONS_ASSIGN_OR_RETURN(const auto value, image->Metadata(key));
    if (!value.has_value() || value->empty()) continue;
    return seen.Refuse(
        absl::StatusCode::kFailedPrecondition,
        "it is encrypted, and its key stands at its image, wrapped for this "
        "volume id alone, so that ceph-csi could not open the test");
  }
  return image->Close();
}

absl::StatusOr<StartedTest> NewTest(OperationContext& context,
                                    const WholePoint& whole,
                                    const VolumeTarget& target) {
  const ResolvedVolume& volume = whole.seen.opened.volume;
  StartedTest test;
  VolumeId id;
  id.cluster_id = volume.cluster_id;
  id.pool_id = volume.pool_id;
  id.uuid = NewUuid();
  test.uuid = id.uuid;
  ADDONS_ASSIGN_OR_RETURN(test.volume_id, id.ToString());
  test.source = target.volume_id.text();
  test.source_image = volume.image_name().text();
  test.point = whole.record.header().point;
  test.made = whole.record.header().made;
  test.began = absl::ToUnixSeconds(absl::FromChrono(context.clock().WallNow()));
  test.bytes = whole.source.layout.bytes;
  return test;
}

/// As ceph-csi writes it, so that the ordinary driver mounts the volume.
absl::Status GiveEntry(Pool& pool, const std::string& instance,
                       const VolumeAttributes& of_source,
                       const StartedTest& test, std::string image_id) {
  VolumeAttributes entry;
  entry.request_name = test.request_name();
  entry.image_name = test.image();
  entry.image_id = std::move(image_id);
  entry.owner = of_source.owner;
  entry.kms_id = of_source.kms_id;
  entry.encryption_type = of_source.encryption_type;
  ADDONS_ASSIGN_OR_RETURN(
      const bool named,
      VolumeDirectory(pool, instance).Reserve(entry.request_name, test.uuid));
  if (!named) {
    return absl::InternalError(absl::StrCat(
        "Failed to give the test an entry of the journal: the name '",
        entry.request_name, "' is another volume's"));
  }
  return VolumeJournal(pool).Write(test.uuid, entry, "").status();
}

/// What else the image says of itself.
absl::Status SetTestMetadata(const WholePoint& whole, const StartedTest& test,
                             Image& image) {
  const SeenImage& seen = whole.seen;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> source,
      seen.opened.reads->OpenImageByIdReadOnly(seen.view.image_id));
  ADDONS_ASSIGN_OR_RETURN(const auto encrypted,
                          source->Metadata(kEncryptedKey));
  ADDONS_RETURN_IF_ERROR(source->Close());
  if (encrypted.has_value()) {
    ADDONS_RETURN_IF_ERROR(image.SetMetadata(kEncryptedKey, *encrypted));
  }
  // Its data are the same.
  if (const std::string who = MountRestrictionOf(seen.view); !who.empty()) {
    ADDONS_RETURN_IF_ERROR(image.SetMetadata(kServiceAccountKey, who));
  }
  return image.SetMetadata(
      kTestNote, absl::StrCat("point ", test.point, " of ", test.source));
}

/// Makes the image, and fills it. What it has made stays where it fails.
absl::StatusOr<Proof> Fill(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const VolumeTarget& target, StartedTest* made,
                           Pool& pool, WholePoint* whole) {
  const StartedTest& test = *made;
  ADDONS_RETURN_IF_ERROR(pool.CreateImage(test.image(), whole->source.layout));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool.OpenImage(test.image()));
  context.Step("copying the point");
  ADDONS_ASSIGN_OR_RETURN(
      Proof proof,
      ProveWholePoint(context, environment, target, whole,
                      [&](const std::vector<ImageData>& data) {
                        // The lease may be lost by now.
                        const absl::Status held = context.BeginMutation();
                        return held.ok() ? image->Write(data) : held;
                      }));
  if (proof.verdict() == Proof::Verdict::kUnclear) {
    return whole->seen.Refuse(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat(proof.found.damaged,
                     " of its objects may have old data in a part of a block, "
                     "or may be damaged: the record of point '",
                     test.point,
                     "', of a large image, does not tell, so nothing is "
                     "proven"));
  }
  if (proof.found.damaged > 0) {
    return whole->seen.Refuse(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat(
            proof.found.damaged,
            " of its objects do not hold what they held at point '", test.point,
            "', so it is not tested with them; `rbd-addons verify` names "
            "them"));
  }
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("giving the test its entry of the journal");
  ADDONS_RETURN_IF_ERROR(SetTestMetadata(*whole, test, *image));
  ADDONS_ASSIGN_OR_RETURN(std::string image_id, image->Id());
  ADDONS_RETURN_IF_ERROR(image->Close());
  ADDONS_RETURN_IF_ERROR(GiveEntry(pool, environment.options.leases.instance,
                                   whole->seen.opened.volume.attributes, test,
                                   std::move(image_id)));
  ADDONS_RETURN_IF_ERROR(MarkReady(pool, whole->seen.opened.volume.uuid, made));
  return proof;
}

/// ALREADY_EXISTS: there is one that can be used. What another one has left, or
/// who removed its volume, goes.
absl::Status MakeWay(LeasedContext& context, const WholePoint& whole,
                     const std::string& instance, const StartedTest& before,
                     Pool& pool) {
  if (before.ready) {
    ADDONS_ASSIGN_OR_RETURN(const bool there,
                            whole.seen.opened.reads->HasImage(before.image()));
    if (there) {
      return whole.seen.Refuse(
          absl::StatusCode::kAlreadyExists,
          absl::StrCat("it has one already, with point '", before.point,
                       "', since ", FormatUnixSeconds(before.began),
                       ": volume '", before.volume_id,
                       "'; end it first (`rbd-addons test stop`)"));
    }
  }
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("removing what a test that died has left");
  return RemoveTestVolume(pool, instance, whole.seen.opened.volume.uuid,
                          before);
}

absl::StatusOr<StartedFailover> Start(LeasedContext& context,
                                      ReplicationEnvironment& environment,
                                      const VolumeTarget& asked,
                                      const TestFailoverOptions& options) {
  context.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(
      const SeenImage seen,
      SeeImage(context, environment, asked, kStartAction, Access::kMutate));
  // Each further look is at the cluster on which the lease is.
  VolumeTarget target = asked;
  target.fsid = seen.opened.cluster().fsid();
  ADDONS_RETURN_IF_ERROR(CheckKey(seen));
  const std::string uuid = seen.opened.volume.uuid;
  context.Aim(LeaseOfTest(seen.opened.volume, uuid));
  ADDONS_RETURN_IF_ERROR(context.Take());
  ADDONS_ASSIGN_OR_RETURN(
      WholePoint whole,
      FindWholePoint(context, environment, target, kStartAction, options.point,
                     options.bytes_per_second));
  const std::string& instance = environment.options.leases.instance;
  ADDONS_ASSIGN_OR_RETURN(const auto tests,
                          ReadTests(*whole.seen.opened.reads));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          whole.seen.opened.volume.OpenPool(Access::kMutate));
  if (const auto before = tests.find(uuid); before != tests.end()) {
    ADDONS_RETURN_IF_ERROR(
        MakeWay(context, whole, instance, before->second, *pool));
  }
  ADDONS_RETURN_IF_ERROR(CheckTestRoom(whole));
  StartedFailover started;
  started.place = static_cast<const ResolvedPlace&>(whole.seen.opened.volume);
  ADDONS_ASSIGN_OR_RETURN(started.test, NewTest(context, whole, target));
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(WriteTest(*pool, uuid, started.test));
  auto proof = Fill(context, environment, target, &started.test, *pool, &whole);
  if (!proof.ok()) {
    const absl::Status removed =
        RemoveTestVolume(*pool, instance, uuid, started.test);
    if (!removed.ok()) {
      Log().warn("a test that was not finished stays volume={} image={}: {}",
                 Quoted(target.volume_id.text()),
                 Quoted(started.test.image().text()),
                 std::string(removed.message()));
    }
    return proof.status();
  }
  started.proof = *std::move(proof);
  Log().info("a test failover was made volume={} point={} test={}",
             Quoted(target.volume_id.text()), Quoted(started.test.point),
             Quoted(started.test.volume_id));
  return started;
}

/// The test of the volume with this uuid, or whose own volume has it.
const std::pair<const std::string, StartedTest>* FindTest(
    const std::map<std::string, StartedTest>& tests, const std::string& uuid) {
  for (const auto& test : tests) {
    if (test.first == uuid || test.second.uuid == uuid) return &test;
  }
  return nullptr;
}

/// In the pool and namespace of `place`, of the volume with that uuid.
absl::StatusOr<StartedTest> Stop(LeasedContext& context,
                                 const std::string& instance,
                                 const ResolvedPlace& place) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          place.OpenPool(Access::kMutate));
  const auto find =
      [&]() -> absl::StatusOr<std::pair<std::string, StartedTest>> {
    ADDONS_ASSIGN_OR_RETURN(const auto tests, ReadTests(*pool));
    const auto* const found = FindTest(tests, place.uuid);
    if (found == nullptr) return std::pair<std::string, StartedTest>();
    return std::pair<std::string, StartedTest>(*found);
  };
  ADDONS_ASSIGN_OR_RETURN(auto found, find());
  if (found.first.empty()) return found.second;
  context.Aim(LeaseOfTest(place, found.first));
  ADDONS_RETURN_IF_ERROR(context.Take());
  // Somebody else may have ended it meanwhile.
  ADDONS_ASSIGN_OR_RETURN(found, find());
  if (found.first.empty()) return found.second;
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("removing the test's image");
  const absl::Status removed =
      RemoveTestVolume(*pool, instance, found.first, found.second);
  if (!removed.ok()) {
    return Recode(
        removed, removed.code(),
        absl::StrCat("Failed to ", kStopAction, " image '",
                     place.Spec(found.second.source_image), "' (volume '",
                     found.second.source, "'): ", removed.message()));
  }
  Log().info("a test failover was ended volume={} test={}",
             Quoted(found.second.source), Quoted(found.second.volume_id));
  return found.second;
}

}  // namespace

absl::StatusOr<StartedFailover> StartTest(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          const TestFailoverOptions& options) {
  if (!options.point.empty()) {
    ADDONS_RETURN_IF_ERROR(CheckPointName(options.point));
  }
  return RunLeased(context, environment.leases, kVerb,
                   [&](LeasedContext& leased) {
                     return Start(leased, environment, target, options);
                   });
}

absl::StatusOr<StartedTest> StopTest(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target) {
  return RunLeased(
      context, environment.leases, kVerb,
      [&](LeasedContext& leased) -> absl::StatusOr<StartedTest> {
        leased.Step("looking for the test");
        ADDONS_ASSIGN_OR_RETURN(const OpenedVolume opened,
                                OpenVolume(environment, target, Access::kMutate,
                                           ResolveDeadline(leased)));
        return Stop(leased, environment.options.leases.instance, opened.volume);
      });
}

absl::StatusOr<StartedTest> StopTestAt(OperationContext& context,
                                       ReplicationEnvironment& environment,
                                       const ResolvedPlace& place) {
  return RunLeased(
      context, environment.leases, kVerb, [&](LeasedContext& leased) {
        return Stop(leased, environment.options.leases.instance, place);
      });
}

absl::StatusOr<std::vector<ListedTest>> ListTests(
    OperationContext& context, const std::vector<ResolvedPlace>& places,
    std::vector<std::string>* unseen) {
  std::vector<ListedTest> listed;
  for (const ResolvedPlace& place : places) {
    if (context.stop_token().stop_requested()) {
      return absl::CancelledError("nobody waits for it any more");
    }
    const auto look = [&]() -> absl::Status {
      ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                              place.OpenPool(Access::kRead));
      ADDONS_ASSIGN_OR_RETURN(auto tests, ReadTests(*pool));
      for (auto& [source, test] : tests) {
        ADDONS_ASSIGN_OR_RETURN(const bool there, pool->HasImage(test.image()));
        ListedTest& one = listed.emplace_back();
        one.place = place;
        one.state = !test.ready ? ListedTest::State::kMaking
                    : there     ? ListedTest::State::kReady
                                : ListedTest::State::kGone;
        one.test = std::move(test);
      }
      return absl::OkStatus();
    };
    if (const absl::Status looked = look(); !looked.ok()) {
      unseen->push_back(
          absl::StrCat("pool '", place.pool_name, "': ", looked.message()));
    }
  }
  std::sort(listed.begin(), listed.end(),
            [](const ListedTest& one, const ListedTest& other) {
              return one.test.began < other.test.began;
            });
  return listed;
}

}  // namespace addons
