#include "reclaimspace/trim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ceph/image.h"
#include "node/block_stack.h"
#include "node/ioprio_abi.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/fake_node.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kGiB = FakeNode::kGiB;
constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";

class TrimTest : public ::testing::Test {
 protected:
  TrimTest() {
    pair_.WriteConfig(dir_.path());
    request_.volume_id = VolumeHandle(pair_.AddVolume(pair_.a(), kUuid));
    request_.path = "/staging/volume";
    request_.user = pair_.a().user();
    Map(MirroredPair::ImageOf(kUuid));
  }
  /// What rbd0 is.
  void Map(const std::string& image) {
    node_.tree.SetKrbd(0, {"replicapool", "2", "", image, pair_.a().fsid()});
  }
  absl::StatusOr<TrimResult> Run() {
    return Trim(context_, node_.Environment(resolver_, config_), request_);
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  Resolver resolver_{config_, pair_.provider()};
  FakeNode node_;
  TrimRequest request_;
  TestOperationContext context_{world_};
};

TEST_F(TrimTest, CoversTheWholeDeviceInSteps) {
  node_.SetTrim([](const TrimRange&) { return uint64_t{10}; });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->asked_bytes, 40U);
  const std::vector<TrimRange> trims = node_.trims();
  ASSERT_THAT(trims, SizeIs(4));
  for (size_t i = 0; i < trims.size(); ++i) {
    EXPECT_EQ(trims[i].start, i * kGiB);
    EXPECT_EQ(trims[i].length, kGiB);
    EXPECT_EQ(trims[i].smallest_extent, 65536U);
  }
  EXPECT_THAT(context_.progress(),
              ::testing::ElementsAre(std::pair{kGiB, 4 * kGiB},
                                     std::pair{2 * kGiB, 4 * kGiB},
                                     std::pair{3 * kGiB, 4 * kGiB},
                                     std::pair{4 * kGiB, 4 * kGiB}));
  EXPECT_TRUE(context_.mutating());
}

// librbd writes encrypted zeros for what is discarded.
TEST_F(TrimTest, AnImageThatLibrbdEncryptsIsNotTrimmed) {
  node_.tree.AddDisk("nbd0", "43:0");
  const std::string image = MirroredPair::ImageOf(kUuid);
  const auto serve = [&](const std::string& option) {
    std::string command =
        absl::StrCat("rbd-nbd\nmap\nreplicapool/", image, "\n", option);
    std::replace(command.begin(), command.end(), '\n', '\0');
    node_.tree.SetNbdServer("nbd0", 77, command);
  };
  node_.SetMount(FakeNode::Mount({43, 0}), 1);
  serve("--encryption-format\nluks2\n");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnimplemented,
                              HasSubstr("librbd's own encryption")));
  EXPECT_THAT(node_.trims(), IsEmpty());
  serve("");
  EXPECT_OK(Run());
}

// xfs counts the whole range each time, also what is in use.
TEST_F(TrimTest, NoMoreIsTrimmedThanIsFree) {
  node_.SetTrim([](const TrimRange&) { return uint64_t{1} << 60; });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_GT(node_.trims().size(), 1U);
  EXPECT_GT(result->asked_bytes, 0U);
  EXPECT_LT(result->asked_bytes, uint64_t{1} << 60);
}

TEST_F(TrimTest, MeasuresTheImage) {
  const std::string image = MirroredPair::ImageOf(kUuid);
  pair_.a().SetUsage(image, 64, 0);
  node_.SetTrim([&](const TrimRange& range) {
    if (range.start == 0) pair_.a().SetUsage(image, 48, 0);
    return uint64_t{10};
  });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->image_before_bytes, uint64_t{256} << 20);
  EXPECT_EQ(result->image_after_bytes, uint64_t{192} << 20);
}

TEST_F(TrimTest, WhatMayNotBeMeasuredIsAsked) {
  node_.SetTrim([](const TrimRange&) { return uint64_t{10}; });
  int refused = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call != "rados_read") return 0;
    ++refused;
    return EPERM;
  });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(result->asked_bytes, 40U);
  EXPECT_EQ(result->image_before_bytes, std::nullopt);
  EXPECT_EQ(result->image_after_bytes, std::nullopt);
}

// Most images of storage classes have the feature "layering" only.
TEST_F(TrimTest, MeasuresAnImageWithoutFastDiff) {
  const std::string image = MirroredPair::ImageOf(kUuid);
  ImageFeatures features;
  features.exclusive_lock = true;
  pair_.a().SetFeatures(image, features);
  pair_.a().SetUsage(image, 64, 0);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->image_before_bytes, uint64_t{256} << 20);
  EXPECT_EQ(result->image_after_bytes, uint64_t{256} << 20);
}

TEST_F(TrimTest, DoesNotMeasureWithoutSecrets) {
  request_.user.reset();
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->image_before_bytes, std::nullopt);
  EXPECT_EQ(result->image_after_bytes, std::nullopt);
}

TEST_F(TrimTest, OpensTheMountAnewForEachStep) {
  ASSERT_OK(Run());
  EXPECT_THAT(node_.opened(), SizeIs(1 + 4));
}

TEST_F(TrimTest, WorksWithoutSecrets) {
  request_.user.reset();
  EXPECT_OK(Run());
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
}

TEST_F(TrimTest, ProvesAStaticVolumeByTheRecordEvenWithSecrets) {
  const TempDir staging;
  request_.volume_id = VolumeHandle("my-disk");
  request_.staging_path = staging.path();
  Map("my-disk");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition));
  staging.Write("image-meta.json",
                R"({"pool":"replicapool","image":"my-disk"})");
  EXPECT_OK(Run());
}

TEST_F(TrimTest, NeverTouchesAnotherVolume) {
  Map("csi-vol-00000000-81e8-439b-8405-35138edf5b89");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("csi-vol-00000000")));
  request_.user.reset();
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(node_.trims(), SizeIs(0));
  EXPECT_FALSE(context_.mutating());
}

TEST_F(TrimTest, NeverTouchesTheDiskOfTheNode) {
  node_.tree.AddDisk("sda", "8:0");
  node_.tree.AddPartition("sda", "sda1", "8:1");
  node_.SetMount(FakeNode::Mount({8, 1}), 1);
  EXPECT_THAT(
      Run(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("sda")));
  EXPECT_THAT(node_.trims(), SizeIs(0));
}

TEST_F(TrimTest, RefusesAFilesystemWithoutDevice) {
  MountEntry mount = FakeNode::Mount({0, 44});
  mount.filesystem = "tmpfs";
  node_.SetMount(mount, 1);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("tmpfs")));
}

TEST_F(TrimTest, RefusesWhenNothingIsMounted) {
  node_.SetMount({}, 0);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr(request_.volume_id.text())));
}

TEST_F(TrimTest, TrimsThroughEncryption) {
  node_.tree.AddDisk("dm-0", "253:0");
  node_.tree.Stack("dm-0", "rbd0", "CRYPT-LUKS2-x", "luks-rbd-x");
  node_.SetMount(FakeNode::Mount({253, 0}), 2);
  EXPECT_OK(Run());
}

TEST_F(TrimTest, NamesTheLayerThatDoesNotDiscard) {
  node_.tree.AddDisk("dm-0", "253:0");
  node_.tree.Stack("dm-0", "rbd0", "CRYPT-LUKS2-x", "luks-rbd-x");
  node_.tree.SetDiscard("dm-0", 0, 0);
  node_.SetMount(FakeNode::Mount({253, 0}), 2);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnimplemented,
                              HasSubstr("luks-rbd-x")));
  node_.tree.SetDiscard("rbd0", 0, 0);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnimplemented,
                              HasSubstr("device rbd0 ")));
  EXPECT_THAT(node_.trims(), SizeIs(0));
}

TEST_F(TrimTest, OnlyLuksIsCalledLuks) {
  struct Row {
    const char* uuid;
    const char* kind;
  };
  for (const Row& row :
       {Row{"CRYPT-LUKS2-x", "(LUKS: opened without allow-discards)"},
        Row{"CRYPT-PLAIN-x", "(dm-crypt: opened"}, Row{"LVM-x", "(LVM)"},
        Row{"mpath-3600", "(multipath)"},
        Row{"snap-x", "(device mapper, not LUKS)"}}) {
    FakeNode node;
    node.tree.AddDisk("dm-0", "253:0");
    node.tree.Stack("dm-0", "rbd0", row.uuid, "a-name");
    node.tree.SetDiscard("dm-0", 0, 0);
    const auto stack = ReadBlockStack(node.tree.roots(), {253, 0});
    ASSERT_OK(stack);
    EXPECT_THAT(absl::StrCat("(", stack->layers.front().Kind(), ")"),
                HasSubstr(row.kind));
  }
}

TEST_F(TrimTest, AnUnprovedDeviceIsNotUnimplemented) {
  Map("something-else");
  node_.tree.SetDiscard("rbd0", 0, 0);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(TrimTest, LeavesAReadOnlyFilesystem) {
  MountEntry mount = FakeNode::Mount();
  mount.filesystem_read_only = true;
  node_.SetMount(mount, 2);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("read-only")));
  request_.access = AccessMode::kReader;
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(node_.trims(), SizeIs(0));
}

TEST_F(TrimTest, EndsWhereTheFilesystemEnds) {
  node_.SetTrim([](const TrimRange& range) -> absl::StatusOr<uint64_t> {
    if (range.start >= 2 * kGiB) return absl::OutOfRangeError("beyond");
    return 10;
  });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->asked_bytes, 20U);
}

TEST_F(TrimTest, ARefusedBeginningIsAnError) {
  node_.SetTrim([](const TrimRange&) -> absl::StatusOr<uint64_t> {
    return absl::OutOfRangeError("too small");
  });
  MountEntry mount = FakeNode::Mount();
  mount.filesystem = "btrfs";
  node_.SetMount(mount, 2);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnknown));
}

// What the kernel says when no block group has room for one free extent of the
// size that the device discards at least.
TEST_F(TrimTest, ADeviceThatDiscardsMoreThanABlockGroupIsNamed) {
  node_.SetTrim([](const TrimRange&) -> absl::StatusOr<uint64_t> {
    return absl::OutOfRangeError("the filesystem has no such range");
  });
  for (const char* filesystem : {"ext4", "xfs"}) {
    MountEntry mount = FakeNode::Mount();
    mount.filesystem = filesystem;
    node_.SetMount(mount, 2);
    EXPECT_THAT(Run(),
                StatusIs(absl::StatusCode::kUnimplemented,
                         AllOf(HasSubstr("device rbd0"), HasSubstr("65536 by"),
                               HasSubstr(filesystem))));
  }
}

TEST_F(TrimTest, TheLayerThatDiscardsMostAtOnceIsNamed) {
  node_.tree.AddDisk("dm-0", "253:0");
  node_.tree.Stack("dm-0", "rbd0", "LVM-x", "a-name");
  node_.tree.SetDiscard("dm-0", 1 << 30, 32 << 20);
  node_.SetMount(FakeNode::Mount({253, 0}), 2);
  node_.SetTrim([](const TrimRange&) -> absl::StatusOr<uint64_t> {
    return absl::OutOfRangeError("the filesystem has no such range");
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnimplemented,
                              AllOf(HasSubstr("dm-0"), HasSubstr("33554432"))));
}

TEST_F(TrimTest, AJournalThatWasNotReplayedIsNamed) {
  node_.SetTrim([](const TrimRange&) -> absl::StatusOr<uint64_t> {
    return absl::FailedPreconditionError("the filesystem is read-only");
  });
  EXPECT_THAT(Run(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("without a replay of its journal"),
                             Not(HasSubstr("read-only")))));
}

// It became read-only after the first look at the mount.
TEST_F(TrimTest, AFilesystemThatBecomesReadOnlyMeanwhileIsCalledThat) {
  node_.SetTrim([this](const TrimRange& range) -> absl::StatusOr<uint64_t> {
    MountEntry mount = FakeNode::Mount();
    mount.filesystem_read_only = true;
    node_.SetMount(mount, 2);
    if (range.start == 0) return 0;
    return absl::FailedPreconditionError("the filesystem is read-only");
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("read-only")));
}

TEST_F(TrimTest, SaysThatTheFilesystemCannotTrim) {
  node_.SetTrim([](const TrimRange&) -> absl::StatusOr<uint64_t> {
    return absl::UnimplementedError("the filesystem cannot trim");
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnimplemented,
                              HasSubstr(request_.volume_id.text())));
}

TEST_F(TrimTest, TakesLargerStepsWhenWholeExtentsAreDiscarded) {
  node_.SetTrim([](const TrimRange& range) {
    return range.start == 0 ? 3 * kGiB : uint64_t{0};
  });
  ASSERT_OK(Run());
  const std::vector<TrimRange> trims = node_.trims();
  ASSERT_THAT(trims, SizeIs(2));
  EXPECT_EQ(trims[1].start, kGiB);
  EXPECT_EQ(trims[1].length, 4 * kGiB);
}

TEST_F(TrimTest, EndsWhenTheVolumeIsUnmounted) {
  node_.SetTrim([this](const TrimRange&) {
    node_.SetMount({}, 0);
    return uint64_t{0};
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAborted,
                              HasSubstr("unmounted meanwhile")));
  EXPECT_THAT(node_.trims(), SizeIs(1));
}

TEST_F(TrimTest, EndsWhenSomethingElseIsMountedThere) {
  node_.SetTrim([this](const TrimRange&) {
    MountEntry other = FakeNode::Mount();
    other.id = 41;  // the same device again
    node_.SetMount(other, 2);
    return uint64_t{0};
  });
  EXPECT_THAT(
      Run(), StatusIs(absl::StatusCode::kAborted, HasSubstr("something else")));
  EXPECT_THAT(node_.trims(), SizeIs(1));
}

// The kernel gives the id of a mount that is gone to another one.
TEST_F(TrimTest, EndsWhenAnotherDeviceIsMountedThere) {
  node_.SetTrim([this](const TrimRange&) {
    MountEntry other = FakeNode::Mount();
    ++other.device.minor;
    node_.SetMount(other, 2);
    return uint64_t{0};
  });
  EXPECT_THAT(
      Run(), StatusIs(absl::StatusCode::kAborted, HasSubstr("something else")));
  EXPECT_THAT(node_.trims(), SizeIs(1));
}

TEST_F(TrimTest, GivesWayWhenThePodsHaveGone) {
  node_.SetTrim([this](const TrimRange&) {
    node_.SetMount(FakeNode::Mount(), 1);
    return uint64_t{0};
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAborted, HasSubstr("no pod")));
  EXPECT_THAT(node_.trims(), SizeIs(1));
}

TEST_F(TrimTest, GoesOnWhenItNeverSawAPod) {
  node_.SetMount(FakeNode::Mount(), 1);
  EXPECT_OK(Run());
  EXPECT_THAT(node_.trims(), SizeIs(4));
}

TEST_F(TrimTest, StopsBetweenStepsWhenCancelled) {
  context_.CancelAfter(seconds(10));
  node_.SetTrim([this](const TrimRange&) {
    world_.Advance(seconds(6));
    return uint64_t{0};
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(node_.trims(), SizeIs(2));
}

TEST_F(TrimTest, GoesOnWithoutItsCaller) {
  context_.SetDeadline(seconds(5));
  node_.SetTrim([this](const TrimRange&) {
    world_.Advance(seconds(6));
    return uint64_t{0};
  });
  EXPECT_OK(Run());
}

TEST_F(TrimTest, TrimsWithIdlePriorityOnly) {
  const auto priority = [] {
    return syscall(SYS_ioprio_get, ioprio::kWhoProcess, 0) >>
           ioprio::kClassShift;
  };
  long seen = -1;
  node_.SetTrim([&](const TrimRange&) {
    seen = priority();
    return uint64_t{0};
  });
  const long before = priority();
  ASSERT_OK(Run());
  EXPECT_EQ(seen, ioprio::kClassIdle);
  EXPECT_EQ(priority(), before);
}

TEST_F(TrimTest, SaysAbortedWhenCephDoesNotAnswer) {
  pair_.a().SetClusterUp(false);
  pair_.b().SetClusterUp(false);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(node_.trims(), SizeIs(0));
}

class TrimStatsTest : public TrimTest {
 protected:
  /// Another trim has ended, and with `outcome`.
  void ExpectNext(TrimOutcome outcome) {
    const uint64_t before = node_.stats.count(outcome);
    const uint64_t trims = Trims();
    Run().status().IgnoreError();
    EXPECT_EQ(node_.stats.count(outcome), before + 1) << Name(outcome);
    EXPECT_EQ(Trims(), trims + 1);
  }
  uint64_t Trims() const {
    uint64_t trims = 0;
    for (size_t i = 0; i < kTrimOutcomes; ++i) {
      trims += node_.stats.count(static_cast<TrimOutcome>(i));
    }
    return trims;
  }
  void AnswerTrim(absl::StatusOr<uint64_t> answer) {
    node_.SetTrim(
        [answer = std::move(answer)](const TrimRange&) { return answer; });
  }
};

TEST_F(TrimStatsTest, CountsHowTrimsEnd) {
  ExpectNext(TrimOutcome::kTrimmed);
  AnswerTrim(absl::UnimplementedError("cannot trim"));
  ExpectNext(TrimOutcome::kUnsupported);
  AnswerTrim(absl::UnknownError("I/O error"));
  ExpectNext(TrimOutcome::kFailed);
  MountEntry read_only = FakeNode::Mount();
  read_only.filesystem_read_only = true;
  node_.SetMount(read_only, 2);
  ExpectNext(TrimOutcome::kFailed);
  node_.SetMount({}, 0);
  ExpectNext(TrimOutcome::kNotProved);
  node_.SetMount(FakeNode::Mount(), 2);
  Map("something-else");
  ExpectNext(TrimOutcome::kNotProved);
  Map(MirroredPair::ImageOf(kUuid));
  node_.SetTrim([this](const TrimRange&) {
    node_.SetMount({}, 0);
    return uint64_t{0};
  });
  ExpectNext(TrimOutcome::kStopped);
}

TEST_F(TrimStatsTest, AClusterThatDoesNotAnswerIsAFailure) {
  pair_.a().SetClusterUp(false);
  pair_.b().SetClusterUp(false);
  ExpectNext(TrimOutcome::kFailed);
}

TEST_F(TrimStatsTest, BytesCountAlsoWhenItIsStopped) {
  context_.CancelAfter(seconds(10));
  node_.SetTrim([this](const TrimRange&) {
    world_.Advance(seconds(6));
    return uint64_t{10};
  });
  ExpectNext(TrimOutcome::kStopped);
  EXPECT_EQ(node_.stats.trimmed_bytes(), 20U);
}

TEST_F(TrimTest, SaysThatThereIsNoSuchVolume) {
  request_.volume_id = VolumeHandle(
      pair_.VolumeId(pair_.a(), "00000000-81e8-439b-8405-35138edf5b89"));
  // The other site, which may hold it too, refuses this user: it has not said
  // that the volume is not there.
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied,
                              HasSubstr("there is no journal object")));
}

}  // namespace
}  // namespace addons::testing
