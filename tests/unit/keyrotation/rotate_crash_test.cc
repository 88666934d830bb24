// The daemon dies in the middle of Rotate(): before and after each call of Ceph
// and each change of the LUKS header. At that moment a key that the KMS knows
// opens the volume, and the next call ends as if nothing had been.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "keyrotation/rotate.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/encrypted_node.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Called at each moment at which the process may die.
using Moment = std::function<void(const std::string& what)>;

class MortalHeader final : public LuksHeader {
 public:
  MortalHeader(std::unique_ptr<LuksHeader> inner, const Moment& moment)
      : inner_(std::move(inner)), moment_(moment) {}
  std::string Format() override { return inner_->Format(); }
  std::vector<int> UsedSlots() override { return inner_->UsedSlots(); }
  absl::StatusOr<std::optional<int>> Unlock(const Secret& passphrase) override {
    moment_("before Unlock");
    return inner_->Unlock(passphrase);
  }
  absl::StatusOr<bool> Opens(int slot, const Secret& passphrase) override {
    moment_(absl::StrCat("before Opens ", slot));
    return inner_->Opens(slot, passphrase);
  }
  absl::Status AddKey(int slot, const Secret& passphrase) override {
    moment_(absl::StrCat("before AddKey ", slot));
    const absl::Status status = inner_->AddKey(slot, passphrase);
    moment_(absl::StrCat("after AddKey ", slot));
    return status;
  }
  absl::Status RemoveKey(int slot) override {
    moment_(absl::StrCat("before RemoveKey ", slot));
    const absl::Status status = inner_->RemoveKey(slot);
    moment_(absl::StrCat("after RemoveKey ", slot));
    return status;
  }

 private:
  const std::unique_ptr<LuksHeader> inner_;
  const Moment& moment_;
};

/// What the volume is like before the call that dies.
struct Beginning {
  std::string name;
  std::string format;
  std::function<void(EncryptedNode&)> prepare;
  /// The passphrases of the Secret, where it is the KMS.
  std::string secret;
  std::string previous;
};

class Scene {
 public:
  explicit Scene(const Beginning& beginning)
      : beginning_(beginning), node_(world_, {.type = beginning.format}) {
    if (!beginning.secret.empty()) node_.SetKms("default", "block");
    if (beginning.prepare) beginning.prepare(node_);
  }

  /// Runs Rotate() in a process of its own, which dies at the n-th moment; 0:
  /// never. Returns what that moment was; empty: there are not so many.
  std::string Run(int n, absl::Status* status) {
    int moments = 0;
    std::string died;
    // The resolving may still connect in a thread of its own.
    const std::thread::id verb = std::this_thread::get_id();
    const Moment moment = [&](const std::string& what) {
      if (std::this_thread::get_id() != verb || ++moments != n) return;
      died = what;
      throw FakeCrash();
    };
    FakeClusterProvider provider(world_);
    Resolver resolver(config_, provider);
    const auto hook = [&](const char* when) {
      return [&moment, when](absl::string_view, absl::string_view call, bool) {
        moment(absl::StrCat(when, " ", call));
        return 0;
      };
    };
    TestOperationContext context(world_);
    context.SetDeadline(seconds(150));
    RotationRequest request = node_.Ask();
    if (!beginning_.secret.empty()) {
      request.secret_passphrase = Secret(beginning_.secret);
      request.previous_passphrase = Secret(beginning_.previous);
    }
    // Resolving changes nothing, and its threads are not those of the verb.
    const auto open = [&](std::unique_ptr<LuksHeader> header) {
      return std::make_unique<MortalHeader>(std::move(header), moment);
    };
    context.OnStep([&](absl::string_view step) {
      if (step == "finding the volume's device") {
        world_.SetCallHook(hook("before"), hook("after"));
      }
    });
    try {
      *status = Rotate(context, node_.Environment(resolver, open), request);
    } catch (const FakeCrash&) {
    }
    world_.SetCallHook(nullptr);
    return died;
  }

  /// A key that the KMS knows opens the volume.
  void ExpectOpens(const std::string& moment) {
    const std::vector<std::string> known =
        beginning_.secret.empty()
            ? std::vector<std::string>{node_.InMetadata()}
            : std::vector<std::string>{beginning_.secret, beginning_.previous};
    bool opens = false;
    for (const std::string& passphrase : known) {
      opens = opens || node_.luks().SlotOf(passphrase) >= 0;
    }
    EXPECT_TRUE(opens) << moment;
  }
  /// One key in the driver's slots, which is the KMS's.
  void ExpectRotated(const std::string& moment) {
    const std::string now =
        beginning_.secret.empty() ? node_.InMetadata() : beginning_.secret;
    EXPECT_EQ(node_.luks().Slots().size(), 1U) << moment;
    EXPECT_GE(node_.luks().SlotOf(now), 0) << moment;
    EXPECT_EQ(node_.luks().SlotOf(EncryptedNode::kFirst), -1) << moment;
    EXPECT_FALSE(node_.site().HasOmap(MirroredPair::kPool, "", node_.id()))
        << moment;
    EXPECT_THAT(world_.Violations(), IsEmpty()) << moment;
  }

 private:
  const Beginning& beginning_;
  FakeWorld world_;
  EncryptedNode node_;
  ConfigStore config_{node_.dir().path()};
};

class RotateCrashTest : public ::testing::TestWithParam<Beginning> {};

TEST_P(RotateCrashTest, TheNextCallEndsWhatDied) {
  std::vector<std::string> moments;
  for (int n = 1;; ++n) {
    Scene scene(GetParam());
    absl::Status status;
    const std::string moment = scene.Run(n, &status);
    if (moment.empty()) {
      EXPECT_OK(status);
      scene.ExpectRotated("without a death");
      break;
    }
    moments.push_back(moment);
    scene.ExpectOpens(moment);
    EXPECT_EQ(scene.Run(0, &status), "");
    EXPECT_OK(status) << moment;
    scene.ExpectRotated(moment);
  }
  EXPECT_GT(moments.size(), 15U);
  EXPECT_THAT(moments, ::testing::Contains("after AddKey 1"));
  EXPECT_THAT(moments, ::testing::Contains("after RemoveKey 0"));
}

std::vector<Beginning> Beginnings() {
  const auto leave = [](EncryptedNode& node) {
    node.luks().AddKey(1, EncryptedNode::kFirst, "left over");
    node.luks().AddKey(6, EncryptedNode::kFirst, EncryptedNode::kFirst);
  };
  const auto move = [](EncryptedNode& node) {
    node.luks().AddKey(5, EncryptedNode::kFirst, EncryptedNode::kFirst);
    node.luks().RemoveKey(0);
  };
  return {{"Luks2", "LUKS2", nullptr, "", ""},
          {"Luks1", "LUKS1", nullptr, "", ""},
          {"LeftOver", "LUKS2", leave, "", ""},
          {"OtherSlot", "LUKS2", move, "", ""},
          {"OfTheSecret", "LUKS2", nullptr, "second", EncryptedNode::kFirst}};
}

INSTANTIATE_TEST_SUITE_P(, RotateCrashTest, ::testing::ValuesIn(Beginnings()),
                         [](const auto& beginning) {
                           return beginning.param.name;
                         });

}  // namespace
}  // namespace addons::testing
