// ControllerReclaimSpace of images that somebody uses, or begins to use: a real
// second client never notices.

#include <future>
#include <iostream>

#include "tests/cluster/reclaim_bed.h"

namespace addons::testing {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class ReclaimClientTest : public ReclaimBed {
 protected:
  /// OK, nothing done, and the log says why.
  static void ExpectSkipped(const TestVolume& volume,
                            const std::string& reason) {
    const double skipped = Ended("in-use");
    const Reclaimed result = Reclaim(volume);
    EXPECT_THAT(result.status, HasCode(Code::OK));
    EXPECT_EQ(Outcome(volume), "in-use");
    EXPECT_EQ(Ended("in-use"), skipped + 1);
    EXPECT_THAT(Reason(volume), HasSubstr(reason));
    EXPECT_EQ(Begins(volume), 0);
    EXPECT_TRUE(result.before.has_value());
    EXPECT_EQ(result.before, result.after);
  }
  /// Waits until it has written more, and without an error.
  static void ExpectGoesOn(const Writer& writer) {
    const uint64_t writes = writer.writes();
    EXPECT_TRUE(Eventually([&] { return writer.writes() > writes + 20; }));
    EXPECT_EQ(writer.error(), 0);
  }
};

TEST_F(ReclaimClientTest, AnAttachedImageIsUntouchedAndItsClientNeverNotices) {
  const TestVolume volume = MakeHollowVolume();
  const int64_t before = StoredBytes();
  Writer writer(OpenDisk("a", volume));
  ASSERT_TRUE(Eventually([&] { return writer.writes() > 10; }));
  const std::string lock = Lockers(volume);
  EXPECT_THAT(lock, HasSubstr("client."));
  ExpectSkipped(volume, "it is in use by client.");
  ExpectGoesOn(writer);
  EXPECT_EQ(Lockers(volume), lock);
  EXPECT_LT(std::abs(before - StoredBytes()), kMiB);
}

TEST_F(ReclaimClientTest, AnImageThatIsOnlyOpenIsUntouched) {
  const TestVolume volume = MakeHollowVolume();
  const auto disk = OpenDisk("a", volume);  // a watch, and no lock
  EXPECT_EQ(Lockers(volume), "");
  ExpectSkipped(volume, "it is in use by client.");
  EXPECT_EQ(disk->Write(0, RandomBytes(4096, 1)), 0);
}

TEST_F(ReclaimClientTest, ALockIsNeverBroken) {
  const TestVolume volume = MakeHollowVolume();
  Rbd("a", {"lock", "add", ImageSpec(volume), "mine"});
  const std::string lock = Lockers(volume);
  EXPECT_THAT(lock, HasSubstr("mine"));
  ExpectSkipped(volume, "it is locked by client.");
  EXPECT_EQ(Lockers(volume), lock);
}

TEST_F(ReclaimClientTest, SomebodyWhoOpensTheImageStopsItWithinSeconds) {
  const TestVolume volume = MakeLongVolume(3072);
  const uint64_t digest = Digest("a", volume);
  auto call = std::async(std::launch::async, [&] { return Reclaim(volume); });
  ASSERT_TRUE(AwaitWork(volume));
  {
    const auto disk = OpenDisk("a", volume);
    const auto opened = steady_clock::now();
    const Reclaimed result = call.get();
    const auto took = steady_clock::now() - opened;
    std::cout << "it stopped " << duration_cast<milliseconds>(took).count()
              << " ms after the image was opened\n";
    EXPECT_LT(took, seconds(5));
    EXPECT_THAT(result.status, HasCode(Code::OK));
    EXPECT_EQ(Outcome(volume), "interrupted");
    EXPECT_THAT(Reason(volume), HasSubstr("it was opened by client."));
    // Given back before the client asked for it.
    EXPECT_EQ(Lockers(volume), "");
    EXPECT_EQ(disk->Write(0, "x"), 0);
  }
  EXPECT_EQ(Digest("a", volume), digest);
  // Nothing is in the way of the next time.
  EXPECT_THAT(ReclaimAtLast(volume), HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(Digest("a", volume), digest);
  ExpectLeft(volume);
}

/// A client that asks for the lock within milliseconds may be handed the rest
/// of the work by librbd. It is taken back at once; the client never notices.
TEST_F(ReclaimClientTest, AClientThatWritesAtOnceEndsTheWorkAndNeverNotices) {
  const TestVolume volume = MakeLongVolume(16384);
  const uint64_t behind = 16 * 4096;  // what the writers leave alone
  const std::string content =
      OpenDisk("a", volume, Disk::Mode::kReadOnly)->Read(behind, kObject);
  for (int round = 0; round < 5; ++round) {
    auto call = std::async(std::launch::async, [&] { return Reclaim(volume); });
    ASSERT_TRUE(Eventually([&] { return Begins(volume) > round; }));
    Writer writer(OpenDisk("a", volume));
    const auto opened = steady_clock::now();
    const Reclaimed result = call.get();
    const auto took = steady_clock::now() - opened;
    ExpectGoesOn(writer);
    std::cout << "it stopped " << duration_cast<milliseconds>(took).count()
              << " ms after the image was opened; the slowest write took "
              << duration_cast<milliseconds>(writer.slowest()).count()
              << " ms\n";
    // Also beside seven other tests, whose OSDs answer late.
    EXPECT_LT(took, seconds(15));
    EXPECT_LT(writer.slowest(), seconds(5));
    EXPECT_THAT(result.status, HasCode(Code::OK));
    EXPECT_EQ(Outcome(volume), "interrupted");
  }
  EXPECT_TRUE(
      OpenDisk("a", volume, Disk::Mode::kReadOnly)->Read(behind, kObject) ==
      content);
}

/// Before ceph-csi maps or deletes an image, it opens it for a moment, looks
/// for watchers, and goes on only when there are none.
TEST_F(ReclaimClientTest, ADriverThatOnlyLooksGetsTheVolume) {
  const TestVolume volume = MakeLongVolume(16384);
  auto call = std::async(std::launch::async, [&] { return Reclaim(volume); });
  ASSERT_TRUE(AwaitWork(volume));
  int looks = 0;
  while (call.wait_for(seconds(0)) != std::future_status::ready) {
    OpenDisk("a", volume);
    ++looks;
  }
  std::cout << "seen at one of " << looks << " looks\n";
  EXPECT_THAT(call.get().status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "interrupted");
  ExpectLeft(volume);
}

}  // namespace
}  // namespace addons::testing
