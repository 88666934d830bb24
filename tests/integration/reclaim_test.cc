// ControllerReclaimSpace of the daemon on real clusters with bluestore: what is
// freed, what is left alone, and that no client ever notices.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "base/clock.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "tests/integration/two_sites.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

/// memstore has no holes in its objects, so nothing would be freed.
const bool on_bluestore = StartBedWith({"--objectstore", "bluestore"});

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kObject = 4 * kMiB;

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(),
                [&] { return static_cast<char>(generator() | 1U); });
  return bytes;
}

struct Reclaimed {
  grpc::Status status;
  std::optional<int64_t> before;
  std::optional<int64_t> after;
};

/// Writes all the while, on a thread and with a client of its own.
class Writer {
 public:
  Writer(std::unique_ptr<Disk> disk, milliseconds pause)
      : disk_(std::move(disk)), thread_([this, pause](std::stop_token stop) {
          RealClock().SleepFor(pause, stop);
          const std::string block = RandomBytes(4096, 99);
          while (!stop.stop_requested()) {
            const auto begin = steady_clock::now();
            const int result = disk_->Write((writes_ % 16) * 4096, block);
            if (result != 0) error_ = result;
            ++writes_;
            slowest_ = std::max(slowest_.load(), steady_clock::now() - begin);
          }
        }) {}
  int error() const { return error_; }
  uint64_t writes() const { return writes_; }
  steady_clock::duration slowest() const { return slowest_; }

 private:
  const std::unique_ptr<Disk> disk_;
  std::atomic<int> error_{0};
  std::atomic<uint64_t> writes_{0};
  std::atomic<steady_clock::duration> slowest_{};
  std::jthread thread_;
};

class ReclaimTest : public TwoSitesTest {
 protected:
  static void SetUpTestSuite() {
    TwoSitesTest::SetUpTestSuite();
    ASSERT_TRUE(on_bluestore);
    ASSERT_THAT(Testbed("ceph", {"a", "osd", "metadata", "0"}),
                HasSubstr("bluestore"));
  }

  static Reclaimed Reclaim(const TestVolume& volume,
                           const Parameters& parameters = {},
                           const std::string& site = "a",
                           milliseconds deadline = kDeadline) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    ::reclaimspace::ControllerReclaimSpaceRequest request;
    request.set_volume_id(volume.id(site));
    for (const auto& [key, value] : parameters) {
      (*request.mutable_parameters())[key] = value;
    }
    const CephUser user = Bed().User(site);
    (*request.mutable_secrets())["userID"] = user.id;
    (*request.mutable_secrets())["userKey"] = user.key.Reveal();
    ::reclaimspace::ControllerReclaimSpaceResponse response;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    Reclaimed result;
    result.status = ::reclaimspace::ReclaimSpaceController::NewStub(
                        grpc::CreateCustomChannel(
                            "unix:" + Daemon(site).socket(),
                            grpc::InsecureChannelCredentials(), arguments))
                        ->ControllerReclaimSpace(&context, request, &response);
    if (response.has_pre_usage()) {
      result.before = response.pre_usage().usage_bytes();
    }
    if (response.has_post_usage()) {
      result.after = response.post_usage().usage_bytes();
    }
    return result;
  }

  /// 32 objects: 16 of zeros, 8 half of zeros, 8 without. 80 MiB are zeros.
  static constexpr uint64_t kZeros = 80 * kMiB;
  static TestVolume MakeHollowVolume(
      const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags = {"--size", "128M"};
    flags.insert(flags.end(), more.begin(), more.end());
    TestVolume volume = MakeVolume(flags);
    FillHollow(volume);
    return volume;
  }
  static void FillHollow(const TestVolume& volume) {
    const auto disk = OpenDisk("a", volume);
    for (uint64_t object = 0; object < 32; ++object) {
      std::string data = RandomBytes(kObject, object);
      if (object < 16) {
        data.assign(data.size(), '\0');
      } else if (object < 24) {
        std::fill(data.begin(), data.begin() + data.size() / 2, '\0');
      }
      ASSERT_EQ(disk->Write(object * kObject, data), 0);
    }
  }

  /// 4096 objects of 64 KiB with zeros: some seconds of work.
  static TestVolume MakeLongVolume() {
    const TestVolume volume = MakeVolume({"--size", "256M"});
    Rbd("a", {"rm", "--no-progress", ImageSpec(volume)});
    Rbd("a",
        {"create", "--size", "256M", "--object-size", "64K", "--image-feature",
         "layering,exclusive-lock,object-map,fast-diff", ImageSpec(volume)});
    const auto disk = OpenDisk("a", volume);
    std::string data(size_t{1} << 20, '\0');
    for (size_t at = 0; at < data.size(); at += 65536) data[at] = 'x';
    for (uint64_t at = 0; at < 256 * kMiB; at += data.size()) {
      EXPECT_EQ(disk->Write(at, data), 0);
    }
    return volume;
  }

  /// What the pool says it has, once two looks in a row agree.
  static int64_t StoredBytes() {
    int64_t last = -1;
    int same = 0;
    Eventually([&] {
      const json df = json::parse(
          Testbed("ceph", {"a", "df", "--format", "json"}), nullptr, false);
      int64_t stored = 0;
      for (const json& pool : df["pools"]) {
        if (pool["name"] == RealBed::kPool) stored = pool["stats"]["stored"];
      }
      same = stored == last ? same + 1 : 0;
      last = stored;
      return same >= 12;  // statistics come every few seconds
    });
    return last;
  }
  static std::string Lockers(const TestVolume& volume) {
    return Rbd("a", {"lock", "ls", ImageSpec(volume)});
  }
  static std::string Outcome(const TestVolume& volume,
                             const std::string& site = "a") {
    const std::string log = Daemon(site).Log();
    const size_t at = log.rfind("reclaim of volume=" + volume.id(site));
    if (at == std::string::npos) return "";
    const size_t begin = log.find("outcome=", at) + 8;
    return log.substr(begin, log.find(' ', begin) - begin);
  }
};

TEST_F(ReclaimTest, ZerosAreFreedInFullAndTheContentStays) {
  const TestVolume volume = MakeHollowVolume();
  const uint64_t digest = Digest("a", volume);
  const int64_t before = StoredBytes();
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(result.before, 128 * kMiB);
  EXPECT_EQ(result.after, 64 * kMiB);  // objects that are gone
  EXPECT_NEAR(static_cast<double>(before - StoredBytes()),
              static_cast<double>(kZeros), static_cast<double>(kMiB));
  EXPECT_EQ(Digest("a", volume), digest);
  EXPECT_EQ(Lockers(volume), "");
  EXPECT_EQ(Metadata("a", volume, ".rbd.addons/sparsify"), "");
}

TEST_F(ReclaimTest, AnAttachedImageIsUntouchedAndItsClientNeverNotices) {
  const TestVolume volume = MakeHollowVolume();
  const int64_t before = StoredBytes();
  Writer writer(OpenDisk("a", volume), milliseconds(0));
  ASSERT_TRUE(Eventually([&] { return writer.writes() > 10; }));
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "in-use");
  EXPECT_TRUE(result.before.has_value());
  EXPECT_EQ(result.before, result.after);
  const uint64_t writes = writer.writes();
  ASSERT_TRUE(Eventually([&] { return writer.writes() > writes + 10; }));
  EXPECT_EQ(writer.error(), 0);
  EXPECT_LT(std::abs(before - StoredBytes()), kMiB);
}

TEST_F(ReclaimTest, SomebodyWhoOpensTheImageStopsItWithinSeconds) {
  const TestVolume volume = MakeLongVolume();
  auto call = std::async(std::launch::async, [&] { return Reclaim(volume); });
  ASSERT_TRUE(Eventually([&] { return !Lockers(volume).empty(); }));
  const auto opened = steady_clock::now();
  Writer writer(OpenDisk("a", volume), milliseconds(500));
  const Reclaimed result = call.get();
  EXPECT_LT(steady_clock::now() - opened, seconds(5));
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "interrupted");
  ASSERT_TRUE(Eventually([&] { return writer.writes() > 20; }));
  EXPECT_EQ(writer.error(), 0);
  EXPECT_LT(writer.slowest(), seconds(5));
}

TEST_F(ReclaimTest, AClientThatWritesAtOnceNeverSeesAnError) {
  const TestVolume volume = MakeLongVolume();
  auto call = std::async(std::launch::async, [&] { return Reclaim(volume); });
  ASSERT_TRUE(Eventually([&] { return !Lockers(volume).empty(); }));
  Writer writer(OpenDisk("a", volume), milliseconds(0));
  EXPECT_THAT(call.get().status, HasCode(Code::OK));
  ASSERT_TRUE(Eventually([&] { return writer.writes() > 20; }));
  EXPECT_EQ(writer.error(), 0);
  EXPECT_LT(writer.slowest(), seconds(5));
}

TEST_F(ReclaimTest, AnImageWithASnapshotIsSkippedBecauseItWouldGrow) {
  const TestVolume volume = MakeHollowVolume();
  Rbd("a", {"snap", "create", "--no-progress", ImageSpec(volume) + "@s"});
  const int64_t before = StoredBytes();
  EXPECT_THAT(Reclaim(volume).status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "snapshots");
  EXPECT_LT(std::abs(before - StoredBytes()), kMiB);

  const uint64_t digest = Digest("a", volume);
  EXPECT_THAT(Reclaim(volume, {{"withSnapshots", "true"}}).status,
              HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(Digest("a", volume), digest);
  const int64_t grown = StoredBytes() - before;
  std::cerr << "with one snapshot the image grew by " << grown / kMiB
            << " MiB\n";
  EXPECT_GT(grown, 8 * kMiB);
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
  EXPECT_LT(std::abs(before - StoredBytes()), kMiB);
  EXPECT_EQ(Digest("a", volume), digest);
}

TEST_F(ReclaimTest, AnImpatientCallerHearsHowFarItIsAndTheRetryJoins) {
  const TestVolume volume = MakeLongVolume();
  const auto begin = steady_clock::now();
  const grpc::Status early =
      Reclaim(volume, {}, "a", milliseconds(2000)).status;
  EXPECT_THAT(early, HasCode(Code::ABORTED));
  EXPECT_THAT(early.error_message(), HasSubstr(" % ("));
  EXPECT_GT(steady_clock::now() - begin, milliseconds(1000));
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
}

TEST_F(ReclaimTest, AKilledDaemonLosesOnlyTime) {
  const TestVolume volume = MakeLongVolume();
  const uint64_t digest = Digest("a", volume);
  auto call = std::async(std::launch::async, [&] { return Reclaim(volume); });
  ASSERT_TRUE(Eventually([&] { return !Lockers(volume).empty(); }));
  Restart("a");
  EXPECT_FALSE(call.get().status.ok());
  EXPECT_NE(Lockers(volume), "");
  const Reclaimed result = Reclaim(volume);
  EXPECT_THAT(result.status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(Lockers(volume), "");
  EXPECT_EQ(Metadata("a", volume, ".rbd.addons/sparsify"), "");
  EXPECT_EQ(Digest("a", volume), digest);
}

}  // namespace
}  // namespace addons::testing
