#ifndef ADDONS_TESTS_FAULTS_RIG_H_
#define ADDONS_TESTS_FAULTS_RIG_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "operation/growing_keys.h"
#include "replication/group/members.h"
#include "tests/faults/injector.h"
#include "tests/faults/process.h"
#include "tests/testing/fake_node.h"
#include "volumegroup/parameters.h"

namespace addons::testing {

/// Two mirrored sites, a process on each, and all verbs as the server calls
/// them: for one caller, who waits 60 s. For one run.
class Rig final : public VerbsTest {
 public:
  Rig();
  void TestBody() override {}

  using VerbsTest::a_;
  using VerbsTest::AddMirrored;
  using VerbsTest::AddPlain;
  using VerbsTest::b_;
  using VerbsTest::id_;
  using VerbsTest::image_;
  using VerbsTest::kSmallImage;
  using VerbsTest::LoseA;
  using VerbsTest::pair_;
  using VerbsTest::StopMidCopy;
  using VerbsTest::world_;

  // --- processes

  Process& on(FakeSite& site);
  /// Those that are there end as if they had been killed.
  void Restart();
  /// The same on one site.
  void Restart(FakeSite& site);
  /// From now on each process looks whether an rbd-mirror has gone or come
  /// back, as often as the daemon does beside its calls.
  void KeepLooking();
  /// The process of the site has looked, since it began, who copies there.
  bool HasLooked(const FakeSite& site) const {
    return looked_.contains(site.name());
  }
  /// The fault that is to happen; nullptr: none. Not owned.
  void SetInjector(Injector* injector) { injector_ = injector; }

  /// Which threads the test's thread has had made, by site and name.
  const std::set<std::pair<std::string, std::string>>& threads() const {
    return threads_;
  }
  void ForgetThreads() { threads_.clear(); }

  // --- what scenarios have in common

  static constexpr char kVolumeGroup[] = "vg";
  static constexpr uint64_t kImage = 2 * kSmallImage;  // 64 objects
  static std::string MemberUuid(int i);
  static std::string MemberImage(int i) {
    return MirroredPair::ImageOf(MemberUuid(i));
  }
  /// One volume, primary on a, which is replicated entry by entry.
  void AddMirroredByJournal();
  /// `count` volumes of a, which are members of a group in a's journal.
  void AddPlainMembers(int count, uint64_t bytes = kImage);
  /// The same, mirrored, and the group is in the journals of both sites.
  void AddMirroredMembers(int count, uint64_t bytes = kImage);
  /// Through CreateVolumeGroup.
  void CreateGroupOf(const std::vector<std::string>& ids);
  /// The process on `site` dies right after the first call of `function`, in
  /// the middle of `call`.
  void DieIn(FakeSite& site, const std::string& function,
             const std::function<absl::Status(Rig&)>& call, int occurrence = 1);
  /// b's journal knows another internal id than the image has.
  void WrongImageId(FakeSite& site);

  // --- verbs; `site` is where the call comes in

  absl::Status Enable(FakeSite& site, const ParameterMap& parameters = {});
  absl::Status Disable(FakeSite& site, const ParameterMap& parameters = {});
  absl::Status Promote(FakeSite& site, Force force,
                       const ParameterMap& parameters = {});
  absl::Status Demote(FakeSite& site);
  /// OK with ready=false is UNAVAILABLE "not ready" here.
  /// UNAVAILABLE until it is ready.
  absl::Status Resync(FakeSite& site, Force force);
  /// What Resync() answers of one that has begun.
  static bool HasBegun(const absl::Status& status);
  absl::Status Info(FakeSite& site);
  absl::Status Destination(FakeSite& site);

  absl::Status EnableMembers(FakeSite& site,
                             const ParameterMap& parameters = {});
  absl::Status DisableMembers(FakeSite& site,
                              const ParameterMap& parameters = {});
  absl::Status PromoteMembers(FakeSite& site, Force force,
                              const ParameterMap& parameters = {});
  absl::Status DemoteMembers(FakeSite& site);
  absl::Status ResyncMembers(FakeSite& site, Force force);
  absl::Status MembersInfo(FakeSite& site);
  absl::Status MembersDestination(FakeSite& site);

  absl::Status CreateGroup(FakeSite& site, const std::vector<std::string>& ids);
  absl::Status ModifyGroup(FakeSite& site, const std::vector<std::string>& ids);
  absl::Status DeleteGroup(FakeSite& site);
  absl::Status GetGroup(FakeSite& site);
  absl::Status ListGroups(FakeSite& site);

  /// As the service answers. OK of an image that was left to somebody who lives
  /// is ABORTED here: the next job begins anew.
  absl::Status Reclaim(FakeSite& site);
  /// Of the filesystem that NodeMounts() has mounted.
  absl::Status Trim(FakeSite& site);
  /// The node has mounted the volume's image of this site.
  void NodeMounts(FakeSite& site);

  using Ranges = std::vector<std::string>;
  absl::Status Fence(FakeSite& site, const Ranges& ranges,
                     const ParameterMap& parameters = {});
  absl::Status Unfence(FakeSite& site, const Ranges& ranges);
  absl::Status ListFences(FakeSite& site);
  absl::Status FenceClients(FakeSite& site);

  /// What the last OK said, where it says something.
  const std::string& said() const { return said_; }

  std::vector<std::string> ids_;  // of the members
  std::string group_id_;

 private:
  using Verb = std::function<absl::Status(OperationContext&)>;
  /// One operation, or what the server makes of its exception.
  absl::Status Operate(const Verb& verb);
  /// A call without an operation, likewise.
  static absl::Status Look(const std::function<absl::Status()>& look);
  using GroupVerb =
      std::function<absl::Status(OperationContext&, const GroupTarget&)>;
  absl::Status OperateOnMembers(FakeSite& site, const GroupVerb& verb);
  using KeyedVerb = std::function<absl::StatusOr<ResultOrKeys<GroupAnswer>>(
      OperationContext&, const KeySet&)>;
  absl::Status OperateWithKeys(const KeyedVerb& verb);
  static SteadyTime Soon();
  /// As calls for other volumes of the pool do all the time.
  void NameThePool(FakeSite& site);
  /// Until the work that a verb has on a thread of its own has ended.
  void AwaitWork();
  ThreadStarter StarterOf(const FakeSite& site);

  const std::thread::id test_thread_ = std::this_thread::get_id();
  std::set<std::pair<std::string, std::string>> threads_;

  std::atomic<int> working_{0};  // threads that sparsify
  FakeNode node_;

  std::map<std::string, std::unique_ptr<Process>> processes_;
  Injector* injector_ = nullptr;
  bool looking_ = false;
  std::set<std::string> looked_;  // sites, see HasLooked()
  std::string said_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_RIG_H_
