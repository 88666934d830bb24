// Rotate() on a simulated cluster, with a real LUKS header in a file.

#include "keyrotation/rotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/pool.h"
#include "keyrotation/rotation_lock.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/documented_calls.h"
#include "tests/testing/encrypted_node.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
constexpr char kFirst[] = "the first passphrase";

class RotateTest : public ::testing::Test {
 protected:
  absl::Status Run(RotationRequest request) {
    TestOperationContext context(world_);
    context.SetDeadline(seconds(150));
    const absl::Status status =
        Rotate(context, node_.Environment(resolver_, wrapper_), request);
    steps_ = context.steps();
    mutating_ = context.mutating();
    return status;
  }
  absl::Status Run() { return Run(node_.Ask()); }

  /// A refusal that changes neither the header nor the KMS.
  void ExpectUntouched(const absl::Status& status, absl::StatusCode code,
                       const std::string& message) {
    EXPECT_THAT(status, StatusIs(code, AllOf(HasSubstr(message),
                                             HasSubstr(node_.id()))));
    EXPECT_EQ(node_.luks().SlotOf(kFirst), 0);
    EXPECT_EQ(node_.InMetadata(), kFirst);
  }
  /// The volume has one key, in one of the driver's slots, and the KMS has it.
  void ExpectRotated() {
    const std::string now = node_.InMetadata();
    EXPECT_NE(now, kFirst);
    EXPECT_EQ(now.size(), 28U);
    const int slot = node_.luks().SlotOf(now);
    EXPECT_TRUE(slot == 0 || slot == 1) << slot;
    EXPECT_EQ(node_.luks().SlotOf(kFirst), -1);
    const std::vector<int> slots = node_.luks().Slots();
    EXPECT_EQ(std::count_if(slots.begin(), slots.end(),
                            [](int used) { return used < 2; }),
              1);
    EXPECT_FALSE(node_.site().HasOmap(MirroredPair::kPool, "", node_.id()));
    EXPECT_THAT(world_.Violations(), IsEmpty());
  }
  std::unique_ptr<Pool> OpenPool(FakeClusterProvider& provider) {
    return *provider.Get(node_.site())->OpenPool(2, "", Access::kMutate);
  }

  FakeWorld world_;
  EncryptedNode node_{world_};
  ConfigStore config_{node_.dir().path()};
  Resolver resolver_{config_, node_.pair().provider()};
  EncryptedNode::Wrapper wrapper_;
  std::vector<std::string> steps_;
  bool mutating_ = false;
};

TEST_F(RotateTest, ANewKeyTakesThePlaceOfTheOldOne) {
  const std::string volume_key = node_.luks().VolumeKey(kFirst);
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1));
  EXPECT_EQ(node_.luks().VolumeKey(node_.InMetadata()), volume_key);
  EXPECT_THAT(steps_, ElementsAre("finding the volume and its KMS",
                                  "finding the volume's device",
                                  "looking which key slot the key opens",
                                  "writing key slot 1", "storing the key",
                                  "removing key slot 0"));
}

TEST_F(RotateTest, AsksCephWhatThePageSays) {
  // The other site would be asked beside it, at a moment of its own.
  node_.dir().Write(
      "config.json",
      R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]}])");
  ASSERT_OK(Run());
  world_.ClearCalls();
  ASSERT_OK(Run());
  CallCounts made;
  for (const CallRecord& record : world_.Calls()) ++made[record.call];
  EXPECT_EQ(made, DocumentedCalls(ADDONS_PERFORMANCE_DOC, "rotate"));
}

TEST_F(RotateTest, TheSecondTimeItGoesBackToTheFirstSlot) {
  ASSERT_OK(Run());
  const std::string second = node_.InMetadata();
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_NE(node_.InMetadata(), second);
  EXPECT_EQ(node_.luks().SlotOf(second), -1);
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0));
}

TEST_F(RotateTest, AWantedKeyIsTakenOnceAndForAll) {
  RotationRequest request = node_.Ask();
  request.wanted = Secret("the wanted one");
  ASSERT_OK(Run(std::move(request)));
  EXPECT_EQ(node_.InMetadata(), "the wanted one");
  EXPECT_EQ(node_.luks().SlotOf("the wanted one"), 1);
  request = node_.Ask();
  request.wanted = Secret("the wanted one");
  ASSERT_OK(Run(std::move(request)));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1));
}

TEST_F(RotateTest, ThePassphraseOfAnOldVolumeMovesToTheKeyOfToday) {
  node_.SetMetadata(kOldPassphraseKey, node_.Wrapped(kFirst));
  node_.SetMetadata(kOldEncryptedKey, "encrypted");
  for (const char* key : {kPassphraseKey, kEncryptedKey}) {
    ASSERT_OK((*OpenPool(node_.pair().provider())
                    ->OpenImage(ImageName(EncryptedNode::Image())))
                  ->RemoveMetadata(key));
  }
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_THAT(node_.Metadata(), Contains(Key(kPassphraseKey)));
  EXPECT_THAT(node_.Metadata(), Not(Contains(Key(kOldPassphraseKey))));
}

// Each takes memory and processors of the node.
TEST_F(RotateTest, ThirdOnesWaitForTheirTurn) {
  RotationEnvironment environment = node_.Environment(resolver_);
  std::vector<Slots::Slot> others = {environment.turns.TryTake(),
                                     environment.turns.TryTake()};
  ASSERT_NE(others[1], nullptr);
  EXPECT_EQ(environment.turns.TryTake(), nullptr);
  world_.Schedule(seconds(20), [&] { others.pop_back(); });
  TestOperationContext context(world_);
  ASSERT_OK(Rotate(context, environment, node_.Ask()));
  ExpectRotated();
  EXPECT_EQ(context.slept(), seconds(20));
  EXPECT_EQ(context.steps().front(),
            "waiting for other rotations on this node");
  EXPECT_NE(environment.turns.TryTake(), nullptr);
  others.push_back(environment.turns.TryTake());
  TestOperationContext patient(world_);
  patient.SetDeadline(seconds(30));
  EXPECT_THAT(Rotate(patient, environment, node_.Ask()),
              StatusIs(absl::StatusCode::kCancelled));
}

// --- slots

TEST_F(RotateTest, WhatAnInterruptedRotationLeftIsRemoved) {
  node_.luks().AddKey(1, kFirst, "never stored");
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_EQ(node_.luks().SlotOf("never stored"), -1);
}

// ceph-csi's own rotation died after it had put the old key into slot 1.
TEST_F(RotateTest, TheSameKeyInBothSlotsIsOneTooMany) {
  node_.luks().AddKey(1, kFirst, kFirst);
  ASSERT_OK(Run());
  ExpectRotated();
}

TEST_F(RotateTest, KeysInOtherSlotsStay) {
  for (int slot = 2; slot < 32; ++slot) {
    node_.luks().AddKey(slot, kFirst, absl::StrCat("of a person ", slot));
  }
  node_.luks().AddKey(1, kFirst, "left over");
  ASSERT_OK(Run());
  ExpectRotated();
  for (int slot = 2; slot < 32; ++slot) {
    EXPECT_EQ(node_.luks().SlotOf(absl::StrCat("of a person ", slot)), slot);
  }
  EXPECT_EQ(node_.luks().SlotOf("left over"), -1);
}

TEST_F(RotateTest, TheOldKeyIsRemovedFromEverySlot) {
  node_.luks().AddKey(6, kFirst, kFirst);
  node_.luks().AddKey(7, kFirst, "of a person");
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_EQ(node_.luks().SlotOf("of a person"), 7);
}

TEST_F(RotateTest, AKeyInAnotherSlotIsMovedToTheDriversFirst) {
  node_.luks().AddKey(5, kFirst, kFirst);
  node_.luks().RemoveKey(0);
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1));
}

TEST_F(RotateTest, WhereTheDriversSlotsAreSomebodyElsesNothingIsDone) {
  node_.luks().AddKey(5, kFirst, kFirst);
  node_.luks().AddKey(1, kFirst, "of a person");
  node_.luks().RemoveKey(0);
  EXPECT_THAT(Run(), StatusIs(kRefused, AllOf(HasSubstr("key slot 5"),
                                              HasSubstr("in use: 1, 5"),
                                              HasSubstr("luksKillSlot"))));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1, 5));
  EXPECT_EQ(node_.InMetadata(), kFirst);
}

TEST_F(RotateTest, AKeyThatDoesNotOpenTheVolumeChangesNothing) {
  node_.SetMetadata(kPassphraseKey, node_.Wrapped("another one"));
  node_.luks().AddKey(1, kFirst, "left over?");
  EXPECT_THAT(Run(), StatusIs(kRefused, HasSubstr("opens no key slot")));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0, 1));
}

/// Says that it has written a key, and has not.
class LyingHeader final : public LuksHeader {
 public:
  explicit LyingHeader(std::unique_ptr<LuksHeader> inner)
      : inner_(std::move(inner)) {}
  std::string Format() override { return inner_->Format(); }
  std::vector<int> UsedSlots() override { return inner_->UsedSlots(); }
  absl::StatusOr<std::optional<int>> Unlock(const Secret& passphrase) override {
    return inner_->Unlock(passphrase);
  }
  absl::StatusOr<bool> Opens(int slot, const Secret& passphrase) override {
    return inner_->Opens(slot, passphrase);
  }
  absl::Status AddKey(int, const Secret&) override { return absl::OkStatus(); }
  absl::Status RemoveKey(int slot) override { return inner_->RemoveKey(slot); }

 private:
  const std::unique_ptr<LuksHeader> inner_;
};

TEST_F(RotateTest, AKeyThatOpensNothingIsNotStored) {
  wrapper_ = [](std::unique_ptr<LuksHeader> header) {
    return std::make_unique<LyingHeader>(std::move(header));
  };
  ExpectUntouched(Run(), absl::StatusCode::kInternal, "does not open it");
}

// --- refusals

TEST_F(RotateTest, OtherEncryptionsAreLeftAlone) {
  node_.SetKms("kms-1", "file");
  ExpectUntouched(Run(), kRefused, "fscrypt");
  node_.SetKms("", "");
  ExpectUntouched(Run(), absl::StatusCode::kInvalidArgument,
                  "is not encrypted");
  EXPECT_FALSE(mutating_);
}

TEST_F(RotateTest, LibrbdsOwnEncryptionIsLeftAlone) {
  node_.Map("another image");
  node_.tree().AddDisk("nbd0", "43:0");
  std::string command =
      absl::StrCat("rbd-nbd\nmap\nreplicapool/", EncryptedNode::Image(),
                   "\n--encryption-format\nluks2\n");
  std::replace(command.begin(), command.end(), '\n', '\0');
  node_.tree().SetNbdServer("nbd0", 77, command);
  ExpectUntouched(Run(), kRefused, "librbd's own encryption");
}

TEST_F(RotateTest, AVolumeThatIsNotEncryptedYetWaitsForItsFirstPod) {
  node_.SetMetadata(kEncryptedKey, "encryptionPrepared");
  ExpectUntouched(Run(), kRefused, "encryptionPrepared");
}

TEST_F(RotateTest, OtherKmsAreNamed) {
  node_.SetKms("vault-1", "block");
  ExpectUntouched(Run(), kRefused, "KMS 'vault-1' is of type 'vaulttokens'");
  node_.SetKms("tenant-1", "block");
  ExpectUntouched(Run(), kRefused, "Secret 'theirs'");
  node_.SetKms("gone", "block");
  ExpectUntouched(Run(), kRefused, "KMS 'gone' is not in");
}

TEST_F(RotateTest, TheSecretMustHaveThePassphrase) {
  RotationRequest request = node_.Ask();
  request.secret_passphrase = Secret();
  ExpectUntouched(Run(std::move(request)), kRefused, "encryptionPassphrase");
  request = node_.Ask();
  request.secret_passphrase = Secret("another one");
  ExpectUntouched(Run(std::move(request)), kRefused, "does not decrypt");
}

TEST_F(RotateTest, MappedElsewhereNamesTheNode) {
  node_.Map("another image");
  ExpectUntouched(Run(), kRefused, "nor on any other");
  node_.site().AddWatcher(EncryptedNode::Image(), "10.0.0.7:0/123", 4711);
  ExpectUntouched(Run(), kRefused, "client.4711 at 10.0.0.7:0/123)");
  // Of a node that has it no more, and of the one that has it.
  node_.SetMetadata(".rbd.csi.ceph.com/clientaddress/id/node-5", "10.0.0.5");
  node_.SetMetadata(".rbd.csi.ceph.com/clientaddress/id/node-7", "10.0.0.7");
  ExpectUntouched(Run(), kRefused, "10.0.0.7:0/123 on node 'node-7')");
  node_.site().AddWatcher(EncryptedNode::Image(), "10.0.0.8:0/5", 4712);
  ExpectUntouched(Run(), kRefused, "10.0.0.8:0/5)");
  // Two nodes that say the same.
  node_.SetMetadata(".rbd.csi.ceph.com/clientaddress/id/node-6", "10.0.0.7");
  ExpectUntouched(Run(), kRefused, "10.0.0.7:0/123, ");
  EXPECT_FALSE(mutating_);
}

TEST_F(RotateTest, AnRbdNbdDeviceRotatesAsWell) {
  node_.Map("another image");
  node_.tree().AddDisk("nbd0", "43:0");
  const auto serve = [this](const std::string& command) {
    std::string zeros = command;
    std::replace(zeros.begin(), zeros.end(), '\n', '\0');
    node_.tree().SetNbdServer("nbd0", 77, zeros);
  };
  node_.SetDevice("nbd0");
  serve(absl::StrCat("rbd-nbd\nmap\nreplicapool/another\n"));
  ExpectUntouched(Run(), kRefused, "not mapped on this node");
  serve(absl::StrCat("rbd-nbd\nmap\nreplicapool/", EncryptedNode::Image(),
                     "\n--cookie\n", node_.id(), "\n"));
  ASSERT_OK(Run());
  ExpectRotated();
}

TEST_F(RotateTest, ASnapshotOfTheImageIsNotTheImage) {
  node_.tree().SetAttribute("rbd0", "ro", "1\n");
  ExpectUntouched(Run(), kRefused, "not mapped on this node");
}

TEST_F(RotateTest, ASecondaryFollows) {
  node_.site().EnableMirroring(EncryptedNode::Image());
  node_.site().Demote(EncryptedNode::Image());
  ExpectUntouched(Run(), kRefused, "is a secondary");
}

// --- the lock

TEST_F(RotateTest, TheLockIsCephCsis) {
  const ObjectLock lock = RotationLockOf(VolumeHandle("0001-x"));
  EXPECT_EQ(lock.object, "0001-x");
  EXPECT_EQ(lock.name, "0001-x-mutexlock");
  EXPECT_EQ(lock.cookie, "0001-x-enc-key-rotate");
}

TEST_F(RotateTest, AnotherNodeThatRotatesIsWaitedFor) {
  FakeClusterProvider other(world_);
  const auto pool = OpenPool(other);
  const ObjectLock lock = RotationLockOf(VolumeHandle(node_.id()));
  ASSERT_TRUE(*pool->TakeObjectLock(lock, seconds(20)));
  ASSERT_OK(Run());
  ExpectRotated();
  EXPECT_THAT(steps_, Contains("waiting for the lock on the rotation"));
}

TEST_F(RotateTest, OneThatHoldsOnIsNamed) {
  FakeClusterProvider other(world_);
  const auto pool = OpenPool(other);
  const ObjectLock lock = RotationLockOf(VolumeHandle(node_.id()));
  ASSERT_TRUE(*pool->TakeObjectLock(lock, seconds(180)));
  ExpectUntouched(Run(), absl::StatusCode::kAborted, "has the lock on it");
  EXPECT_FALSE(mutating_);
}

// A daemon that stood still for minutes may not go on.
TEST_F(RotateTest, ALostLockEndsIt) {
  FakeClusterProvider other(world_);
  const auto pool = OpenPool(other);
  const ObjectLock lock = RotationLockOf(VolumeHandle(node_.id()));
  int opened = 0;
  wrapper_ = [&](std::unique_ptr<LuksHeader> header) {
    // The second one verifies what was written; the KMS comes after it.
    if (++opened == 2) {
      world_.Advance(seconds(61));
      EXPECT_TRUE(*pool->TakeObjectLock(lock, seconds(5)));
    }
    return header;
  };
  ExpectUntouched(Run(), absl::StatusCode::kAborted,
                  "the lock on the rotation");
  EXPECT_EQ(opened, 2);
  ASSERT_OK(Run());
  ExpectRotated();
}

// --- faults of the KMS

/// Strikes at the first call of this name that changes something.
void FailOnce(FakeWorld& world, const std::string& call, bool after,
              int error) {
  auto struck = std::make_shared<bool>(false);
  const auto strike = [=](absl::string_view, absl::string_view name, bool) {
    if (*struck || name != call) return 0;
    *struck = true;
    return error;
  };
  world.SetCallHook(after ? FakeWorld::CallHook() : strike,
                    after ? FakeWorld::CallHook(strike) : nullptr);
}

TEST_F(RotateTest, AKeyThatCannotBeStoredIsTakenBack) {
  FailOnce(world_, "rbd_metadata_set", false, EIO);
  EXPECT_THAT(Run(), Not(IsOk()));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0));
  EXPECT_EQ(node_.luks().SlotOf(kFirst), 0);
  EXPECT_EQ(node_.InMetadata(), kFirst);
  ASSERT_OK(Run());
  ExpectRotated();
}

// The answer was lost; the value was not.
TEST_F(RotateTest, AKeyThatWasStoredAllTheSameCounts) {
  FailOnce(world_, "rbd_metadata_set", true, ETIMEDOUT);
  ASSERT_OK(Run());
  ExpectRotated();
}

TEST_F(RotateTest, WithoutAnAnswerOfTheKmsBothKeysStay) {
  bool silent = false;
  world_.SetCallHook(
      [&](absl::string_view, absl::string_view name, bool) {
        return silent && name != "rados_write_op_operate" ? ETIMEDOUT : 0;
      },
      [&](absl::string_view, absl::string_view name, bool) {
        if (name == "rbd_metadata_set") silent = true;
        return silent ? ETIMEDOUT : 0;
      });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAborted));
  world_.SetCallHook(nullptr);
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0, 1));
  EXPECT_EQ(node_.luks().SlotOf(node_.InMetadata()), 1);
  ASSERT_OK(Run());
  ExpectRotated();
}

// --- one passphrase in the Secret

class SecretKmsTest : public RotateTest {
 protected:
  SecretKmsTest() { node_.SetKms("default", "block"); }
  RotationRequest Ask(const std::string& now, const std::string& previous) {
    RotationRequest request = node_.Ask();
    request.secret_passphrase = Secret(now);
    request.previous_passphrase = Secret(previous);
    return request;
  }
};

TEST_F(SecretKmsTest, TheVolumeFollowsTheSecret) {
  ASSERT_OK(Run(Ask("second", kFirst)));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1));
  EXPECT_EQ(node_.luks().SlotOf("second"), 1);
  ASSERT_OK(Run(Ask("second", kFirst)));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1));
  ASSERT_OK(Run(Ask("third", "second")));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0));
  EXPECT_EQ(node_.luks().SlotOf("third"), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd_metadata_set"), 0);
}

TEST_F(SecretKmsTest, WithoutAnotherPassphraseThereIsNothingToChangeTo) {
  EXPECT_THAT(Run(Ask(kFirst, "")),
              StatusIs(kRefused, AllOf(HasSubstr("KMS 'default'"),
                                       HasSubstr("previousEncryption"))));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0));
  // Nothing is rotated, so that a person's key stays.
  node_.luks().AddKey(1, kFirst, "of a person");
  EXPECT_THAT(Run(Ask(kFirst, "")),
              StatusIs(kRefused, HasSubstr("nothing was changed")));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0, 1));
}

TEST_F(SecretKmsTest, APassphraseThatWasLeftOverIsRemoved) {
  node_.luks().AddKey(1, kFirst, "second");
  node_.luks().AddKey(4, kFirst, kFirst);
  ASSERT_OK(Run(Ask("second", kFirst)));
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(1));
  EXPECT_EQ(node_.luks().SlotOf(kFirst), -1);
}

TEST_F(SecretKmsTest, PassphrasesThatDoNotOpenTheVolumeChangeNothing) {
  for (const char* previous : {"", "nor this"}) {
    EXPECT_THAT(Run(Ask("not this", previous)),
                StatusIs(kRefused, HasSubstr("neither")));
  }
  EXPECT_THAT(node_.luks().Slots(), ElementsAre(0));
}

TEST_F(SecretKmsTest, ItTakesNoOtherKey) {
  RotationRequest request = Ask(kFirst, "");
  request.wanted = Secret("wanted");
  EXPECT_THAT(Run(std::move(request)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("encryption_key")));
}

}  // namespace
}  // namespace addons::testing
