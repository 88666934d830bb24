#include "ceph/image_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ceph/image.h"
#include "ceph/mirror.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Pair;

constexpr uint64_t kBlock = uint64_t{64} << 10;
constexpr uint64_t kObject = uint64_t{1} << 20;

absl::Status Unused() { return absl::UnimplementedError("not in this test"); }

/// An image of bytes.
class ByteImage final : public Image {
 public:
  explicit ByteImage(uint64_t bytes) : bytes_(bytes, '\0') {}

  std::string& bytes() { return bytes_; }
  void Put(uint64_t offset, const std::string& text) {
    bytes_.replace(offset, text.size(), text);
  }
  /// Offset and length of all writes, zeros as negative lengths.
  std::vector<std::pair<uint64_t, int64_t>> writes;
  size_t largest_read = 0;
  bool flushed = false;
  bool forgets = false;  // writes

  const ImageName& name() const override { return name_; }
  absl::StatusOr<ImageSize> Size() override {
    return ImageSize{bytes_.size(), kObject,
                     (bytes_.size() + kObject - 1) / kObject};
  }
  absl::StatusOr<std::vector<ImageData>> Read(
      const std::vector<ImageRange>& ranges) override {
    largest_read = std::max(largest_read, ranges.size());
    std::vector<ImageData> data;
    for (const ImageRange& range : ranges) {
      EXPECT_LE(range.offset + range.length, bytes_.size());
      std::string piece = bytes_.substr(range.offset, range.length);
      if (piece.find_first_not_of('\0') == std::string::npos) piece.clear();
      data.push_back({range, std::move(piece)});
    }
    return data;
  }
  absl::Status Write(const std::vector<ImageData>& data) override {
    flushed = false;
    for (const ImageData& piece : data) {
      const bool zeros = piece.bytes.empty();
      const auto length = static_cast<int64_t>(piece.range.length);
      writes.emplace_back(piece.range.offset, zeros ? -length : length);
      if (!zeros) {
        EXPECT_EQ(piece.bytes.size(), piece.range.length);
      }
      if (forgets) continue;
      Put(piece.range.offset,
          zeros ? std::string(piece.range.length, '\0') : piece.bytes);
    }
    return absl::OkStatus();
  }
  absl::Status Flush() override {
    flushed = true;
    return absl::OkStatus();
  }
  absl::Status Resize(uint64_t bytes) override {
    bytes_.resize(bytes, '\0');
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Id() override { return Unused(); }
  absl::StatusOr<bool> MarkedNonPrimary() override { return Unused(); }
  absl::StatusOr<Timestamp> CreateTimestamp() override { return Unused(); }
  absl::StatusOr<MirrorImageInfo> MirrorInfo() override { return Unused(); }
  absl::StatusOr<std::vector<MirrorSnapshot>> MirrorSnapshots() override {
    return Unused();
  }
  absl::StatusOr<std::vector<SiteStatus>> MirrorStatus() override {
    return Unused();
  }
  absl::StatusOr<std::vector<Watcher>> Watchers() override { return Unused(); }
  absl::StatusOr<std::vector<Locker>> Lockers() override { return Unused(); }
  absl::StatusOr<std::optional<ImageParent>> Parent() override {
    return Unused();
  }
  absl::StatusOr<std::vector<LinkedImage>> Clones() override {
    return Unused();
  }
  absl::StatusOr<std::optional<std::string>> Metadata(
      const std::string&) override {
    return Unused();
  }
  absl::StatusOr<std::map<std::string, std::string>> ListMetadata(
      const std::string&) override {
    return Unused();
  }
  absl::Status ChangeMetadata(const MetadataChanges&) override {
    return Unused();
  }
  absl::Status ChangeMetadataOfSecondary(const MetadataChanges&) override {
    return Unused();
  }
  absl::Status SetMetadata(const std::string&, const std::string&) override {
    return Unused();
  }
  absl::Status RemoveMetadata(const std::string&) override { return Unused(); }
  absl::Status MirrorEnable(MirrorMode) override { return Unused(); }
  absl::Status MirrorDisable(Force) override { return Unused(); }
  absl::Status MirrorPromote(Force) override { return Unused(); }
  absl::Status MirrorPromoteByForce(SteadyTime) override { return Unused(); }
  absl::Status MirrorDemote() override { return Unused(); }
  absl::Status MirrorResync() override { return Unused(); }
  absl::StatusOr<uint64_t> CreateMirrorSnapshot() override { return Unused(); }
  absl::Status Flatten(const ProgressFn&) override { return Unused(); }
  absl::Status SelectSnapshot(uint64_t) override { return Unused(); }
  absl::StatusOr<ImageLayout> Layout() override { return Unused(); }
  absl::Status ReleaseLock() override { return Unused(); }
  absl::StatusOr<bool> HasTransientLock() override { return Unused(); }
  absl::Status AcquireLock(LockMode) override { return Unused(); }
  absl::Status CreateSnapshot(const std::string&) override { return Unused(); }
  absl::Status RemoveSnapshot(uint64_t) override { return Unused(); }
  absl::StatusOr<ImageFeatures> Features() override { return Unused(); }
  absl::StatusOr<std::vector<ImageSnapshot>> Snapshots() override {
    return Unused();
  }
  absl::StatusOr<std::optional<uint64_t>> UsedBytes(
      std::chrono::milliseconds) override {
    return Unused();
  }
  absl::StatusOr<std::optional<GroupSpec>> Group() override { return Unused(); }
  absl::StatusOr<bool> HoldsLock() override { return Unused(); }
  absl::StatusOr<SparsifyEnd> Sparsify(uint64_t, const ProgressFn&) override {
    return Unused();
  }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  const ImageName name_{"target"};
  std::string bytes_;
};

absl::Status NoProgress(uint64_t, uint64_t) { return absl::OkStatus(); }

class ImageCopyTest : public ::testing::Test {
 protected:
  absl::Status Copy() {
    return CopyRanges(Reading(source_), target_, {{0, source_.bytes().size()}},
                      {.pieces = 2}, NoProgress);
  }
  ByteImage source_{3 * kObject + 5 * kBlock + 17};
  ByteImage target_{3 * kObject + 5 * kBlock + 17};
};

TEST_F(ImageCopyTest, EqualImagesAreOnlyRead) {
  source_.Put(kObject + 7, "same");
  target_.Put(kObject + 7, "same");
  EXPECT_OK(Copy());
  EXPECT_THAT(target_.writes, IsEmpty());
  EXPECT_LE(source_.largest_read, 2U);
}

TEST_F(ImageCopyTest, WritesOnlyTheBlocksThatDiffer) {
  source_.Put(kObject + kBlock - 1, "xy");  // in two blocks
  source_.Put(kObject + 4 * kBlock, "z");
  target_.Put(kObject + 4 * kBlock, "z");
  source_.Put(3 * kObject + 5 * kBlock + 16, "!");  // the last byte
  EXPECT_OK(Copy());
  EXPECT_EQ(target_.bytes(), source_.bytes());
  EXPECT_TRUE(target_.flushed);
  EXPECT_THAT(target_.writes, ElementsAre(Pair(kObject, 2 * kBlock),
                                          Pair(3 * kObject + 5 * kBlock, 17)));
}

TEST_F(ImageCopyTest, ZeroesWhatTheSourceDoesNotHave) {
  target_.bytes().assign(target_.bytes().size(), 'x');
  source_.Put(kObject + kBlock, "kept");
  EXPECT_OK(Copy());
  EXPECT_EQ(target_.bytes(), source_.bytes());
  const auto negative = [](uint64_t length) {
    return -static_cast<int64_t>(length);
  };
  EXPECT_THAT(
      target_.writes,
      ElementsAre(Pair(0, negative(kObject)), Pair(kObject, negative(kBlock)),
                  Pair(kObject + kBlock, kBlock),
                  Pair(kObject + 2 * kBlock, negative(kObject - 2 * kBlock)),
                  Pair(2 * kObject, negative(kObject)),
                  Pair(3 * kObject, negative(5 * kBlock + 17))));
}

// What became zeros by a discard is perhaps none on the other site.
TEST_F(ImageCopyTest, WritesZerosThatAreThereAlreadyWhereAsked) {
  const std::string block(kBlock, 's');
  for (ByteImage* image : {&source_, &target_}) {
    image->Put(kObject, block);
    image->Put(kObject + kBlock, block);
    image->Put(kObject + kBlock + 4096, std::string(512, '\0'));
  }
  const std::vector<ImageRange> ranges = {{kObject, 3 * kBlock}};
  ImageCopyOptions options{.pieces = 2};
  EXPECT_OK(CopyRanges(Reading(source_), target_, ranges, options, NoProgress));
  EXPECT_THAT(target_.writes, IsEmpty());
  options.zeros_too = true;
  EXPECT_OK(CopyRanges(Reading(source_), target_, ranges, options, NoProgress));
  EXPECT_THAT(target_.writes, ElementsAre(Pair(kObject + kBlock, kBlock),
                                          Pair(kObject + 2 * kBlock,
                                               -static_cast<int64_t>(kBlock))));
  EXPECT_EQ(target_.bytes(), source_.bytes());
}

TEST_F(ImageCopyTest, LeavesAloneWhatIsNotInTheRanges) {
  source_.bytes().assign(source_.bytes().size(), 's');
  target_.bytes().assign(target_.bytes().size(), 't');
  EXPECT_OK(CopyRanges(Reading(source_), target_,
                       {{kObject - 5, 10}, {2 * kObject, kBlock}},
                       {.pieces = 2}, NoProgress));
  std::string expected(target_.bytes().size(), 't');
  expected.replace(kObject - 5, 10, std::string(10, 's'));
  expected.replace(2 * kObject, kBlock, std::string(kBlock, 's'));
  EXPECT_EQ(target_.bytes(), expected);
}

TEST_F(ImageCopyTest, CopiesManySmallRangesAtATime) {
  source_.bytes().assign(source_.bytes().size(), 's');
  std::vector<ImageRange> ranges;
  for (uint64_t i = 0; i < 100; ++i) ranges.push_back({i * 8192, 4096});
  EXPECT_EQ(TotalBytes(ranges), 100 * 4096U);
  EXPECT_OK(
      CopyRanges(Reading(source_), target_, ranges, {.pieces = 2}, NoProgress));
  EXPECT_EQ(source_.largest_read, 64U);
  for (const ImageRange& range : ranges) {
    EXPECT_EQ(target_.bytes().substr(range.offset, 8192),
              std::string(4096, 's') + std::string(4096, '\0'));
  }
}

TEST_F(ImageCopyTest, ReportsProgressAndEndsWhenTold) {
  source_.bytes().assign(source_.bytes().size(), 's');
  std::vector<std::pair<uint64_t, uint64_t>> progress;
  const uint64_t size = source_.bytes().size();
  const auto report = [&](uint64_t done, uint64_t total) {
    progress.emplace_back(done, total);
    return absl::OkStatus();
  };
  EXPECT_OK(CopyRanges(Reading(source_), target_, {{0, size}}, {.pieces = 2},
                       report));
  EXPECT_THAT(progress, ElementsAre(Pair(0, size), Pair(2 * kObject, size),
                                    Pair(size, size)));

  ByteImage other(size);
  EXPECT_THAT(CopyRanges(Reading(source_), other, {{0, size}}, {.pieces = 2},
                         [](uint64_t done, uint64_t) {
                           return done == 0 ? absl::OkStatus()
                                            : absl::CancelledError("enough");
                         }),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(other.writes, Each(Pair(Le(kObject), kObject)));
}

TEST_F(ImageCopyTest, NoticesThatAWriteWasLost) {
  source_.Put(0, "x");
  target_.forgets = true;
  EXPECT_THAT(Copy(), StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace addons
