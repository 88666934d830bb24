// A resync deletes a copy: at most once, only by force, and only when there is
// something to copy from.

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "replication/look/journal.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class ResyncTest : public TwoSitesTest {
 protected:
  static bool HasRequest(const std::string& site, const TestVolume& volume) {
    return Rbd(site, {"image-meta", "list", ImageSpec(volume)})
               .find("resync_requested") != std::string::npos;
  }
};

TEST_F(ResyncTest, ASplitBrainIsResyncedOnceAndOnlyByForce) {
  const TestVolume volume = MakeSplitBrain();
  const std::string old_id = ImageId("a", volume);
  bool ready = true;

  grpc::Status status;
  EXPECT_TRUE(Eventually(
      [&] {
        status = Resync("a", volume, false, &ready);
        return status.error_code() == Code::FAILED_PRECONDITION;
      },
      std::chrono::seconds(90)))
      << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("autoResync: true"));
  EXPECT_FALSE(HasRequest("a", volume));
  EXPECT_EQ(ImageId("a", volume), old_id);

  // The operator repeats it until it is ready; every incarnation is counted.
  std::set<std::string> ids;
  EXPECT_TRUE(Eventually(
      [&] {
        status = Resync("a", volume, true, &ready);
        if (const std::string id = ImageId("a", volume); !id.empty()) {
          ids.insert(id);
        }
        return status.ok() && ready;
      },
      std::chrono::seconds(150)))
      << status.error_message();
  ids.erase(old_id);
  EXPECT_EQ(ids.size(), 1U) << "made anew more than once, or never";
  EXPECT_EQ(JournalImageId("a", volume), ImageId("a", volume));
  Synchronize("b", volume);
  EXPECT_EQ(ReadText("a", volume), "of site b");
  EXPECT_EQ(Digest("a", volume), Digest("b", volume));

  // Force means nothing to a copy that is in step.
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Resync("a", volume, true, &ready), HasCode(Code::OK));
    EXPECT_TRUE(ready);
  }
  EXPECT_EQ(ids.count(ImageId("a", volume)), 1U);
}

/// What one site alone has survives the moves that begin with the other one's
/// older content. A suite of its own, because they take minutes.
class OlderContentTest : public ResyncTest {};

// Two planned moves that chaos found: b's content was on b alone, b was
// demoted, and a was promoted with what it had before the disaster.
TEST_F(OlderContentTest, WhatWasWrittenAfterADisasterIsLostByNoMove) {
  const TestVolume volume = MakeSplitBrain();
  // On a busy machine the first call ends before site a has reported.
  grpc::Status refused;
  EXPECT_TRUE(Eventually(
      [&] {
        refused = Demote("b", volume);
        return refused.error_code() != Code::UNAVAILABLE ||
               refused.error_message().find("split brain") != std::string::npos;
      },
      std::chrono::seconds(120)));
  EXPECT_THAT(refused, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(refused.error_message(), HasSubstr("split brain"));
  EXPECT_TRUE(IsPrimary("b", volume));

  // By hand, while a resync waits for its rbd-mirror.
  Testbed("kill", {"a", "rbd-mirror"});
  Rbd("a", {"mirror", "image", "resync", ImageSpec(volume)});
  ASSERT_TRUE(HasRequest("a", volume));
  Rbd("b", {"mirror", "image", "demote", ImageSpec(volume)});
  for (const grpc::Status& answer :
       PromoteRepeatedly("a", volume, std::chrono::seconds(70))) {
    EXPECT_THAT(answer, HasCode(Code::UNAVAILABLE));
  }
  EXPECT_FALSE(IsPrimary("a", volume));

  ASSERT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  Testbed("start", {"a", "rbd-mirror"});
  const auto moves = [&] { return Demote("b", volume).ok(); };
  EXPECT_TRUE(Eventually(moves, std::chrono::seconds(180)));
  EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  EXPECT_EQ(ReadText("a", volume), "of site b");
}

// A walk on the model found it: site a comes back from a disaster and is
// demoted before it has heard that b was promoted, and b is demoted, too. Each
// rbd-mirror says then only that the other image is not primary.
TEST_F(OlderContentTest, OfTwoDemotedSitesTheOlderContentIsNotPromoted) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "common");
  Synchronize("a", volume);
  // As if site a were down, it hears nothing of the other one.
  Stop("b", "rbd-mirror");
  ASSERT_TRUE(Eventually([&] { return Promote("b", volume, true).ok(); },
                         std::chrono::seconds(120)));
  Write("b", volume, "of site b");
  // Until what b had reported is older than what counts as just heard.
  std::this_thread::sleep_for(std::chrono::seconds(65));
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  Rbd("b", {"mirror", "image", "demote", ImageSpec(volume)});
  Continue("b", "rbd-mirror");

  const auto answers = PromoteRepeatedly("a", volume, std::chrono::seconds(60));
  EXPECT_THAT(answers, Each(HasCode(Code::UNAVAILABLE)));
  EXPECT_THAT(answers.back().error_message(),
              HasSubstr("may have been promoted there before"));
  EXPECT_FALSE(IsPrimary("a", volume));
  bool ready = false;
  EXPECT_THAT(Resync("a", volume, true, &ready), HasCode(Code::UNAVAILABLE));
  EXPECT_FALSE(ready);
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "of site b");
}

// Site a lives, and is demoted before it can know that b was promoted.
TEST_F(ResyncTest, ADemotionBesideATakeoverIsNotTakenBack) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "common");
  Synchronize("a", volume);
  ASSERT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  Write("b", volume, "of site b");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  Rbd("b", {"mirror", "image", "demote", ImageSpec(volume)});

  // Until b's rbd-mirror has seen that a is primary again, and cannot follow.
  const auto answers =
      PromoteRepeatedly("a", volume, std::chrono::seconds(150));
  EXPECT_THAT(answers, Each(HasCode(Code::UNAVAILABLE)));
  EXPECT_FALSE(IsPrimary("a", volume)) << answers.back().error_message();
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "of site b");
}

TEST_F(ResyncTest, NothingIsDeletedWhileThePeerIsDown) {
  const TestVolume volume = MakeSplitBrain();
  const std::string id = ImageId("a", volume);
  Stop("b", "all");
  ASSERT_TRUE(Eventually(
      [&] { return Status("a", volume).find("down+") != std::string::npos; }));

  bool ready = true;
  for (int i = 0; i < 3; ++i) {
    const grpc::Status status = Resync("a", volume, true, &ready);
    EXPECT_THAT(status, HasCode(Code::UNAVAILABLE));
    EXPECT_FALSE(ready);
  }
  EXPECT_FALSE(HasRequest("a", volume));
  EXPECT_EQ(ImageId("a", volume), id);
  EXPECT_EQ(ReadText("a", volume), "of site a");
  Continue("b", "all");
  // An OSD that was away for so long stays laggy until the map says so.
  Testbed("ceph", {"b", "osd", "down", "0"});
  EXPECT_EQ(ImageId("a", volume), id);
  EXPECT_FALSE(HasRequest("a", volume));
}

TEST_F(ResyncTest, ARequestInJournalModeIsSeenAndGoesWithAForcedPromotion) {
  const Parameters journal = {{"mirroringMode", "journal"}};
  TestVolume volume = MakeVolume();
  ASSERT_THAT(Enable("a", volume, journal), HasCode(Code::OK));
  ASSERT_THAT(Promote("a", volume, false, journal), HasCode(Code::OK));
  volume.id_b = Testbed("peer-journal", {"b", volume.id_a});
  bool ready = false;
  ASSERT_TRUE(Eventually(
      [&] { return Resync("b", volume, false, &ready).ok() && ready; },
      std::chrono::seconds(120)))
      << Status("b", volume);

  // So that the request stays.
  Testbed("kill", {"b", "rbd-mirror"});
  Rbd("b", {"mirror", "image", "resync", ImageSpec(volume)});
  const auto flag = [&] {
    const std::string file = Bed().Path("journal-client");
    Rados("b", volume,
          {"getomapval", "journal." + ImageId("b", volume), "client_", file});
    std::ifstream input(file, std::ios::binary);
    const std::string client(std::istreambuf_iterator<char>(input), {});
    const auto offset = ResyncFlagOffset(client);
    EXPECT_TRUE(offset.has_value()) << client.size();
    return offset.has_value() ? static_cast<int>(client[*offset]) : -1;
  };
  EXPECT_EQ(flag(), 1);
  EXPECT_THAT(Resync("b", volume, false, &ready), HasCode(Code::OK));
  EXPECT_FALSE(ready);
  EXPECT_THAT(Promote("b", volume, true, journal), HasCode(Code::OK));
  EXPECT_EQ(flag(), 0);
  Testbed("start", {"b", "rbd-mirror"});
}

TEST_F(ResyncTest, TwoDemotedSitesAreInStep) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "the only data");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  const std::string id_a = ImageId("a", volume);
  const std::string id_b = ImageId("b", volume);
  for (const std::string site : {"a", "b"}) {
    bool ready = false;
    grpc::Status status;
    EXPECT_TRUE(Eventually(
        [&, site] {
          status = Resync(site, volume, true, &ready);
          return status.ok() && ready;
        },
        std::chrono::seconds(90)))
        << site << ": " << status.error_message() << Status(site, volume);
  }
  EXPECT_EQ(ImageId("a", volume), id_a);
  EXPECT_EQ(ImageId("b", volume), id_b);
  EXPECT_EQ(ReadText("a", volume), "the only data");
  EXPECT_EQ(ReadText("b", volume), "the only data");
}

TEST_F(ResyncTest, ASecondaryThatFollowsIsReadyWithoutARequest) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string id = ImageId("b", volume);
  bool ready = false;
  EXPECT_TRUE(Eventually([&] {
    return Resync("b", volume, true, &ready).ok() && ready;
  })) << Status("b", volume);
  EXPECT_EQ(ImageId("b", volume), id);
  EXPECT_FALSE(HasRequest("b", volume));
}

TEST_F(ResyncTest, APrimaryIsRefused) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string id = ImageId("a", volume);
  bool ready = true;
  EXPECT_THAT(Resync("a", volume, true, &ready),
              HasCode(Code::FAILED_PRECONDITION));
  EXPECT_EQ(ImageId("a", volume), id);
  EXPECT_FALSE(HasRequest("a", volume));
}

TEST_F(ResyncTest, AnImageThatIsNotReplicatedIsRefused) {
  const TestVolume volume = MakeVolume();
  const std::string id = ImageId("a", volume);
  bool ready = true;
  EXPECT_THAT(Resync("a", volume, true, &ready),
              HasCode(Code::FAILED_PRECONDITION));
  EXPECT_EQ(ImageId("a", volume), id);
}

}  // namespace
}  // namespace addons::testing
