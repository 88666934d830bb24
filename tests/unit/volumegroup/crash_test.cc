// A call that dies at any change, before or after it takes effect, or is told
// of a failure there, is finished by the same call.

#include <gmock/gmock.h>

#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

struct Strike {
  const char* name;
  int error;  // 0: the process dies
  bool after;
};

/// A fresh pair of sites for each crash point.
class Scene : public GroupTest {
 public:
  Scene() {
    on_a_.environment().options.concurrency = 1;
    volumes_ = AddVolumes(4);
  }
  void TestBody() override {}

  void Create() {
    const auto group =
        GroupTest::Create(on_a_, "vg", {volumes_[0], volumes_[1]});
    if (group.ok()) id_ = group->group_id;
    last_ = group.status();
  }
  void Modify() {
    last_ = GroupTest::Modify(on_a_, id_, {volumes_[1], volumes_[2]}).status();
  }
  void Empty() { last_ = GroupTest::Modify(on_a_, id_, {}).status(); }
  void Delete() { last_ = GroupTest::Delete(on_a_, id_); }

  void ExpectGroup(int first, int second) {
    EXPECT_THAT(RbdGroups(),
                ElementsAre(Pair("csi-vol-group-" + UuidOf(id_),
                                 ElementsAre(Image(first), Image(second)))));
    EXPECT_THAT(Members(id_),
                ElementsAre(volumes_[first - 1], volumes_[second - 1]));
    EXPECT_THAT(Directory(),
                ElementsAre(Pair("csi.volume.group.vg", UuidOf(id_))));
    EXPECT_THAT(Journal(id_), SizeIs(5));
  }
  void ExpectNothing() {
    EXPECT_THAT(RbdGroups(), IsEmpty());
    EXPECT_THAT(Directory(), IsEmpty());
    EXPECT_FALSE(HasJournal(id_));
  }

  FakeWorld& world() { return world_; }
  const absl::Status& last() const { return last_; }

 private:
  std::vector<std::string> volumes_;
  std::string id_;
  absl::Status last_;
};

struct Story {
  const char* name;
  std::function<void(Scene&)> prepare;
  std::function<void(Scene&)> verb;
  std::function<void(Scene&)> expect;
};

/// How many changes the verb makes.
int CountChanges(const Story& story) {
  Scene scene;
  if (story.prepare) story.prepare(scene);
  scene.world().ClearCalls();
  story.verb(scene);
  EXPECT_OK(scene.last());
  return scene.world().CountMutations();
}

void ExpectNoAnswer(const absl::Status& status) {
  for (const auto code :
       {absl::StatusCode::kNotFound, absl::StatusCode::kAlreadyExists,
        absl::StatusCode::kFailedPrecondition,
        absl::StatusCode::kInvalidArgument}) {
    EXPECT_NE(status.code(), code) << status;
  }
}

void Tell(const Story& story, const Strike& strike, int at) {
  Scene scene;
  if (story.prepare) story.prepare(scene);
  scene.world().StrikeAtMutation(at, strike.error, strike.after);
  try {
    story.verb(scene);
  } catch (const FakeCrash&) {
  }
  scene.world().SetCallHook(nullptr);
  ExpectNoAnswer(scene.last());
  story.verb(scene);
  EXPECT_OK(scene.last());
  story.expect(scene);
  EXPECT_THAT(scene.world().Violations(), IsEmpty());
}

std::vector<Story> Stories() {
  return {
      {"create", nullptr, &Scene::Create,
       [](Scene& scene) { scene.ExpectGroup(1, 2); }},
      {"modify", &Scene::Create, &Scene::Modify,
       [](Scene& scene) { scene.ExpectGroup(2, 3); }},
      {"delete",
       [](Scene& scene) {
         scene.Create();
         scene.Empty();
       },
       &Scene::Delete, [](Scene& scene) { scene.ExpectNothing(); }},
  };
}

TEST(GroupCrashTest, TheSameCallFinishesWhatAnInterruptedOneBegan) {
  const Strike strikes[] = {
      {"dies before", 0, false}, {"dies after", 0, true},
      {"EIO", EIO, false},       {"EIO after the change", EIO, true},
      {"EBUSY", EBUSY, false},   {"blocklisted", ESHUTDOWN, false}};
  for (const Story& story : Stories()) {
    for (const Strike& strike : strikes) {
      const int changes = CountChanges(story);
      EXPECT_GE(changes, 3);
      for (int at = 1; at <= changes; ++at) {
        SCOPED_TRACE(
            absl::StrCat(story.name, " ", strike.name, " at change ", at));
        Tell(story, strike, at);
      }
    }
  }
}

// NOT_FOUND and FAILED_PRECONDITION would be taken for an answer about the
// group, and ENOENT at a removal for its success.
TEST(GroupCrashTest, NoErrorOfCephIsTakenForAnAnswerAboutTheGroup) {
  for (const Story& story : Stories()) {
    const int changes = CountChanges(story);
    for (const int error : {ENOENT, EEXIST, EPERM, ENOSPC, ETIMEDOUT}) {
      for (int at = 1; at <= changes; ++at) {
        SCOPED_TRACE(
            absl::StrCat(story.name, " errno ", error, " at change ", at));
        Scene scene;
        if (story.prepare) story.prepare(scene);
        scene.world().StrikeAtMutation(at, error, false);
        story.verb(scene);
        ExpectNoAnswer(scene.last());
      }
    }
  }
}

}  // namespace
}  // namespace addons::testing
