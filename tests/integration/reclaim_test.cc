// ControllerReclaimSpace of the daemon on real clusters with bluestore: what is
// freed, and that the content stays.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/cluster/reclaim_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class ReclaimTest : public ReclaimBed {};

void ExpectFreed(int64_t freed, uint64_t expected) {
  EXPECT_NEAR(static_cast<double>(freed), static_cast<double>(expected),
              static_cast<double>(kMiB));
}

TEST_F(ReclaimTest, ZerosAreFreedInFullAndTheContentStays) {
  const TestVolume volume = MakeHollowVolume();
  const uint64_t digest = Digest("a", volume);
  const int64_t before = StoredBytes();
  const double sparsified = Ended("sparsified");
  const double examined = Metric("reclaim_examined_bytes_total");
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Ended("sparsified"), sparsified + 1);
  EXPECT_EQ(Metric("reclaim_examined_bytes_total"), examined + 128 * kMiB);
  EXPECT_GE(Metric("ceph_call_duration_seconds_count{call=\"rbd_sparsify_with_"
                   "progress\"}"),
            1);
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(result.before, 128 * kMiB);
  EXPECT_EQ(result.after, 64 * kMiB);  // objects that are gone
  ExpectFreed(before - StoredBytes(), kZeros);
  EXPECT_EQ(Digest("a", volume), digest);
  ExpectLeft(volume);
}

TEST_F(ReclaimTest, TheSparseSizeDecidesWhatCountsAsZeros) {
  const TestVolume volume = MakeHollowVolume();
  const int64_t before = StoredBytes();
  EXPECT_THAT(Reclaim(volume, {{"sparseSize", "8Mi"}}).status,
              HasCode(Code::INVALID_ARGUMENT));
  ExpectFreed(before - StoredBytes(), 0);
  EXPECT_THAT(Reclaim(volume, {{"sparseSize", "4Mi"}}).status,
              HasCode(Code::OK));
  ExpectFreed(before - StoredBytes(), 64 * kMiB);
  EXPECT_THAT(Reclaim(volume, {{"sparseSize", "64Ki"}}).status,
              HasCode(Code::OK));
  ExpectFreed(before - StoredBytes(), kZeros);
}

TEST_F(ReclaimTest, AnImageWithASnapshotIsSkippedBecauseItWouldGrow) {
  const TestVolume volume = MakeHollowVolume();
  Rbd("a", {"snap", "create", "--no-progress", ImageSpec(volume) + "@s"});
  const int64_t before = StoredBytes();
  EXPECT_THAT(Reclaim(volume).status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "snapshots");
  EXPECT_THAT(Reason(volume), HasSubstr("1 user"));
  ExpectFreed(before - StoredBytes(), 0);

  const uint64_t digest = Digest("a", volume);
  EXPECT_THAT(Reclaim(volume, {{"withSnapshots", "true"}}).status,
              HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(Digest("a", volume), digest);
  // What is half zeros was copied, without its zeros.
  ExpectFreed(StoredBytes() - before, 16 * kMiB);
}

TEST_F(ReclaimTest, APrimaryIsSkippedForItsSnapshotsAndASecondaryAsSuch) {
  const TestVolume volume = MakeReplicatedVolume({}, {"--size", "128M"});
  FillHollow(volume);
  Synchronize("a", volume);
  EXPECT_THAT(Reclaim(volume).status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "snapshots");
  EXPECT_THAT(Reclaim(volume, {{"withSnapshots", "true"}}, "b").status,
              HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume, "b"), "secondary");

  // The peer's rbd-mirror has the primary open and is no workload.
  EXPECT_THAT(Reclaim(volume, {{"withSnapshots", "true"}}).status,
              HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  Synchronize("a", volume);
  EXPECT_EQ(Digest("a", volume), Digest("b", volume));
}

// Where space is wanted most. A lease is an object of its own.
TEST_F(ReclaimTest, SpaceIsFreedInAFullPool) {
  const TestVolume volume = MakeHollowVolume();
  const uint64_t digest = Digest("a", volume);
  const int64_t before = StoredBytes();
  SetQuota("a", "max_bytes", "1048576");
  EXPECT_TRUE(Eventually([] { return IsFull("a"); }));
  const Reclaimed result = Reclaim(volume);
  // Before anything can end the test: other tests share the pool.
  SetQuota("a", "max_bytes", "0");
  EXPECT_TRUE(Eventually([] { return !IsFull("a"); }));
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  ExpectFreed(before - StoredBytes(), kZeros);
  EXPECT_EQ(Digest("a", volume), digest);
  ExpectLeft(volume);
}

// Each object of zeros keeps an OSD of that release busy for seconds. The pool
// has fewer OSDs than it needs, so that nothing could be done to its objects.
TEST_F(ReclaimTest, AnErasureCodedImageIsLeftAloneBeforeCeph18) {
  const auto ceph = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "a");
    return Testbed("ceph", arguments);
  };
  const std::string versions = ceph({"versions"});
  if (!absl::StrContains(versions, "ceph version 16.")) {
    GTEST_SKIP() << "not of these OSDs: " << versions;
  }
  ceph({"osd", "erasure-code-profile", "set", "two-and-one", "k=2", "m=1",
        "crush-failure-domain=osd"});
  ceph(
      {"osd", "pool", "create", "erasure", "1", "1", "erasure", "two-and-one"});
  // Otherwise librbd writes into the pool when it makes an image.
  ceph({"config", "set", "client", "rbd_validate_pool", "false"});
  const TestVolume volume = MakeVolume({"--data-pool", "erasure"});
  EXPECT_THAT(Reclaim(volume).status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "erasure-coded");
  EXPECT_THAT(Reason(volume), HasSubstr("Ceph 16."));
  ceph({"config", "rm", "client", "rbd_validate_pool"});
}

TEST_F(ReclaimTest, AJournalModeImageIsSparsifiedAndItsCopyStaysEqual) {
  TestVolume volume = MakeHollowVolume();
  const Parameters journal = {{"mirroringMode", "journal"}};
  ASSERT_THAT(Enable("a", volume, journal), HasCode(Code::OK));
  ASSERT_THAT(Promote("a", volume, false, journal), HasCode(Code::OK));
  volume.id_b = Testbed("peer-journal", {"b", volume.id_a});
  const uint64_t digest = Digest("a", volume);
  ASSERT_TRUE(Eventually([&] { return Digest("b", volume) == digest; }));
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(result.after, 64 * kMiB);
  EXPECT_EQ(Digest("a", volume), digest);
  Write("a", volume, "afterwards");
  const uint64_t written = Digest("a", volume);
  EXPECT_TRUE(
      Eventually([&] { return Digest("b", volume) == written; }, seconds(120)));
}

TEST_F(ReclaimTest, ACloneKeepsWhatItSeesOfItsParent) {
  const TestVolume parent = MakeHollowVolume();
  Rbd("a", {"snap", "create", "--no-progress", ImageSpec(parent) + "@s"});
  const TestVolume clone = MakeVolume({"--parent", parent.image + "@s"});
  // Zeros of its own over data of the parent must stay zeros.
  ASSERT_EQ(
      OpenDisk("a", clone)->Write(24 * kObject, std::string(2 * kObject, '\0')),
      0);
  const uint64_t of_parent = Digest("a", parent);
  const uint64_t of_clone = Digest("a", clone);
  EXPECT_NE(of_parent, of_clone);
  EXPECT_THAT(Reclaim(clone).status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(clone), "sparsified");
  EXPECT_EQ(Digest("a", clone), of_clone);
  EXPECT_EQ(Digest("a", parent), of_parent);
}

TEST_F(ReclaimTest, EncryptedDataHasNothingToFree) {
  const TestVolume volume = MakeVolume({"--size", "64M"});
  ASSERT_EQ(OpenDisk("a", volume)->Write(0, RandomBytes(64 * kMiB, 5)), 0);
  const uint64_t digest = Digest("a", volume);
  const int64_t before = StoredBytes();
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(result.before, result.after);
  ExpectFreed(before - StoredBytes(), 0);
  EXPECT_EQ(Digest("a", volume), digest);
}

}  // namespace
}  // namespace addons::testing
