// What is mirrored here gets its entry in ceph-csi's journal: byte for byte as
// ceph-csi writes it, whole or not at all for a reader, also where a call dies.

#include "inspection/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ceph/pool.h"
#include "inspection/named_pool.h"
#include "replication/environment.h"
#include "replication/steps/promote.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/unit/volume/journal_fixtures.h"
#include "volume/told_entry.h"
#include "volume/volume_directory.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Metadata = std::map<std::string, std::string>;

constexpr char kPool[] = "replicapool";
constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kOther[] = "b891b493-7754-470d-b2a0-4ca18f698b29";
constexpr char kImage[] = "csi-vol-5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kDirectory[] = "csi.volumes.default";
constexpr char kObject[] = "csi.volume.5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kPv[] = "pvc-1";
const Metadata kNamed = {{"csi.storage.k8s.io/pv/name", kPv},
                         {"csi.storage.k8s.io/pvc/namespace", "ns1"}};

/// Two sites; images are mirrored from a to b, whose journal is empty.
class AdoptScene {
 public:
  AdoptScene() {
    request.instance_id = "default";
    dir_.Write("config.json", pair.ConfigJson());
    dir_.Write("cluster-mapping.json", pair.MappingJson());
    place.cluster_id = ClusterId("site-b");
    place.pool_id = pair.pool_id(b);
    place.pool_name = kPool;
    place.cluster = pair.cluster(b);
  }

  /// A primary on a with its copy on b.
  void AddMirrored(const std::string& image, const Metadata& metadata,
                   const std::string& space = "") {
    a.AddImage(kPool, space, image);
    for (const auto& [key, value] : metadata) {
      a.SetImageMetadata(image, key, value);
    }
    ASSERT_OK(a.Write(image, 1));
    a.EnableMirroring(image);
    ASSERT_TRUE(world.AdvanceUntil([&] { return pair.InSync(b, image); },
                                   std::chrono::minutes(2)));
    List(image, space);
  }
  /// librbd's lists of images on b, which the simulated one does not keep.
  void List(const std::string& image, const std::string& space = "") {
    const std::string id = b.ImageId(image);
    const auto size = static_cast<char>(image.size());
    b.AddOmapValue(kPool, space, "rbd_directory", "id_" + id,
                   std::string({size, 0, 0, 0}) + image);
    b.AddOmapValue(kPool, space, "rbd_mirroring", "image_" + id, "");
  }

  std::vector<Adoption> Plan() {
    TestOperationContext context(world);
    auto planned = PlanAdoption(context, place, request);
    EXPECT_OK(planned);
    return planned.value_or(std::vector<Adoption>());
  }
  std::vector<Adoption> Write() {
    TestOperationContext context(world);
    auto written = addons::Adopt(context, leases_, place, request);
    EXPECT_OK(written);
    return written.value_or(std::vector<Adoption>());
  }
  /// Of the only image that there is.
  Adoption WriteOne() { return Only(Write()); }
  Adoption PlanOne() { return Only(Plan()); }

  /// What a reader of the journal finds of kUuid.
  absl::StatusOr<VolumeAttributes> Read() {
    const auto pool = place.OpenPool(Access::kRead);
    EXPECT_OK(pool);
    return VolumeJournal(**pool).Read(kUuid);
  }
  OmapValues Object() {
    return b.HasOmap(kPool, "", kObject) ? b.Omap(kPool, "", kObject)
                                         : OmapValues();
  }
  OmapValues Directory() {
    return b.HasOmap(kPool, "", kDirectory) ? b.Omap(kPool, "", kDirectory)
                                            : OmapValues();
  }
  /// What an entry of kUuid with this name looks like, and no more.
  void ExpectEntry(const std::string& name) {
    const OmapValues object = Object();
    EXPECT_THAT(object, ::testing::IsSupersetOf(
                            OmapValues{{"csi.volname", name},
                                       {"csi.imagename", kImage},
                                       {"csi.imageid", b.ImageId(kImage)}}));
    EXPECT_THAT(Directory(),
                ElementsAre(Pair(absl::StrCat("csi.volume.", name), kUuid)));
  }

  FakeWorld world;
  MirroredPair pair{world};
  FakeSite& a = pair.a();
  FakeSite& b = pair.b();
  ResolvedPlace place;
  AdoptRequest request;

 private:
  static Adoption Only(std::vector<Adoption> all) {
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Adoption() : std::move(all.front());
  }

  const TempDir dir_;

 public:
  ConfigStore config{dir_.path()};
  Resolver resolver{config, pair.provider()};
  ReplicationEnvironment environment{resolver, config, world, {}};

 private:
  LeaseKeeper& leases_ = environment.leases;
};

class AdoptTest : public ::testing::Test, public AdoptScene {
 protected:
  void TearDown() override { EXPECT_THAT(world.Violations(), IsEmpty()); }
};

/// The fixtures' volumes of one pool and namespace: keys and values by object.
std::map<std::string, OmapValues> FixturesIn(int64_t pool_id,
                                             const std::string& space) {
  std::map<std::string, OmapValues> objects;
  for (const FixtureEntry& entry : kFixtureEntries) {
    if (entry.pool_id != pool_id || space != entry.rados_namespace ||
        !absl::StartsWith(entry.object, "csi.volume") ||
        absl::StartsWith(entry.object, "csi.volume.group.")) {
      continue;
    }
    objects[entry.object][entry.key] = entry.value;
  }
  return objects;
}

/// What the image of a fixture tells: half of them as ceph-csi does, the other
/// as Enable notes it.
Metadata ToldBy(const OmapValues& object, const std::string& uuid, bool note) {
  const auto at = [&object](const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? "" : found->second;
  };
  Metadata metadata;
  VolumeAttributes entry;
  entry.request_name = at("csi.volname");
  entry.image_name = ImageName(at("csi.imagename"));
  entry.owner = at("csi.volume.owner");
  entry.kms_id = at("csi.volume.encryptKMS");
  entry.encryption_type = at("csi.volume.encryptionType");
  if (!entry.kms_id.empty()) {
    metadata["rbd.csi.ceph.com/encrypted"] = "encrypted";
  }
  if (note || !entry.kms_id.empty()) {
    metadata[kVolumeNoteKey] = VolumeNoteDue(entry, uuid, metadata);
    return metadata;
  }
  metadata["csi.storage.k8s.io/pv/name"] = entry.request_name;
  if (!entry.owner.empty()) {
    metadata["csi.storage.k8s.io/pvc/namespace"] = entry.owner;
  }
  return metadata;
}

/// With the id of the image on b in place of the recorded one's.
void ExpectAsRecorded(AdoptScene& scene, int64_t pool_id,
                      const std::string& space, bool note) {
  auto expected = FixturesIn(pool_id, space);
  ASSERT_FALSE(expected.empty());
  for (auto& [name, object] : expected) {
    if (name == kDirectory) continue;
    const std::string image = object.at("csi.imagename");
    scene.AddMirrored(image, ToldBy(object, UuidIn(ImageName(image)), note),
                      space);
    object["csi.imageid"] = scene.b.ImageId(image);
  }
  scene.place.rados_namespace = space;
  const auto written = scene.Write();
  EXPECT_EQ(written.size(), expected.size() - 1);
  for (const Adoption& adoption : written) {
    EXPECT_EQ(adoption.outcome, AdoptOutcome::kWritten) << adoption.text;
    EXPECT_FALSE(adoption.generated_name);
  }
  for (const auto& [name, object] : expected) {
    EXPECT_EQ(scene.b.Omap(kPool, space, name), object) << name;
  }
}

TEST_F(AdoptTest, WritesByteForByteWhatCephCsiWrote) {
  ExpectAsRecorded(*this, 2, "", false);
}

TEST_F(AdoptTest, TheNoteOfEnableTellsTheSame) {
  ExpectAsRecorded(*this, 2, "", true);
}

TEST_F(AdoptTest, ANamespaceHasAJournalOfItsOwn) {
  place.cluster_id = ClusterId("site-b-ns");
  ExpectAsRecorded(*this, 2, "tenant1", false);
}

TEST_F(AdoptTest, ThePlanTellsAndChangesNothing) {
  AddMirrored(kImage, kNamed);
  world.ClearCalls();
  const Adoption planned = PlanOne();
  EXPECT_EQ(planned.outcome, AdoptOutcome::kWouldWrite);
  EXPECT_EQ(planned.image, absl::StrCat(kPool, "/", kImage));
  EXPECT_EQ(planned.volume_id, pair.VolumeId(b, kUuid));
  EXPECT_EQ(planned.entry.request_name, kPv);
  EXPECT_EQ(planned.entry.owner, "ns1");
  EXPECT_EQ(planned.entry.image_id, b.ImageId(kImage));
  EXPECT_EQ(world.CountMutations(), 0);
}

TEST_F(AdoptTest, WhatHasItsEntryIsLeftAlone) {
  AddMirrored(kImage, kNamed);
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kWritten);
  const OmapValues before = Object();
  for (const bool known_otherwise : {false, true}) {
    // The name that the entry has counts.
    if (known_otherwise) {
      b.SetOmap(kPool, "", kObject,
                {{"csi.volname", "pvc-x"},
                 {"csi.imagename", kImage},
                 {"csi.imageid", b.ImageId(kImage)}});
      b.SetOmap(kPool, "", kDirectory, {{"csi.volume.pvc-x", kUuid}});
    }
    const Adoption again = WriteOne();
    EXPECT_EQ(again.outcome, AdoptOutcome::kKnown) << again.text;
    EXPECT_EQ(again.volume_id, pair.VolumeId(b, kUuid));
    ExpectEntry(known_otherwise ? "pvc-x" : kPv);
  }
  EXPECT_EQ(before.size(), 4U);
}

TEST_F(AdoptTest, ThenItIsPromotedByItsId) {
  AddMirrored(kImage, kNamed);
  const Adoption adopted = WriteOne();
  world.Advance(std::chrono::seconds(1));
  TestOperationContext context(world);
  context.SetDeadline(std::chrono::minutes(10));
  EXPECT_OK(Promote(context, environment,
                    {{VolumeHandle(adopted.volume_id), b.user()},
                     Force::kYes,
                     *ReplicationParameters::Parse({})}));
  EXPECT_TRUE(b.Info(kImage).primary);
}

// --- what a call leaves that dies --------------------------------------------

struct Strike {
  const char* name;
  int error;  // 0: the process dies
  bool after;
};
constexpr Strike kStrikes[] = {{"dies before", 0, false},
                               {"dies after", 0, true},
                               {"fails", EIO, false},
                               {"failed after all", EIO, true}};

/// Each way in which an image comes to its entry.
struct Story {
  const char* name;
  std::function<void(AdoptScene&)> prepare;
  std::string pv;  // the name in the end
};

std::vector<Story> Stories() {
  return {
      {"nothing is there", [](AdoptScene& s) { s.AddMirrored(kImage, kNamed); },
       kPv},
      {"nobody tells the name",
       [](AdoptScene& s) { s.AddMirrored(kImage, {}); }, kImage},
      {"a generated name gives way",
       [](AdoptScene& s) {
         s.AddMirrored(kImage, {});
         EXPECT_EQ(s.WriteOne().outcome, AdoptOutcome::kWritten);
         s.request.images = {ImageName(kImage)};
         s.request.request_name = kPv;
       },
       kPv},
      {"the image was made anew",
       [](AdoptScene& s) {
         s.AddMirrored(kImage, kNamed);
         EXPECT_EQ(s.WriteOne().outcome, AdoptOutcome::kWritten);
         s.b.AddOmapValue(kPool, "", kObject, "csi.imageid", "1031a976f30a");
       },
       kPv},
      {"the name was lost",
       [](AdoptScene& s) {
         s.AddMirrored(kImage, kNamed);
         EXPECT_EQ(s.WriteOne().outcome, AdoptOutcome::kWritten);
         s.b.SetOmap(kPool, "", kDirectory, {});
       },
       kPv},
      {"a stub of a lookup is there",
       [](AdoptScene& s) {
         s.AddMirrored(kImage, kNamed);
         s.b.SetOmap(kPool, "", kObject, {{"csi.imageid", "1031a976f30a"}});
       },
       kPv},
  };
}

/// A reader finds the whole entry or none.
void ExpectWholeOrNothing(AdoptScene& scene) {
  const auto entry = scene.Read();
  if (absl::IsNotFound(entry.status())) return;
  ASSERT_OK(entry);
  EXPECT_EQ(entry->image_name, ImageName(kImage));
  const OmapValues object = scene.Object();
  EXPECT_TRUE(object.contains("csi.imagename"));
  EXPECT_TRUE(object.contains("csi.imageid"));
}

int CountChanges(const Story& story) {
  AdoptScene scene;
  story.prepare(scene);
  scene.world.ClearCalls();
  EXPECT_EQ(scene.WriteOne().outcome, AdoptOutcome::kWritten);
  scene.ExpectEntry(story.pv);
  return scene.world.CountMutations();
}

TEST(AdoptCrashTest, WhatDiesAtAnyChangeIsFinishedByTheNextCall) {
  for (const Story& story : Stories()) {
    const int changes = CountChanges(story);
    EXPECT_GE(changes, 1) << story.name;
    for (const Strike& strike : kStrikes) {
      for (int at = 1; at <= changes; ++at) {
        SCOPED_TRACE(absl::StrCat(story.name, ": ", strike.name, " ", at));
        AdoptScene scene;
        story.prepare(scene);
        scene.world.StrikeAtMutation(at, strike.error, strike.after);
        try {
          TestOperationContext context(scene.world);
          const auto struck = addons::Adopt(context, scene.environment.leases,
                                            scene.place, scene.request);
          if (struck.ok()) {
            EXPECT_NE(struck->front().outcome, AdoptOutcome::kRefused)
                << struck->front().text;
          }
        } catch (const FakeCrash&) {
        }
        scene.world.SetCallHook(nullptr);
        ExpectWholeOrNothing(scene);
        const Adoption again = scene.WriteOne();
        EXPECT_TRUE(again.outcome == AdoptOutcome::kWritten ||
                    again.outcome == AdoptOutcome::kKnown)
            << again.text;
        scene.ExpectEntry(story.pv);
        EXPECT_THAT(scene.world.Violations(), IsEmpty());
      }
    }
  }
}

TEST_F(AdoptTest, AReservationThatWasNotFinishedTellsTheName) {
  AddMirrored(kImage, {});
  // As ceph-csi's controller leaves it that died between its steps.
  b.SetOmap(kPool, "", kDirectory, {{"csi.volume.pvc-known", kUuid}});
  b.SetOmap(kPool, "", kObject, {});
  const Adoption adopted = WriteOne();
  EXPECT_EQ(adopted.outcome, AdoptOutcome::kWritten) << adopted.text;
  EXPECT_FALSE(adopted.generated_name);
  ExpectEntry("pvc-known");
}

// --- two at once -------------------------------------------------------------

/// ceph-csi writes the entry of kUuid under `name` where the n-th change of the
/// adoption would be.
Adoption BesideCephCsi(AdoptScene& scene, int n, const std::string& name) {
  const auto left = std::make_shared<std::atomic<int>>(n);
  scene.world.SetCallHook([&scene, left, name](absl::string_view,
                                               absl::string_view,
                                               bool mutation) {
    if (!mutation || --*left != 0) return 0;
    // It makes the object exclusively.
    if (scene.b.HasOmap(kPool, "", kObject)) return 0;
    scene.b.AddOmapValue(kPool, "", kDirectory, "csi.volume." + name, kUuid);
    scene.b.SetOmap(kPool, "", kObject,
                    {{"csi.volname", name},
                     {"csi.imagename", kImage},
                     {"csi.imageid", scene.b.ImageId(kImage)},
                     {"csi.volume.owner", "ns1"}});
    return 0;
  });
  Adoption adopted = scene.WriteOne();
  scene.world.SetCallHook(nullptr);
  return adopted;
}

TEST(AdoptRaceTest, CephCsiMayWriteItAtAnyMoment) {
  for (int at = 1; at <= 8; ++at) {
    for (const std::string name : {kPv, "pvc-other"}) {
      SCOPED_TRACE(absl::StrCat(name, " at ", at));
      AdoptScene scene;
      scene.AddMirrored(kImage, kNamed);
      const Adoption adopted = BesideCephCsi(scene, at, name);
      EXPECT_NE(adopted.outcome, AdoptOutcome::kRefused) << adopted.text;
      const auto entry = scene.Read();
      ASSERT_OK(entry);
      // Whoever was first has it, with a name that leads there.
      EXPECT_EQ(entry->image_id, scene.b.ImageId(kImage));
      scene.ExpectEntry(entry->request_name);
      if (adopted.outcome == AdoptOutcome::kWritten) {
        EXPECT_EQ(entry->request_name, kPv);
      } else {
        EXPECT_EQ(entry->request_name, "pvc-other");
        EXPECT_EQ(scene.WriteOne().outcome, AdoptOutcome::kKnown);
      }
    }
  }
}

TEST_F(AdoptTest, ANameThatIsTakenMeanwhileIsLeftWithTheOther) {
  AddMirrored(kImage, kNamed);
  const auto first = std::make_shared<std::atomic<bool>>(true);
  world.SetCallHook(
      [this, first](absl::string_view, absl::string_view call, bool mutation) {
        if (mutation && call == "rados_write_op_omap_set2" &&
            first->exchange(false)) {
          b.AddOmapValue(kPool, "", kDirectory,
                         absl::StrCat("csi.volume.", kPv), kOther);
        }
        return 0;
      });
  const Adoption adopted = WriteOne();
  world.SetCallHook(nullptr);
  EXPECT_EQ(adopted.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(adopted.text, HasSubstr("has just given the name 'pvc-1'"));
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
  EXPECT_EQ(Directory().at(absl::StrCat("csi.volume.", kPv)), kOther);
}

TEST_F(AdoptTest, AnEntryThatIsRemovedMeanwhileIsNotMadeAnew) {
  AddMirrored(kImage, kNamed);
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kWritten);
  b.SetOmap(kPool, "", kDirectory, {});
  const auto first = std::make_shared<std::atomic<bool>>(true);
  world.SetCallHook(
      [this, first](absl::string_view, absl::string_view call, bool mutation) {
        // What a deletion of the volume leaves, but for the object itself.
        if (mutation && call == "rados_write_op_omap_set2" &&
            first->exchange(false)) {
          b.SetOmap(kPool, "", kObject, {});
        }
        return 0;
      });
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kFailed);
  world.SetCallHook(nullptr);
  EXPECT_THAT(Object(), IsEmpty());
  EXPECT_THAT(Directory(), IsEmpty());
}

TEST_F(AdoptTest, WhatItAnswersIsWhatStandsThere) {
  AddMirrored(kImage, kNamed);
  world.SetCallHook(
      nullptr, [this](absl::string_view, absl::string_view, bool mutation) {
        if (mutation && Object().contains("csi.volname")) {
          b.AddOmapValue(kPool, "", kObject, "csi.imageid", "1031a976f30a");
        }
        return 0;
      });
  const Adoption failed = WriteOne();
  world.SetCallHook(nullptr);
  EXPECT_EQ(failed.outcome, AdoptOutcome::kFailed);
  EXPECT_THAT(failed.text, HasSubstr("has just changed its entry"));
}

// --- what is refused, and why ------------------------------------------------

TEST_F(AdoptTest, AnImageThatIsNoCopyIsRefused) {
  b.AddImage(kPool, "", kImage);
  request.images = {ImageName(kImage)};
  const Adoption refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("it is not mirrored"));
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
}

TEST_F(AdoptTest, AnImageThatIsNotThereIsRefusedByWhatBecameOfIt) {
  request.images = {ImageName(kImage)};
  EXPECT_THAT(WriteOne().text, HasSubstr("there is no such image"));
  b.AddOmapValue(kPool, "", "rbd_trash", "id_1031a976f30a",
                 absl::StrCat("....", kImage));
  const Adoption refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("it is in the trash"));
  // Of a pool, with mirroring that is noted still.
  request.images.clear();
  b.AddOmapValue(kPool, "", "rbd_mirroring", "image_1031a976f30a", "");
  EXPECT_THAT(WriteOne().text, HasSubstr("it is in the trash, or being"));
}

TEST_F(AdoptTest, AnImageOnItsWayOutOrInIsRefused) {
  AddMirrored(kImage, kNamed);
  for (const auto& [state, text] :
       {std::pair{MirrorImageState::kDisabling, "being disabled"},
        std::pair{MirrorImageState::kCreating, "just making it"}}) {
    b.SetMirrorImageState(kImage, state);
    const Adoption refused = WriteOne();
    EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
    EXPECT_THAT(refused.text, HasSubstr(text));
  }
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
}

TEST_F(AdoptTest, WhatCephCsiDidNotMakeIsNoVolume) {
  AddMirrored("vm-101-disk-0", {});
  AddMirrored(absl::StrCat("csi-snap-", kUuid), {});
  AddMirrored(absl::StrCat("mine-", kOther), {});
  b.SetOmap(kPool, "", absl::StrCat("csi.snap.", kOther),
            {{"csi.snapname", "snap-1"}});
  world.ClearCalls();
  std::vector<std::string> texts;
  for (const Adoption& adoption : Write()) {
    EXPECT_EQ(adoption.outcome, AdoptOutcome::kNoVolume);
    texts.push_back(adoption.text);
  }
  EXPECT_THAT(texts, UnorderedElementsAre(HasSubstr("ceph-csi did not make it"),
                                          HasSubstr("holds a snapshot"),
                                          HasSubstr("holds a snapshot")));
}

TEST_F(AdoptTest, AnEncryptedImageNeedsItsKms) {
  AddMirrored(kImage, {{"csi.storage.k8s.io/pv/name", kPv},
                       {"rbd.csi.ceph.com/encrypted", "encrypted"}});
  const Adoption refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("--kms"));
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
  request.kms_id = "kms-md";
  request.encryption_type = "block";
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kWritten);
  EXPECT_THAT(Object(),
              UnorderedElementsAre(Pair("csi.volname", kPv),
                                   Pair("csi.imagename", kImage),
                                   Pair("csi.imageid", b.ImageId(kImage)),
                                   Pair("csi.volume.encryptKMS", "kms-md"),
                                   Pair("csi.volume.encryptionType", "block")));
}

// ceph-csi marks an image whose blocks are encrypted, and no other.
TEST_F(AdoptTest, FilesAreEncryptedWhereAPersonSaysSo) {
  AddMirrored(kImage, kNamed);
  request.kms_id = "kms-md";
  request.encryption_type = "file";
  EXPECT_EQ(PlanOne().entry.kms_id, "");
  request.images = {ImageName(kImage)};
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kWritten);
  EXPECT_EQ(Object().at("csi.volume.encryptKMS"), "kms-md");
  EXPECT_EQ(Object().at("csi.volume.encryptionType"), "file");
}

TEST_F(AdoptTest, TheKmsIsForEncryptedImagesOnly) {
  AddMirrored(kImage, kNamed);
  request.kms_id = "kms-md";
  request.encryption_type = "block";
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kWritten);
  EXPECT_FALSE(Object().contains("csi.volume.encryptKMS"));
}

TEST_F(AdoptTest, AnEntryThatDoesNotFitIsRefusedByName) {
  AddMirrored(kImage, kNamed);
  const OmapValues other = {{"csi.volname", "pvc-x"},
                            {"csi.imagename", "team-x-1"}};
  b.SetOmap(kPool, "", kObject, other);
  Adoption refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("with the image 'team-x-1'"));
  EXPECT_EQ(Object(), other);

  // Nor one whose name is that of another.
  const OmapValues entry = {{"csi.volname", "pvc-x"},
                            {"csi.imagename", kImage},
                            {"csi.imageid", b.ImageId(kImage)}};
  b.SetOmap(kPool, "", kObject, entry);
  b.SetOmap(kPool, "", kDirectory, {{"csi.volume.pvc-x", kOther}});
  refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr(kOther));
  EXPECT_EQ(Object(), entry);

  // Nor is it given another name.
  b.SetOmap(kPool, "", kDirectory, {{"csi.volume.pvc-x", kUuid}});
  request.images = {ImageName(kImage)};
  request.request_name = "pvc-y";
  refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("with the name 'pvc-x'"));
  EXPECT_EQ(Object(), entry);
}

TEST_F(AdoptTest, ANameOfAnotherVolumeIsNotTaken) {
  b.SetOmap(kPool, "", kDirectory,
            {{absl::StrCat("csi.volume.", kPv), kOther}});
  VolumeAttributes entry;
  entry.request_name = kPv;
  AddMirrored(kImage, {{kVolumeNoteKey, VolumeNoteDue(entry, kUuid, {})}});
  Adoption refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("'pvc-1', which another volume has"));
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
}

TEST_F(AdoptTest, NorIsOneThatAPersonTells) {
  AddMirrored(kImage, kNamed);
  b.SetOmap(kPool, "", kDirectory, {{"csi.volume.pvc-9", kOther}});
  request.images = {ImageName(kImage)};
  request.request_name = "pvc-9";
  const Adoption refused = WriteOne();
  EXPECT_EQ(refused.outcome, AdoptOutcome::kRefused);
  EXPECT_THAT(refused.text, HasSubstr("'pvc-9', which another volume has"));
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
}

// Clones inherit metadata, so that what ceph-csi notes there may be another
// volume's; what Enable notes says whose it is.
TEST_F(AdoptTest, ANameThatTwoImagesTellIsNobodys) {
  AddMirrored(kImage, kNamed);
  AddMirrored(MirroredPair::ImageOf(kOther), kNamed);
  for (const Adoption& adoption : Write()) {
    EXPECT_EQ(adoption.outcome, AdoptOutcome::kWritten) << adoption.text;
    EXPECT_TRUE(adoption.generated_name);
    EXPECT_THAT(adoption.text, HasSubstr("'pvc-1', which another volume has"));
  }
  EXPECT_THAT(
      Directory(),
      UnorderedElementsAre(
          Pair(absl::StrCat("csi.volume.", kImage), kUuid),
          Pair(absl::StrCat("csi.volume.", MirroredPair::ImageOf(kOther)),
               kOther)));
}

TEST_F(AdoptTest, OneUuidIsOneVolumeOnly) {
  const std::string copy = absl::StrCat("team-x-", kUuid);
  AddMirrored(kImage, kNamed);
  AddMirrored(copy, {});
  for (const Adoption& adoption : Write()) {
    EXPECT_EQ(adoption.outcome, AdoptOutcome::kRefused);
    EXPECT_THAT(adoption.text, HasSubstr("several images end with this uuid"));
  }
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
  request.images = {ImageName(copy)};
  EXPECT_EQ(WriteOne().outcome, AdoptOutcome::kWritten);
  EXPECT_EQ(Object().at("csi.imagename"), copy);
}

TEST_F(AdoptTest, WhatCannotBeSeenIsNoRefusal) {
  AddMirrored(kImage, kNamed);
  world.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals_by_keys2" ? ETIMEDOUT : 0;
  });
  const Adoption failed = WriteOne();
  world.SetCallHook(nullptr);
  EXPECT_EQ(failed.outcome, AdoptOutcome::kFailed);
  EXPECT_THAT(failed.text, HasSubstr("it could not be looked at"));
  EXPECT_FALSE(b.HasOmap(kPool, "", kObject));
  world.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals2" ? ETIMEDOUT : 0;
  });
  TestOperationContext context(world);
  EXPECT_THAT(PlanAdoption(context, place, request).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  world.SetCallHook(nullptr);
}

// --- where -------------------------------------------------------------------

TEST_F(AdoptTest, ANamespaceWithoutAClusterIsRefused) {
  const std::vector<ClusterId> home = {ClusterId("site-b"),
                                       ClusterId("site-b-ns")};
  const auto find = [&](const std::string& cluster, const std::string& pool,
                        const std::string& space) {
    NamedPool named;
    named.cluster_id = ClusterId(cluster);
    named.pool = pool;
    named.user = b.user();
    return FindAdoptionPlace(config, pair.provider(), home, named, space);
  };
  auto found = find("", kPool, "tenant1");
  ASSERT_OK(found);
  EXPECT_EQ(found->cluster_id, ClusterId("site-b-ns"));
  EXPECT_EQ(found->rados_namespace, "tenant1");
  found = find("", kPool, "");
  ASSERT_OK(found);
  EXPECT_EQ(found->cluster_id, ClusterId("site-b"));
  found = find("site-b-ns", kPool, "");
  ASSERT_OK(found);
  EXPECT_EQ(found->rados_namespace, "tenant1");
  EXPECT_THAT(find("", kPool, "tenant2"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the namespace 'tenant2'")));
  EXPECT_THAT(find("site-a", kPool, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(find("", "none", ""), StatusIs(absl::StatusCode::kNotFound));
}

TEST(SeveralClustersTest, NamesTheFirstOnesAndCountsTheRest) {
  std::vector<ClusterEntry> entries(10);
  std::vector<const ClusterEntry*> meant;
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].cluster_id = ClusterId(absl::StrCat("site-", i));
    meant.push_back(&entries[i]);
  }
  EXPECT_THAT(SeveralClusters(meant),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("has several clusters: 'site-0', "),
                             HasSubstr("'site-7', and 2 more"))));
}

}  // namespace
}  // namespace addons::testing
