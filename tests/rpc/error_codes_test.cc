// docs/error-codes.md is what the daemon does: each of its rows is reached
// through the socket, and no case answers a code without a row.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "identity/identity.grpc.pb.h"
#include "lease/who_holds.h"
#include "points/record.h"
#include "points/started_tests.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/look/rollback_mark.h"
#include "tests/fakes/local_notes.h"
#include "tests/rpc/error_code_table.h"
#include "tests/rpc/fence_call.h"
#include "tests/rpc/key_rotation_server.h"
#include "tests/rpc/node_reclaim_server.h"
#include "tests/rpc/raw_call.h"
#include "tests/rpc/reclaim_call.h"
#include "tests/rpc/replication_server.h"
#include "tests/rpc/volume_group_call.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr char kEnable[] = "EnableVolumeReplication";
constexpr char kDisable[] = "DisableVolumeReplication";
constexpr char kPromote[] = "PromoteVolume";
constexpr char kDemote[] = "DemoteVolume";
constexpr char kResync[] = "ResyncVolume";
constexpr char kInfo[] = "GetVolumeReplicationInfo";
constexpr char kDestination[] = "GetReplicationDestinationInfo";
constexpr char kAll[] = "*";
constexpr char kVerbs[] = "replication.Controller/*";

/// One way to reach a row.
struct Case {
  std::string name;
  ErrorCodeRow row;
  std::string site;  // whose daemon is asked
  std::function<grpc::Status(ReplicationServer&)> run;
};

std::string NameOf(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

/// The request's type follows from the method that is called.
template <typename Request>
using Asking =
    std::function<void(ReplicationServer&, std::type_identity_t<Request>&)>;

/// A call about `site` on the administrators' socket, as a user of that site:
/// `ask` makes what is asked about and fills the request in, `prepare` may
/// change both. Without a limit it has no deadline.
template <typename Service, typename Request, typename Response>
Case OfAdministrator(std::string name, ErrorCodeRow row, std::string site,
                     grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*),
                     Asking<Request> ask, Asking<Request> prepare,
                     std::optional<seconds> limit = std::nullopt) {
  return {std::move(name), std::move(row), site,
          [=](ReplicationServer& server) {
            Request request;
            ask(server, request);
            const CephUserRef user = (site == "a" ? server.a : server.b).user();
            (*request.mutable_secrets())["userID"] = user->id;
            (*request.mutable_secrets())["userKey"] = user->key.Reveal();
            if (prepare) prepare(server, request);
            server.Start();
            grpc::ClientContext context;
            if (limit.has_value()) {
              context.set_deadline(std::chrono::system_clock::now() + *limit);
            }
            Response response;
            return (Service::NewStub(server.AdminChannel()).get()->*method)(
                &context, request, &response);
          }};
}

/// A case with a mirrored volume, primary on a.
Case Mirrored(std::string name, ErrorCodeRow row, std::string site,
              std::function<void(ReplicationServer&)> prepare,
              std::string method, bool force = false,
              milliseconds deadline = seconds(20)) {
  return {std::move(name), std::move(row), std::move(site),
          [=](ReplicationServer& server) {
            server.AddMirrored();
            server.world.Advance(minutes(1));
            if (prepare) prepare(server);
            server.Start();
            Ask ask;
            ask.volume_id = server.id;
            ask.force = force;
            ask.deadline = deadline;
            return server.Call(method, ask).status;
          }};
}

constexpr char kLook[] = "rbd.mirror_image_status_get";

/// What was refused to a look is asked of an open image.
bool IsLook(absl::string_view call) {
  return call == kLook || call == "rbd_open_read_only";
}

/// A call on a mirrored volume on a, with one call of Ceph failing.
Case Failing(std::string name, ErrorCodeRow row, int error) {
  return Mirrored(
      std::move(name), std::move(row), "a",
      [error](ReplicationServer& server) {
        server.world.SetCallHook(
            [error](absl::string_view, absl::string_view call, bool) {
              return IsLook(call) ? error : 0;
            });
      },
      kDemote);
}

/// A volume that is not mirrored.
Case Off(std::string name, std::string method) {
  return {std::move(name),
          {method, "FAILED_PRECONDITION"},
          "a",
          [method](ReplicationServer& server) {
            server.AddPlain();
            server.Start();
            return server.Call(method).status;
          }};
}

/// A request that is wrong in itself.
Case Asked(std::string name, ErrorCodeRow row, std::string method, Ask ask) {
  return {std::move(name), std::move(row), "a", [=](ReplicationServer& server) {
            server.AddPlain();
            server.Start();
            return server.Call(method, ask).status;
          }};
}

Ask VolumeAsk(std::string id) {
  Ask ask;
  ask.volume_id = std::move(id);
  return ask;
}
Ask GroupAsk() {
  Ask ask;
  ask.group_id = "0001-0006-site-a-0000000000000002-x";
  return ask;
}
std::string ElsewhereId() {
  return absl::StrCat("0001-0009-elsewhere-0000000000000002-",
                      ReplicationServer::kUuid);
}

/// Of a cluster that answers.
std::string UnknownId() {
  return absl::StrCat("0001-0006-site-a-0000000000000002-",
                      ReplicationServer::kSecondUuid);
}

void AddVerbs(std::vector<Case>* cases) {
  cases->push_back(
      {"EnableOk", {kEnable, "OK"}, "a", [](ReplicationServer& server) {
         server.AddPlain();
         server.Start();
         return server.Call(kEnable).status;
       }});
  cases->push_back({"EnableWithoutPoolMirroring",
                    {kEnable, "FAILED_PRECONDITION"},
                    "a",
                    [](ReplicationServer& server) {
                      server.AddPlain();
                      server.a.SetPoolMirrorMode(MirroredPair::kPool, "",
                                                 PoolMirrorMode::kDisabled);
                      server.Start();
                      return server.Call(kEnable).status;
                    }});
  cases->push_back(Mirrored(
      "EnableWhileDisabling", {kEnable, "UNAVAILABLE"}, "a",
      [](ReplicationServer& server) {
        server.a.SetMirrorImageState(server.image,
                                     MirrorImageState::kDisabling);
      },
      kEnable, false, milliseconds(600)));
  cases->push_back(
      Mirrored("DisableOk", {kDisable, "OK"}, "a", nullptr, kDisable));
  cases->push_back(Mirrored(
      "DisableWithDeadPeer", {kDisable, "FAILED_PRECONDITION"}, "b",
      [](ReplicationServer& server) {
        server.a.SetClusterUp(false);
        server.world.Advance(minutes(3));
      },
      kDisable));
  cases->push_back(
      Asked("DisableOfNoHandle", {kDisable, "OK"}, kDisable, VolumeAsk("x")));
  cases->push_back(Asked("DisableOfUnknownCluster", {kDisable, "UNAVAILABLE"},
                         kDisable, VolumeAsk(ElsewhereId())));
  cases->push_back(
      Mirrored("PromoteOk", {kPromote, "OK"}, "a", nullptr, kPromote));
  // The first call is answered early with the reason, the second one waits.
  cases->push_back({"PromoteWithPrimaryPeer",
                    {kPromote, "FAILED_PRECONDITION"},
                    "b",
                    [](ReplicationServer& server) {
                      server.AddMirrored();
                      server.world.Advance(minutes(1));
                      server.Start();
                      EXPECT_EQ(server.Call(kPromote).status.error_code(),
                                grpc::UNAVAILABLE);
                      return server.Call(kPromote).status;
                    }});
  cases->push_back({"PromoteToNoPoint",
                    {kPromote, "INVALID_ARGUMENT"},
                    "b",
                    [](ReplicationServer& server) {
                      server.AddMirrored();
                      server.Start();
                      Ask ask = VolumeAsk(server.id);
                      ask.parameters["restorePoint"] = "first";
                      ask.force = true;
                      return server.Call(kPromote, ask).status;
                    }});
  cases->push_back(Mirrored(
      "PromoteOfHalfADemotion", {kPromote, "UNAVAILABLE"}, "b",
      [](ReplicationServer& server) {
        server.b.SetCopySpeed(4);
        server.a.Demote(server.image);
        server.world.Advance(seconds(4));
        server.b.SetMirrorDaemon(DaemonState::kDown);
      },
      kPromote, false, milliseconds(600)));
  cases->push_back(
      Mirrored("DemoteOk", {kDemote, "OK"}, "a", nullptr, kDemote));
  cases->push_back(Mirrored(
      "DemoteInUse", {kDemote, "FAILED_PRECONDITION"}, "a",
      [](ReplicationServer& server) {
        server.a.AddWatcher(server.image, "10.1.2.3:0/77", 4464);
      },
      kDemote));
  cases->push_back(Mirrored(
      "DemoteHalfDone", {kDemote, "UNAVAILABLE"}, "a",
      [](ReplicationServer& server) {
        server.a.LeaveNextSnapshotIncomplete(server.image);
        server.a.Demote(server.image);
        server.b.Promote(server.image, Force::kYes);
        server.world.Advance(seconds(65));
      },
      kDemote));
  cases->push_back(
      Mirrored("ResyncOk", {kResync, "OK"}, "b", nullptr, kResync));
  cases->push_back(Mirrored("ResyncOfAPrimary",
                            {kResync, "FAILED_PRECONDITION"}, "a", nullptr,
                            kResync));
  cases->push_back(Mirrored(
      "ResyncWithoutDaemon", {kResync, "UNAVAILABLE"}, "b",
      [](ReplicationServer& server) {
        server.b.SetMirrorDaemon(DaemonState::kDown);
        server.world.Advance(minutes(1));
      },
      kResync));
  cases->push_back(Mirrored("InfoOk", {kInfo, "OK"}, "a", nullptr, kInfo));
  cases->push_back(Off("InfoWhileOff", kInfo));
  const auto fresh_enable = [](ReplicationServer& server) {
    server.b.SetMirrorDaemon(DaemonState::kDown);
    server.AddPlain();
    server.Start();
    EXPECT_TRUE(server.Call(kEnable).status.ok());
    return server.Call(kInfo).status;
  };
  cases->push_back(
      {"InfoNotReported", {kInfo, "UNAVAILABLE"}, "a", fresh_enable});
  cases->push_back({"InfoNeverCopied",
                    {kInfo, "NOT_FOUND"},
                    "a",
                    [fresh_enable](ReplicationServer& server) {
                      fresh_enable(server);
                      server.world.Advance(minutes(2));
                      return server.Call(kInfo).status;
                    }});
  cases->push_back(Mirrored("DestinationOk", {kDestination, "OK"}, "a", nullptr,
                            kDestination));
  cases->push_back(Mirrored(
      "DestinationWithoutCluster", {kDestination, "FAILED_PRECONDITION"}, "a",
      [](ReplicationServer& server) {
        server.WriteConfig(
            R"(, "replicationDestination": {"remoteClusterID": ""})");
      },
      kDestination));
  cases->push_back(Mirrored(
      "DestinationOfAPoolNeverSeen", {kDestination, "UNAVAILABLE"}, "a",
      [](ReplicationServer& server) {
        server.WriteConfig(
            R"(, "replicationDestination": {"remoteClusterID": "far",)"
            R"("rbd": {"remotePoolMapping": {"replicapool": {"poolID": "5"}}}})");
        server.a.SetClusterUp(false);
      },
      kDestination));
}

constexpr char kFence[] = "FenceClusterNetwork";
constexpr char kUnfence[] = "UnfenceClusterNetwork";
constexpr char kFences[] = "fence.FenceController/*";

grpc::Status AskFence(ReplicationServer& server, const std::string& method,
                      FenceAsk ask) {
  ask.user_id = server.a.user()->id;
  if (ask.user_key.empty()) ask.user_key = server.a.user()->key.Reveal();
  return CallFence(server.Channel(), method, ask).status;
}

/// A call about 192.168.1.1 on a.
Case Fencing(std::string name, ErrorCodeRow row, std::string method,
             std::function<void(ReplicationServer&)> prepare = nullptr,
             FenceAsk ask = {}) {
  if (ask.cidrs.empty()) ask.cidrs = {"192.168.1.1"};
  return {std::move(name), std::move(row), "a", [=](ReplicationServer& server) {
            if (prepare) prepare(server);
            server.Start();
            return AskFence(server, method, ask);
          }};
}

/// The same with an error from each call of this name.
Case FencingFails(std::string name, ErrorCodeRow row, std::string call,
                  int error) {
  return Fencing(
      std::move(name), std::move(row), kFence, [=](ReplicationServer& server) {
        server.world.SetCallHook([=](absl::string_view, absl::string_view made,
                                     bool) {
          return made == call || (call == kLook && IsLook(made)) ? error : 0;
        });
      });
}

void AddFence(std::vector<Case>* cases) {
  for (const char* method : kFenceMethods) {
    cases->push_back(
        Fencing(absl::StrCat(method, "Ok"), {method, "OK"}, method));
  }
  cases->push_back(Fencing("FenceOverAnOsd", {kFence, "FAILED_PRECONDITION"},
                           kFence, [](ReplicationServer& server) {
                             server.a.SetService("osd.1", "192.168.1.1:6800",
                                                 true);
                           }));
  cases->push_back(Fencing("FenceThatDoesNotStay", {kFence, "UNAVAILABLE"},
                           kFence, [](ReplicationServer& server) {
                             // Every change of the list is for nothing.
                             server.world.SetCallHook(
                                 nullptr, [&server](absl::string_view,
                                                    absl::string_view, bool) {
                                   server.a.ClearBlocklist();
                                   return 0;
                                 });
                           }));
  cases->push_back(Fencing("UnfenceWithinAWiderOne",
                           {kUnfence, "FAILED_PRECONDITION"}, kUnfence,
                           [](ReplicationServer& server) {
                             server.a.AddRangeBlocklistEntry(
                                 "192.168.0.0:0/16", std::chrono::hours(1));
                           }));
  cases->push_back(Fencing(
      "UnfenceOfWhatComesBack", {kUnfence, "UNAVAILABLE"}, kUnfence,
      [](ReplicationServer& server) {
        server.a.AddRangeBlocklistEntry("192.168.1.1:0/32",
                                        std::chrono::hours(1));
        server.world.SetCallHook(
            nullptr, [&server](absl::string_view, absl::string_view, bool) {
              server.a.AddRangeBlocklistEntry("192.168.1.1:0/32",
                                              std::chrono::hours(1));
              return 0;
            });
      }));
  FenceAsk no_range;
  no_range.cidrs = {"node-1"};
  cases->push_back(Fencing("FenceOfAName", {kFences, "INVALID_ARGUMENT"},
                           kFence, nullptr, no_range));
  FenceAsk no_cluster;
  no_cluster.parameters = {{"clusterID", "elsewhere"}};
  cases->push_back(Fencing("FenceElsewhere", {kFences, "NOT_FOUND"},
                           "ListClusterFence", nullptr, no_cluster));
  cases->push_back(Fencing("FenceInABrokenCluster",
                           {kFences, "FAILED_PRECONDITION"}, "GetFenceClients",
                           [](ReplicationServer& server) {
                             server.WriteConfig(R"(, "monitors": [])");
                           }));
  FenceAsk wrong_key;
  wrong_key.user_key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
  cases->push_back(Fencing("FenceWithAWrongKey", {kFences, "UNAUTHENTICATED"},
                           kUnfence, nullptr, wrong_key));
  cases->push_back(FencingFails("FenceForbidden",
                                {kFences, "PERMISSION_DENIED"},
                                "rados_mon_command", EACCES));
  cases->push_back(FencingFails("FenceTimedOut", {kFences, "DEADLINE_EXCEEDED"},
                                "rados_mon_command", ETIMEDOUT));
  cases->push_back(
      Fencing("FenceClusterDown", {kFences, "UNAVAILABLE"}, kFence,
              [](ReplicationServer& server) { server.a.SetClusterUp(false); }));
  cases->push_back({"FenceStillRunning",
                    {kFences, "ABORTED"},
                    "a",
                    [](ReplicationServer& server) {
                      server.Hold("rados_object_list");
                      server.Start();
                      FenceAsk ask;
                      ask.cidrs = {"192.168.1.1"};
                      ask.deadline = milliseconds(600);
                      const grpc::Status status = AskFence(server, kFence, ask);
                      server.Release();
                      return status;
                    }});
}

constexpr char kCreateGroup[] = "CreateVolumeGroup";
constexpr char kModifyGroup[] = "ModifyVolumeGroupMembership";
constexpr char kDeleteGroup[] = "DeleteVolumeGroup";
constexpr char kListGroups[] = "ListVolumeGroups";
constexpr char kGetGroup[] = "ControllerGetVolumeGroup";
constexpr char kGroupVerbs[] = "volumegroup.Controller/*";

/// A call on a, where there are a volume and a group without members. Where
/// `prepare` leaves them empty, the request names both, and a new group.
Case Grouped(std::string name, ErrorCodeRow row, std::string method,
             std::function<void(ReplicationServer&, VolumeGroupAsk&)> prepare =
                 nullptr) {
  return {std::move(name), std::move(row), "a", [=](ReplicationServer& server) {
            server.AddPlain();
            server.AddGroup({});
            VolumeGroupAsk ask;
            ask.name = "vg";
            ask.group_id = server.group_id;
            ask.volume_ids = {server.id};
            ask.parameters = {{"clusterID", "site-a"},
                              {"pool", MirroredPair::kPool}};
            ask.user_id = server.a.user()->id;
            ask.user_key = server.a.user()->key.Reveal();
            server.SetConflictWait(milliseconds(100));
            if (prepare) prepare(server, ask);
            server.Start();
            return CallVolumeGroup(server.Channel(), method, ask).status;
          }};
}

/// A change with an error from making the rbd group.
Case GroupNotMade(std::string name, std::string code, int error) {
  return Grouped(
      std::move(name), {kGroupVerbs, std::move(code)}, kCreateGroup,
      [error](ReplicationServer& server, VolumeGroupAsk&) {
        server.world.SetCallHook(
            [error](absl::string_view, absl::string_view call, bool) {
              return call == "rbd_group_create" ? error : 0;
            });
      });
}

void NameTooMany(ReplicationServer& server, VolumeGroupAsk& ask) {
  for (int i = 0; i < 100; ++i) {
    ask.volume_ids.push_back(server.pair.VolumeId(
        server.a, absl::StrFormat("00000000-0000-4000-8000-%012d", i)));
  }
}

/// The volume is in a group that is not CSI's.
void TakeVolume(ReplicationServer& server, VolumeGroupAsk&) {
  const auto pool =
      server.pair.cluster(server.a)->OpenPool(2, "", Access::kMutate);
  ASSERT_OK(pool);
  ASSERT_OK((*pool)->CreateGroup("made-by-hand"));
  ASSERT_OK((*pool)->AddGroupImage("made-by-hand", 2, ImageName(server.image)));
}

void AddGroups(std::vector<Case>* cases) {
  for (const char* method : kVolumeGroupMethods) {
    cases->push_back(
        Grouped(absl::StrCat(method, "Ok"), {method, "OK"}, method));
  }
  for (const char* method : {kCreateGroup, kModifyGroup}) {
    cases->push_back(Grouped(absl::StrCat(method, "WithoutVolume"),
                             {method, "NOT_FOUND"}, method,
                             [](ReplicationServer& server, VolumeGroupAsk&) {
                               server.a.RemoveImage(server.image);
                             }));
    cases->push_back(Grouped(absl::StrCat(method, "OfATakenVolume"),
                             {method, "FAILED_PRECONDITION"}, method,
                             &TakeVolume));
    cases->push_back(Grouped(absl::StrCat(method, "OfTooMany"),
                             {method, "RESOURCE_EXHAUSTED"}, method,
                             &NameTooMany));
  }
  cases->push_back(Grouped(
      "CreateOverASnapshot", {kCreateGroup, "ALREADY_EXISTS"}, kCreateGroup,
      [](ReplicationServer& server, VolumeGroupAsk& ask) {
        server.a.SetOmap(
            MirroredPair::kPool, "", "csi.groups.default",
            {{"csi.volume.group." + ask.name, ReplicationServer::kGroupUuid}});
        server.a.SetOmap(
            MirroredPair::kPool, "",
            absl::StrCat("csi.volume.group.", ReplicationServer::kGroupUuid),
            {{"csi.volname", ask.name},
             {"csi.groupname", "csi-vol-group-x"},
             {server.id, "a-snapshot-id"}});
      }));
  cases->push_back(Grouped(
      "ModifyInvalid", {kModifyGroup, "INVALID_ARGUMENT"}, kModifyGroup,
      [](ReplicationServer& server, VolumeGroupAsk& ask) {
        server.WriteConfig(
            R"(}, {"clusterID": "site-a-ns", "monitors": ["site-a:6789"],)"
            R"( "rbd": {"radosNamespace": "tenant1"})");
        const std::string id = server.pair.AddVolume(
            server.a, ReplicationServer::kSecondUuid, 64 << 20, "tenant1");
        ask.volume_ids = {id};
      }));
  cases->push_back(Grouped("DeleteWithMembers",
                           {kDeleteGroup, "FAILED_PRECONDITION"}, kDeleteGroup,
                           [](ReplicationServer& server, VolumeGroupAsk&) {
                             server.AddGroup({server.id});
                           }));
  cases->push_back(Grouped("GetOfNone", {kGetGroup, "NOT_FOUND"}, kGetGroup,
                           [](ReplicationServer& server, VolumeGroupAsk& ask) {
                             ask.group_id = server.pair.VolumeId(
                                 server.a, ReplicationServer::kSecondUuid);
                           }));
  cases->push_back(Grouped(
      "ListWithATokenOfOthers", {kListGroups, "ABORTED"}, kListGroups,
      [](ReplicationServer&, VolumeGroupAsk& ask) { ask.token = "x"; }));
  cases->push_back(Grouped(
      "GroupWithoutName", {kGroupVerbs, "INVALID_ARGUMENT"}, kCreateGroup,
      [](ReplicationServer&, VolumeGroupAsk& ask) { ask.name.clear(); }));
  cases->push_back(
      Grouped("GroupsWithAWrongKey", {kGroupVerbs, "UNAUTHENTICATED"},
              kListGroups, [](ReplicationServer&, VolumeGroupAsk& ask) {
                ask.user_key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
              }));
  cases->push_back(GroupNotMade("GroupForbidden", "PERMISSION_DENIED", EPERM));
  cases->push_back(
      GroupNotMade("GroupTimedOut", "DEADLINE_EXCEEDED", ETIMEDOUT));
  cases->push_back(Grouped("GroupClusterDown", {kGroupVerbs, "UNAVAILABLE"},
                           kListGroups,
                           [](ReplicationServer& server, VolumeGroupAsk&) {
                             server.a.SetClusterUp(false);
                           }));
  cases->push_back({"GroupStillRunning",
                    {kGroupVerbs, "ABORTED"},
                    "a",
                    [](ReplicationServer& server) {
                      server.Hold("rbd_group_create");
                      const Case create =
                          Grouped("", {}, kCreateGroup,
                                  [](ReplicationServer&, VolumeGroupAsk& ask) {
                                    ask.deadline = milliseconds(600);
                                  });
                      const grpc::Status status = create.run(server);
                      server.Release();
                      return status;
                    }});
}

void AddCommon(std::vector<Case>* cases) {
  cases->push_back(Asked("TooLongId", {kAll, "INVALID_ARGUMENT"}, kPromote,
                         VolumeAsk(std::string(200, 'x'))));
  cases->push_back({"UnknownMethod",
                    {kAll, "UNIMPLEMENTED"},
                    "a",
                    [](ReplicationServer& server) {
                      server.Start();
                      return RawCall(server.Channel(),
                                     "/replication.Controller/Explode", "")
                          .status;
                    }});
  cases->push_back({"TooLargeRequest",
                    {kAll, "RESOURCE_EXHAUSTED"},
                    "a",
                    [](ReplicationServer& server) {
                      server.AddPlain();
                      server.Start();
                      Ask ask = VolumeAsk(server.id);
                      ask.parameters["more"] = std::string(5 << 20, 'x');
                      return server.Call(kPromote, ask).status;
                    }});
  cases->push_back(
      {"CallerLeft", {kAll, "CANCELLED"}, "a", [](ReplicationServer& server) {
         server.AddMirrored();
         server.Hold("rbd_mirror_image_demote");
         server.Start();
         grpc::ClientContext context;
         grpc::Status status;
         std::jthread caller([&] {
           status = server.Call(kDemote, VolumeAsk(server.id), &context).status;
         });
         server.AwaitHeld();
         context.TryCancel();
         caller.join();
         server.Release();
         return status;
       }});
  cases->push_back(Failing("AnswerWithoutSense", {kAll, "INTERNAL"}, EINVAL));
  cases->push_back(Asked("NoVolumeHandle", {kVerbs, "INVALID_ARGUMENT"},
                         kDemote, VolumeAsk("volume-1")));
  cases->push_back(
      Asked("Group", {kVerbs, "INVALID_ARGUMENT"}, kPromote, GroupAsk()));
  Ask bad_key = VolumeAsk(absl::StrCat("0001-0006-site-a-0000000000000002-",
                                       ReplicationServer::kUuid));
  bad_key.user_key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
  cases->push_back(
      Asked("WrongKey", {kVerbs, "UNAUTHENTICATED"}, kEnable, bad_key));
  cases->push_back(
      Failing("ForbiddenCall", {kVerbs, "PERMISSION_DENIED"}, EPERM));
  cases->push_back(Asked("UnknownCluster", {kVerbs, "UNAVAILABLE"}, kPromote,
                         VolumeAsk(ElsewhereId())));
  cases->push_back(Asked("UnknownVolume", {kVerbs, "NOT_FOUND"}, kPromote,
                         VolumeAsk(UnknownId())));
  cases->push_back(
      {"StillRunning", {kVerbs, "ABORTED"}, "a", [](ReplicationServer& server) {
         server.AddMirrored();
         server.Hold("rbd_mirror_image_demote");
         server.Start();
         Ask ask = VolumeAsk(server.id);
         ask.deadline = milliseconds(600);
         const grpc::Status status = server.Call(kDemote, ask).status;
         server.Release();
         return status;
       }});
  cases->push_back(Mirrored(
      "RenamedImage", {kVerbs, "UNAVAILABLE"}, "a",
      [](ReplicationServer& server) {
        server.a.RenameImage(server.image, "mine");
      },
      kDisable));
  cases->push_back(Mirrored(
      "ClusterDown", {kVerbs, "UNAVAILABLE"}, "a",
      [](ReplicationServer& server) { server.a.SetClusterUp(false); },
      kDemote));
  cases->push_back(
      Failing("ReadTimedOut", {kVerbs, "DEADLINE_EXCEEDED"}, ETIMEDOUT));
}

/// A reclaim of a volume that is not mirrored.
Case Reclaimed(std::string name, std::string code,
               std::function<void(ReplicationServer&, Ask&)> prepare) {
  return {std::move(name),
          {"ControllerReclaimSpace", std::move(code)},
          "a",
          [prepare](ReplicationServer& server) {
            server.AddPlain();
            Ask ask = VolumeAsk(server.id);
            if (prepare) prepare(server, ask);
            server.Start();
            return Reclaim(server, ask).status;
          }};
}

void AddReclaim(std::vector<Case>* cases) {
  const auto fail = [](ReplicationServer& server, int error) {
    server.world.SetCallHook(
        [error](absl::string_view, absl::string_view call, bool) {
          return call == "rados_list_lockers" ? error : 0;
        });
  };
  cases->push_back(Reclaimed("ReclaimOk", "OK", nullptr));
  cases->push_back(
      Reclaimed("ReclaimInUse", "OK", [](ReplicationServer& server, Ask&) {
        server.a.AddWatcher(server.image, "10.1.2.3:0/77", 4464);
      }));
  cases->push_back(Reclaimed("ReclaimOfAStaticVolume", "UNIMPLEMENTED",
                             [](ReplicationServer&, Ask& ask) {
                               ask.parameters["staticVolume"] = "true";
                             }));
  cases->push_back(Reclaimed("ReclaimBadSize", "INVALID_ARGUMENT",
                             [](ReplicationServer&, Ask& ask) {
                               ask.parameters["sparseSize"] = "1";
                             }));
  cases->push_back(Reclaimed("ReclaimSizeBeyondObjects", "INVALID_ARGUMENT",
                             [](ReplicationServer&, Ask& ask) {
                               ask.parameters["sparseSize"] = "32Mi";
                             }));
  cases->push_back(Reclaimed(
      "ReclaimWrongKey", "UNAUTHENTICATED", [](ReplicationServer&, Ask& ask) {
        ask.user_key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
      }));
  cases->push_back(Reclaimed(
      "ReclaimForbidden", "PERMISSION_DENIED",
      [fail](ReplicationServer& server, Ask&) { fail(server, EPERM); }));
  cases->push_back(Reclaimed("ReclaimWithoutImage", "NOT_FOUND",
                             [](ReplicationServer& server, Ask&) {
                               server.a.RemoveImage(server.image);
                             }));
  cases->push_back(Reclaimed(
      "ReclaimElsewhere", "ABORTED",
      [](ReplicationServer&, Ask& ask) { ask.volume_id = ElsewhereId(); }));
  cases->push_back(Reclaimed(
      "ReclaimTransient", "ABORTED",
      [fail](ReplicationServer& server, Ask&) { fail(server, EAGAIN); }));
  cases->push_back(Reclaimed(
      "ReclaimTimedOut", "ABORTED",
      [fail](ReplicationServer& server, Ask&) { fail(server, ETIMEDOUT); }));
  cases->push_back(Reclaimed(
      "ReclaimClusterDown", "ABORTED",
      [](ReplicationServer& server, Ask&) { server.a.SetClusterUp(false); }));
  cases->push_back(Reclaimed(
      "ReclaimWithoutConfiguration", "ABORTED",
      [](ReplicationServer& server, Ask&) { server.RemoveConfig(); }));
}

void AddIdentity(std::vector<Case>* cases) {
  const auto stub = [](ReplicationServer& server) {
    server.Start();
    return ::identity::Identity::NewStub(server.Channel());
  };
  cases->push_back({"Identity",
                    {"GetIdentity", "OK"},
                    "a",
                    [stub](ReplicationServer& server) {
                      grpc::ClientContext context;
                      ::identity::GetIdentityResponse response;
                      return stub(server)->GetIdentity(&context, {}, &response);
                    }});
  cases->push_back({"Capabilities",
                    {"GetCapabilities", "OK"},
                    "a",
                    [stub](ReplicationServer& server) {
                      grpc::ClientContext context;
                      ::identity::GetCapabilitiesResponse response;
                      return stub(server)->GetCapabilities(&context, {},
                                                           &response);
                    }});
  const auto probe = [stub](ReplicationServer& server) {
    grpc::ClientContext context;
    ::identity::ProbeResponse response;
    return stub(server)->Probe(&context, {}, &response);
  };
  cases->push_back({"Probe", {"Probe", "OK"}, "a", probe});
  cases->push_back({"ProbeWithoutConfiguration",
                    {"Probe", "FAILED_PRECONDITION"},
                    "a",
                    [probe](ReplicationServer& server) {
                      server.RemoveConfig();
                      return probe(server);
                    }});
}

void AddAdmin(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  const auto cancel = [](ReplicationServer& server, uint64_t id) {
    grpc::ClientContext context;
    admin::CancelOperationRequest request;
    request.set_operation_id(id);
    admin::CancelOperationResponse response;
    return admin::Operations::NewStub(server.AdminChannel())
        ->CancelOperation(&context, request, &response);
  };
  cases->push_back({"Operations",
                    {"ListOperations", "OK"},
                    "a",
                    [](ReplicationServer& server) {
                      server.Start();
                      grpc::ClientContext context;
                      admin::ListOperationsResponse response;
                      return admin::Operations::NewStub(server.AdminChannel())
                          ->ListOperations(&context, {}, &response);
                    }});
  cases->push_back({"CancelOfNothing",
                    {"CancelOperation", "NOT_FOUND"},
                    "a",
                    [cancel](ReplicationServer& server) {
                      server.Start();
                      return cancel(server, 99);
                    }});
  const auto cancel_demote = [cancel](ReplicationServer& server) {
    server.AddMirrored();
    server.Hold("rbd.mirror_image_status_get");
    server.Start();
    auto demote = std::async(std::launch::async,
                             [&] { return server.Call(kDemote).status; });
    server.AwaitHeld();
    const grpc::Status cancelled = cancel(server, 1);
    const grpc::Status answer = demote.get();
    server.Release();
    return std::make_pair(cancelled, answer);
  };
  cases->push_back({"Cancel",
                    {"CancelOperation", "OK"},
                    "a",
                    [cancel_demote](ReplicationServer& server) {
                      return cancel_demote(server).first;
                    }});
  cases->push_back({"CancelledByAnAdministrator",
                    {kAll, "CANCELLED"},
                    "a",
                    [cancel_demote](ReplicationServer& server) {
                      return cancel_demote(server).second;
                    }});
}

void AddOverview(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  const auto list = [](ReplicationServer& server, uint32_t limit,
                       std::string* token) {
    grpc::ClientContext context;
    admin::ListStatusRequest request;
    request.set_limit(limit);
    request.set_token(*token);
    admin::ListStatusResponse response;
    grpc::Status status = admin::Overview::NewStub(server.AdminChannel())
                              ->ListStatus(&context, request, &response);
    *token = response.next_token();
    return status;
  };
  const auto with_token = [list](const char* token) {
    return [list, token](ReplicationServer& server) {
      server.Start();
      std::string sent = token;
      return list(server, 0, &sent);
    };
  };
  cases->push_back({"Status", {"ListStatus", "OK"}, "a", with_token("")});
  cases->push_back({"StatusOfNoPage",
                    {"ListStatus", "INVALID_ARGUMENT"},
                    "a",
                    with_token("page 2")});
  cases->push_back({"StatusOfAnOlderLook",
                    {"ListStatus", "ABORTED"},
                    "a",
                    with_token("999999-1")});
}

void AddSupport(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  cases->push_back({"Describe",
                    {"DescribeDaemon", "OK"},
                    "a",
                    [](ReplicationServer& server) {
                      server.Start();
                      grpc::ClientContext context;
                      admin::DescribeDaemonResponse response;
                      return admin::Support::NewStub(server.AdminChannel())
                          ->DescribeDaemon(&context, {}, &response);
                    }});
}

using CheckRequest = ::rbdaddons::admin::v1::CheckFailoverRequest;

/// A check of the pool on b, where `prepare` may change the request.
Case Checked(
    std::string name, std::string code,
    std::function<void(ReplicationServer&, CheckRequest&)> prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Inspection>(
      std::move(name), {"CheckFailover", std::move(code)}, "b",
      &admin::Inspection::Stub::CheckFailover,
      [](ReplicationServer& server, CheckRequest& request) {
        server.AddMirrored();
        request.set_pool(MirroredPair::kPool);
      },
      std::move(prepare));
}

void AddCheckFailover(std::vector<Case>* cases) {
  const auto fail = [](int error) {
    return [error](ReplicationServer& server, CheckRequest&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rbd_mirror_image_global_status_list" ? error : 0;
          });
    };
  };
  cases->push_back(Checked("CheckOk", "OK"));
  cases->push_back(Checked(
      "CheckOfNothing", "INVALID_ARGUMENT",
      [](ReplicationServer&, CheckRequest& request) { request.clear_pool(); }));
  cases->push_back(
      Checked("CheckOfBoth", "INVALID_ARGUMENT",
              [](ReplicationServer& server, CheckRequest& request) {
                request.add_volume_ids(server.id);
              }));
  cases->push_back(Checked("CheckOfAllAndAPool", "INVALID_ARGUMENT",
                           [](ReplicationServer&, CheckRequest& request) {
                             request.set_all(true);
                           }));
  cases->push_back(Checked("CheckOfNoPool", "NOT_FOUND",
                           [](ReplicationServer&, CheckRequest& request) {
                             request.set_pool("none");
                           }));
  cases->push_back(
      Checked("CheckInABrokenCluster", "FAILED_PRECONDITION",
              [](ReplicationServer& server, CheckRequest& request) {
                request.set_cluster_id("site-b");
                server.WriteConfig(R"(, "monitors": [])");
              }));
  cases->push_back(Checked("CheckWithAWrongKey", "UNAUTHENTICATED",
                           [](ReplicationServer&, CheckRequest& request) {
                             (*request.mutable_secrets())["userKey"] =
                                 "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
                           }));
  cases->push_back(Checked("CheckForbidden", "PERMISSION_DENIED", fail(EPERM)));
  cases->push_back(Checked("CheckOnASilentCluster", "UNAVAILABLE",
                           [](ReplicationServer& server, CheckRequest&) {
                             server.b.SetClusterUp(false);
                           }));
  cases->push_back(
      Checked("CheckTimesOut", "DEADLINE_EXCEEDED", fail(ETIMEDOUT)));
}

using ExplainRequest = ::rbdaddons::admin::v1::ExplainVolumeRequest;

/// The volume explained on a, where `prepare` may change the request.
Case Explained(std::string name, std::string code,
               std::function<void(ReplicationServer&, ExplainRequest&)>
                   prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Inspection>(
      std::move(name), {"ExplainVolume", std::move(code)}, "a",
      &admin::Inspection::Stub::ExplainVolume,
      [](ReplicationServer& server, ExplainRequest& request) {
        server.AddMirrored();
        request.set_volume_id(server.id);
      },
      std::move(prepare));
}

void AddExplain(std::vector<Case>* cases) {
  cases->push_back(Explained("ExplainOk", "OK"));
  cases->push_back(Explained("ExplainOfASilentCluster", "OK",
                             [](ReplicationServer& server, ExplainRequest&) {
                               server.a.SetClusterUp(false);
                             }));
  cases->push_back(Explained("ExplainOfNothing", "INVALID_ARGUMENT",
                             [](ReplicationServer&, ExplainRequest& request) {
                               request.clear_volume_id();
                             }));
  cases->push_back(Explained("ExplainWithAWrongKey", "UNAUTHENTICATED",
                             [](ReplicationServer&, ExplainRequest& request) {
                               (*request.mutable_secrets())["userKey"] =
                                   "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
                             }));
}

using ExplainGroupRequest = ::rbdaddons::admin::v1::ExplainGroupRequest;

/// A group explained on a, where `prepare` may change the request.
Case GroupExplained(
    std::string name, std::string code,
    std::function<void(ReplicationServer&, ExplainGroupRequest&)> prepare =
        nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Inspection>(
      std::move(name), {"ExplainGroup", std::move(code)}, "a",
      &admin::Inspection::Stub::ExplainGroup,
      [](ReplicationServer& server, ExplainGroupRequest& request) {
        server.AddMirroredGroup();
        request.set_group_id(server.group_id);
      },
      std::move(prepare));
}

void AddExplainGroup(std::vector<Case>* cases) {
  cases->push_back(GroupExplained("ExplainGroupOk", "OK"));
  cases->push_back(
      GroupExplained("ExplainGroupOfASilentCluster", "OK",
                     [](ReplicationServer& server, ExplainGroupRequest&) {
                       server.a.SetClusterUp(false);
                     }));
  cases->push_back(
      GroupExplained("ExplainGroupOfNothing", "INVALID_ARGUMENT",
                     [](ReplicationServer&, ExplainGroupRequest& request) {
                       request.clear_group_id();
                     }));
  cases->push_back(
      GroupExplained("ExplainGroupWithAWrongKey", "UNAUTHENTICATED",
                     [](ReplicationServer&, ExplainGroupRequest& request) {
                       (*request.mutable_secrets())["userKey"] =
                           "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
                     }));
}

using FindRequest = ::rbdaddons::admin::v1::FindVolumeRequest;

/// The volume looked for on a, where `prepare` may change the request.
Case Named(
    std::string name, std::string code,
    std::function<void(ReplicationServer&, FindRequest&)> prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Inspection>(
      std::move(name), {"FindVolume", std::move(code)}, "a",
      &admin::Inspection::Stub::FindVolume,
      [](ReplicationServer& server, FindRequest& request) {
        server.AddMirrored();
        request.set_name(absl::StrCat("replicapool/", server.image));
        request.set_cluster_id("site-a");
      },
      std::move(prepare));
}

void AddFindVolume(std::vector<Case>* cases) {
  const auto fail = [](int error) {
    return [error](ReplicationServer& server, FindRequest&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rados_read_op_omap_get_vals2" ? error : 0;
          });
    };
  };
  cases->push_back(Named("FindOk", "OK"));
  cases->push_back(Named(
      "FindOfNothing", "INVALID_ARGUMENT",
      [](ReplicationServer&, FindRequest& request) { request.clear_name(); }));
  cases->push_back(Named("FindNone", "NOT_FOUND",
                         [](ReplicationServer&, FindRequest& request) {
                           request.set_name("pvc-none");
                         }));
  cases->push_back(Named("FindInNoNamespace", "FAILED_PRECONDITION",
                         [](ReplicationServer&, FindRequest& request) {
                           request.set_name("replicapool/none/image");
                         }));
  cases->push_back(Named("FindWithAWrongKey", "UNAUTHENTICATED",
                         [](ReplicationServer&, FindRequest& request) {
                           (*request.mutable_secrets())["userKey"] =
                               "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
                         }));
  cases->push_back(Named("FindForbidden", "PERMISSION_DENIED", fail(EPERM)));
  cases->push_back(Named("FindOnASilentCluster", "UNAVAILABLE",
                         [](ReplicationServer& server, FindRequest&) {
                           server.a.SetClusterUp(false);
                         }));
  cases->push_back(Named("FindTimesOut", "DEADLINE_EXCEEDED", fail(ETIMEDOUT)));
}

/// The history of a volume on a, where `prepare` may change the request.
Case Remembered(std::string name, std::string code,
                std::function<void(ReplicationServer&,
                                   ::rbdaddons::admin::v1::ListHistoryRequest&)>
                    prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::History>(
      std::move(name), {"ListHistory", std::move(code)}, "a",
      &admin::History::Stub::ListHistory,
      [](ReplicationServer& server, admin::ListHistoryRequest& request) {
        server.AddMirrored();
        request.set_volume_id(server.id);
      },
      std::move(prepare));
}

void AddHistory(std::vector<Case>* cases) {
  using Request = ::rbdaddons::admin::v1::ListHistoryRequest;
  const auto pool = [](const std::string& name, const std::string& cluster) {
    return [name, cluster](ReplicationServer&, Request& request) {
      request.clear_volume_id();
      request.set_pool(name);
      request.set_cluster_id(cluster);
    };
  };
  const auto fail = [pool](int error) {
    return [pool, error](ReplicationServer& server, Request& request) {
      pool(MirroredPair::kPool, "")(server, request);
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rados_read_op_omap_get_vals2" ? error : 0;
          });
    };
  };
  cases->push_back(Remembered("HistoryOk", "OK"));
  cases->push_back(Remembered(
      "HistoryOfNothing", "INVALID_ARGUMENT",
      [](ReplicationServer&, Request& request) { request.clear_volume_id(); }));
  cases->push_back(
      Remembered("HistoryOfNoPool", "NOT_FOUND", pool("none", "")));
  cases->push_back(
      Remembered("HistoryOfABrokenEntry", "FAILED_PRECONDITION",
                 [pool](ReplicationServer& server, Request& request) {
                   pool(MirroredPair::kPool, "site-a")(server, request);
                   server.WriteConfig(R"(, "rbd": {"radosNamespace": 7})");
                 }));
  cases->push_back(Remembered(
      "HistoryWithoutAUser", "UNAUTHENTICATED",
      [](ReplicationServer&, Request& request) { request.clear_secrets(); }));
  cases->push_back(
      Remembered("HistoryWithoutCaps", "PERMISSION_DENIED", fail(EPERM)));
  cases->push_back(Remembered("HistoryOfASilentCluster", "UNAVAILABLE",
                              [](ReplicationServer& server, Request&) {
                                server.a.SetClusterUp(false);
                              }));
  cases->push_back(Remembered("HistoryInTooShortATime", "DEADLINE_EXCEEDED",
                              fail(ETIMEDOUT)));
}

/// A decision about a rescue of the volume on a, where `prepare` may change the
/// request.
Case Decided(std::string name, std::string code,
             std::function<void(ReplicationServer&,
                                ::rbdaddons::admin::v1::DecideRescueRequest&)>
                 prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Rescues>(
      std::move(name), {"DecideRescue", std::move(code)}, "a",
      &admin::Rescues::Stub::DecideRescue,
      [](ReplicationServer& server, admin::DecideRescueRequest& request) {
        server.AddMirrored();
        request.set_volume_id(server.id);
      },
      std::move(prepare));
}

void AddRescues(std::vector<Case>* cases) {
  using Request = ::rbdaddons::admin::v1::DecideRescueRequest;
  cases->push_back(Decided("RescueShown", "OK"));
  cases->push_back(Decided(
      "RescueOfNothing", "INVALID_ARGUMENT",
      [](ReplicationServer&, Request& request) { request.clear_volume_id(); }));
  cases->push_back(Decided(
      "RescueOfAnImageThatIsGone", "NOT_FOUND",
      [](ReplicationServer& server, Request&) {
        server.a.RemoveImage(MirroredPair::ImageOf(ReplicationServer::kUuid));
      }));
  cases->push_back(Decided("RescueThatIsNone", "FAILED_PRECONDITION",
                           [](ReplicationServer&, Request& request) {
                             request.set_decision(Request::KEEP);
                           }));
  cases->push_back(Decided(
      "RescueWithoutAUser", "UNAUTHENTICATED",
      [](ReplicationServer&, Request& request) { request.clear_secrets(); }));
  cases->push_back(Decided("RescueOnASilentCluster", "UNAVAILABLE",
                           [](ReplicationServer& server, Request&) {
                             server.a.SetClusterUp(false);
                           }));
}

constexpr char kAnyCopying[] = "rbdaddons.admin.v1.Copying/*";

/// A call about the volume on a, or on b, where `prepare` may change the
/// request; between two of the manager's moments.
template <typename Request, typename Response>
Case OfCopying(std::string name, ErrorCodeRow row, std::string site,
               grpc::Status (::rbdaddons::admin::v1::Copying::Stub::*method)(
                   grpc::ClientContext*, const Request&, Response*),
               Asking<Request> prepare = nullptr,
               std::optional<seconds> limit = std::nullopt) {
  return OfAdministrator<::rbdaddons::admin::v1::Copying>(
      std::move(name), std::move(row), std::move(site), method,
      [](ReplicationServer& server, Request& request) {
        server.AddMirrored();
        server.world.Advance(minutes(1));
        server.world.AdvanceToSecond(30);
        request.set_volume_id(server.id);
      },
      std::move(prepare), limit);
}

void Schedule(ReplicationServer& server, const std::string& level) {
  EXPECT_TRUE(
      server.pair.cluster(server.a)
          ->MgrCommand(absl::StrCat(
              R"({"prefix":"rbd mirror snapshot schedule add","level_spec":")",
              level, R"(","interval":"5m"})"))
          .ok());
}
std::string ScheduledImage(const ReplicationServer& server) {
  return absl::StrCat(MirroredPair::kPool, "/", server.image);
}

void AddSyncs(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::SyncVolumeRequest;
  const auto add = [cases](std::string name, ErrorCodeRow row,
                           Asking<Request> prepare = nullptr,
                           std::string site = "a",
                           std::optional<seconds> limit = std::nullopt) {
    cases->push_back(OfCopying(std::move(name), std::move(row), std::move(site),
                               &admin::Copying::Stub::SyncVolume,
                               std::move(prepare), limit));
  };
  const auto fail = [](const char* call, int error) {
    return
        [call = std::string(call), error](ReplicationServer& server, Request&) {
          server.world.SetCallHook([call, error](absl::string_view,
                                                 absl::string_view made, bool) {
            return made == call || (call == kLook && IsLook(made)) ? error : 0;
          });
        };
  };
  constexpr char kMake[] = "rbd_mirror_image_create_snapshot2";
  add("SyncOk", {"SyncVolume", "OK"});
  add("SyncOfNothing", {kAnyCopying, "INVALID_ARGUMENT"},
      [](ReplicationServer&, Request& request) { request.clear_volume_id(); });
  add("SyncWithoutAUser", {kAnyCopying, "UNAUTHENTICATED"},
      [](ReplicationServer&, Request& request) { request.clear_secrets(); });
  add("SyncWithoutCaps", {kAnyCopying, "PERMISSION_DENIED"},
      fail(kLook, EPERM));
  add("SyncOfAnImageThatIsGone", {kAnyCopying, "NOT_FOUND"},
      [](ReplicationServer& server, Request&) {
        server.a.RemoveImage(server.image);
      });
  add("SyncOfASecondary", {kAnyCopying, "FAILED_PRECONDITION"}, nullptr, "b");
  add(
      "SyncBesideAnotherVerb", {kAnyCopying, "ABORTED"},
      [](ReplicationServer& server, Request&) {
        const auto pool = server.pair.cluster(server.a)->OpenPool(
            server.pair.pool_id(server.a), "", Access::kMutate);
        ASSERT_OK(pool);
        EXPECT_TRUE(*(*pool)->TakeObjectLock(
            LeaseLockOf(
                {{},
                 absl::StrCat("rbd_addons.lease.", ReplicationServer::kUuid),
                 ""},
                "another's"),
            std::chrono::hours(1)));
      },
      "a", seconds(30));
  add("SyncOnASilentCluster", {kAnyCopying, "UNAVAILABLE"},
      [](ReplicationServer& server, Request&) {
        server.a.SetClusterUp(false);
      });
  add("SyncInTooShortATime", {kAnyCopying, "DEADLINE_EXCEEDED"},
      fail(kLook, ETIMEDOUT));
  add("SyncAtTheLimit", {"SyncVolume", "FAILED_PRECONDITION"},
      [](ReplicationServer& server, Request&) {
        server.a.AddSnapshot(server.image, "mine", SnapshotKind::kUser);
        server.a.SetSnapshotLimit(server.image, 2);
      });
  add("SyncInAFullPool", {"SyncVolume", "RESOURCE_EXHAUSTED"},
      fail(kMake, EDQUOT));
  add("SyncOfWhatIsMadeIncomplete", {"SyncVolume", "UNAVAILABLE"},
      [](ReplicationServer& server, Request&) {
        server.a.LeaveNextSnapshotIncomplete(server.image);
      });
}

void AddAwaitedSyncs(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::AwaitSyncRequest;
  const auto add = [cases](std::string name, ErrorCodeRow row,
                           Asking<Request> prepare) {
    cases->push_back(OfCopying(std::move(name), std::move(row), "a",
                               &admin::Copying::Stub::AwaitSync,
                               std::move(prepare), seconds(2)));
  };
  const auto at = [](int64_t time) {
    return [time](ReplicationServer&, Request& request) {
      request.set_snapshot_id(1);
      request.set_snapshot_time(time);
    };
  };
  constexpr int64_t kNever = 99999999999;
  add("AwaitSyncOk", {"AwaitSync", "OK"}, at(1));
  add("AwaitSyncOfNone", {kAnyCopying, "INVALID_ARGUMENT"}, nullptr);
  add("AwaitSyncThatIsNotThere", {"AwaitSync", "UNAVAILABLE"}, at(kNever));
  add("AwaitSyncInSplitBrain", {"AwaitSync", "FAILED_PRECONDITION"},
      [at](ReplicationServer& server, Request& request) {
        at(kNever)(server, request);
        server.b.ForceSplitBrain(server.image);
        server.world.Advance(minutes(2));
      });
}

void AddPauses(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::PauseVolumeRequest;
  const auto add = [cases](std::string name, ErrorCodeRow row,
                           Asking<Request> prepare = nullptr) {
    cases->push_back(OfCopying(std::move(name), std::move(row), "a",
                               &admin::Copying::Stub::PauseVolume,
                               std::move(prepare)));
  };
  add("PauseOk", {"PauseVolume", "OK"},
      [](ReplicationServer& server, Request&) {
        Schedule(server, ScheduledImage(server));
      });
  add("PauseOfNone", {"PauseVolume", "FAILED_PRECONDITION"});
  add("PauseOfThePools", {"PauseVolume", "FAILED_PRECONDITION"},
      [](ReplicationServer& server, Request&) {
        Schedule(server, absl::StrCat(MirroredPair::kPool, "/"));
      });
  add("PauseWithoutAManager", {"PauseVolume", "UNAVAILABLE"},
      [](ReplicationServer& server, Request&) {
        Schedule(server, ScheduledImage(server));
        server.a.SetMgrHasModule(false);
      });
  using Resume = admin::ResumeVolumeRequest;
  const auto note = [](const std::string& schedules) {
    return [schedules](ReplicationServer& server, Resume&) {
      LocalRecord record = Noted(server.a, server.image);
      record.pause = SchedulePause{PauseStep::kPaused, 1, schedules};
      Note(server.a, server.image, record);
    };
  };
  cases->push_back(OfCopying("ResumeOk", {"ResumeVolume", "OK"}, "a",
                             &admin::Copying::Stub::ResumeVolume,
                             Asking<Resume>(note(R"([{"interval":"5m"}])"))));
  cases->push_back(OfCopying("ResumeOfANewerVersion",
                             {"ResumeVolume", "UNAVAILABLE"}, "a",
                             &admin::Copying::Stub::ResumeVolume,
                             Asking<Resume>(note(R"([{"cron":"daily"}])"))));
}

constexpr char kAnyPoint[] = "rbdaddons.admin.v1.Points/*";

/// As OfCopying().
template <typename Request, typename Response>
Case OfPoints(std::string name, ErrorCodeRow row, std::string site,
              grpc::Status (::rbdaddons::admin::v1::Points::Stub::*method)(
                  grpc::ClientContext*, const Request&, Response*),
              Asking<Request> prepare = nullptr,
              std::optional<seconds> limit = std::nullopt) {
  return OfAdministrator<::rbdaddons::admin::v1::Points>(
      std::move(name), std::move(row), std::move(site), method,
      [](ReplicationServer& server, Request& request) {
        server.AddMirrored();
        server.world.Advance(minutes(1));
        server.world.AdvanceToSecond(30);
        request.set_volume_id(server.id);
      },
      std::move(prepare), limit);
}

constexpr char kFirstPoint[] = "rbd-addons.point.first";

void AddPoints(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::CreatePointRequest;
  const auto add = [cases](std::string name, ErrorCodeRow row,
                           Asking<Request> prepare = nullptr,
                           std::string site = "a",
                           std::optional<seconds> limit = std::nullopt) {
    cases->push_back(OfPoints(std::move(name), std::move(row), std::move(site),
                              &admin::Points::Stub::CreatePoint,
                              std::move(prepare), limit));
  };
  const auto fail = [](const char* call, int error) {
    return
        [call = std::string(call), error](ReplicationServer& server, Request&) {
          server.world.SetCallHook([call, error](absl::string_view,
                                                 absl::string_view made, bool) {
            return made == call || (call == kLook && IsLook(made)) ? error : 0;
          });
        };
  };
  add("PointOk", {"CreatePoint", "OK"});
  add("PointOfNothing", {kAnyPoint, "INVALID_ARGUMENT"},
      [](ReplicationServer&, Request& request) { request.clear_volume_id(); });
  add("PointOfASlash", {kAnyPoint, "INVALID_ARGUMENT"},
      [](ReplicationServer&, Request& request) { request.set_name("a/b"); });
  add("PointOfAPlansName", {kAnyPoint, "INVALID_ARGUMENT"},
      [](ReplicationServer&, Request& request) {
        request.set_name("auto-20260131T120000Z-5f03a1");
      });
  add("PointWithoutAUser", {kAnyPoint, "UNAUTHENTICATED"},
      [](ReplicationServer&, Request& request) { request.clear_secrets(); });
  add("PointWithoutCaps", {kAnyPoint, "PERMISSION_DENIED"}, fail(kLook, EPERM));
  add("PointOfAnImageThatIsGone", {kAnyPoint, "NOT_FOUND"},
      [](ReplicationServer& server, Request&) {
        server.a.RemoveImage(server.image);
      });
  add("PointOfASecondary", {kAnyPoint, "FAILED_PRECONDITION"}, nullptr, "b");
  add("PointOnASilentCluster", {kAnyPoint, "UNAVAILABLE"},
      [](ReplicationServer& server, Request&) {
        server.a.SetClusterUp(false);
      });
  add("PointInTooShortATime", {kAnyPoint, "DEADLINE_EXCEEDED"},
      fail(kLook, ETIMEDOUT));
  add("PointAtTheLimit", {"CreatePoint", "FAILED_PRECONDITION"},
      [](ReplicationServer& server, Request&) {
        server.a.SetSnapshotLimit(server.image, 2);
      });
  add("PointInAFullPool", {"CreatePoint", "RESOURCE_EXHAUSTED"},
      fail("rbd_snap_create2", EDQUOT));
  add(
      "PointThatNobodyCarries", {"CreatePoint", "UNAVAILABLE"},
      [](ReplicationServer& server, Request&) {
        server.b.SetMirrorDaemon(DaemonState::kDown);
        server.a.RemoveStatuses(server.image);
      },
      "a", seconds(2));
  const auto have = [](ReplicationServer& server, auto& request) {
    server.a.AddSnapshot(server.image, kFirstPoint, SnapshotKind::kUser);
    request.set_name("first");
  };
  cases->push_back(OfPoints("DigestOk", {"DigestPoint", "OK"}, "a",
                            &admin::Points::Stub::DigestPoint,
                            Asking<admin::DigestPointRequest>(have)));
  cases->push_back(
      OfPoints("DigestOfNone", {"DigestPoint", "FAILED_PRECONDITION"}, "a",
               &admin::Points::Stub::DigestPoint,
               Asking<admin::DigestPointRequest>(
                   [](ReplicationServer&, admin::DigestPointRequest& request) {
                     request.set_name("none");
                   })));
  cases->push_back(OfPoints("ListOfPointsOk", {"ListPoints", "OK"}, "a",
                            &admin::Points::Stub::ListPoints));
  cases->push_back(OfPoints("RemovePointOk", {"RemovePoint", "OK"}, "a",
                            &admin::Points::Stub::RemovePoint,
                            Asking<admin::RemovePointRequest>(have)));
}

/// Of a group of two volumes.
void AddGroupPoints(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::CreateGroupPointRequest;
  const auto ask = [](ReplicationServer& server, auto& request) {
    server.AddMirroredGroup();
    server.a.SetTransientLocks(true);
    server.world.Advance(minutes(1));
    server.world.AdvanceToSecond(30);
    request.set_group_id(server.group_id);
  };
  const auto add = [cases, ask](std::string name, std::string code,
                                Asking<Request> prepare = nullptr) {
    cases->push_back(OfAdministrator<admin::Points>(
        std::move(name), {"CreateGroupPoint", std::move(code)}, "a",
        &admin::Points::Stub::CreateGroupPoint, Asking<Request>(ask),
        std::move(prepare), seconds(2)));
  };
  const auto fail_snapshot = [](int error) {
    return [error](ReplicationServer& server, Request&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rbd_snap_create2" ? error : 0;
          });
    };
  };
  add("GroupPointOk", "OK");
  add("GroupPointWithoutTheLock", "FAILED_PRECONDITION",
      [](ReplicationServer& server, Request&) {
        server.a.SetTransientLocks(false);
      });
  add("GroupPointInAFullPool", "RESOURCE_EXHAUSTED", fail_snapshot(EDQUOT));
  add("GroupPointOfAWriterThatKeepsItsLock", "UNAVAILABLE",
      fail_snapshot(EROFS));
  cases->push_back(OfAdministrator<admin::Points>(
      "GroupPointOfAGroupsName", {kAnyPoint, "INVALID_ARGUMENT"}, "a",
      &admin::Points::Stub::CreateGroupPoint, Asking<Request>(ask),
      Asking<Request>([](ReplicationServer&, Request& request) {
        request.set_name("night-of-2-5f03a1b2");
      })));
  cases->push_back(OfAdministrator<admin::Points>(
      "ListOfGroupPointsOk", {"ListGroupPoints", "OK"}, "a",
      &admin::Points::Stub::ListGroupPoints,
      Asking<admin::ListGroupPointsRequest>(ask), nullptr));
  const auto remove = [cases, ask](std::string name, ErrorCodeRow row,
                                   const std::string& point) {
    using Remove = admin::RemoveGroupPointRequest;
    cases->push_back(OfAdministrator<admin::Points>(
        std::move(name), std::move(row), "a",
        &admin::Points::Stub::RemoveGroupPoint, Asking<Remove>(ask),
        Asking<Remove>([point](ReplicationServer&, Remove& request) {
          request.set_name(point);
        })));
  };
  remove("RemoveGroupPointOk", {"RemoveGroupPoint", "OK"},
         "night-of-2-5f03a1b2");
  remove("RemoveGroupPointOfAVolumesName", {kAnyPoint, "INVALID_ARGUMENT"},
         "night");
}

/// To a point that a has.
void AddRollbacks(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::RollBackRequest;
  const auto add = [cases](std::string name, std::string code,
                           Asking<Request> prepare) {
    cases->push_back(OfPoints(std::move(name), {"RollBack", std::move(code)},
                              "a", &admin::Points::Stub::RollBack,
                              std::move(prepare)));
  };
  const auto have = [](ReplicationServer& server, Request& request) {
    server.a.AddSnapshot(server.image, kFirstPoint, SnapshotKind::kUser);
    request.set_name("first");
  };
  add("RollBackOk", "OK", have);
  add("RollBackToNone", "FAILED_PRECONDITION",
      [](ReplicationServer&, Request& request) { request.set_name("none"); });
  add("RollBackOfWritten", "FAILED_PRECONDITION",
      [have](ReplicationServer& server, Request& request) {
        have(server, request);
        server.a.AddSnapshot(server.image, absl::StrCat(kPointPrefix, "before"),
                             SnapshotKind::kUser);
        request.set_kept("before");
        ASSERT_OK(server.a.Write(server.image, 9));
      });
  add("RollBackInFullPool", "RESOURCE_EXHAUSTED",
      [have](ReplicationServer& server, Request& request) {
        have(server, request);
        ASSERT_OK(server.a.Write(server.image, 9));
        server.world.SetCallHook(
            [](absl::string_view, absl::string_view call, bool) {
              return call == "rbd_aio_write" ? ENOSPC : 0;
            });
      });
  cases->push_back(OfPoints(
      "RemovePointOfARollback", {"RemovePoint", "UNAVAILABLE"}, "a",
      &admin::Points::Stub::RemovePoint,
      Asking<admin::RemovePointRequest>([](ReplicationServer& server,
                                           admin::RemovePointRequest& request) {
        server.a.AddSnapshot(server.image, kFirstPoint, SnapshotKind::kUser);
        server.a.SetImageMetadata(server.image, kRollbackKey, "unknown");
        request.set_name("first");
      })));
  add("RollBackOfAHalfPromoted", "UNAVAILABLE",
      [have](ReplicationServer& server, Request& request) {
        have(server, request);
        server.a.RefuseWrites(server.image);
      });
}

/// What a point held, in the image of `site`: zeros only.
void PutRecord(FakeSite& site, const ReplicationServer& server,
               uint64_t snapshot, const std::string& made_on,
               const std::string& point = "first") {
  PointHeader header;
  header.point = point;
  header.snapshot = snapshot;
  header.global_id = server.a.Info(server.image).global_id;
  header.site = made_on;
  const std::unique_ptr<Pool> pool = *server.pair.cluster(server.a)->OpenPool(
      server.pair.pool_id(server.a), "", Access::kRead);
  const std::unique_ptr<Image> image =
      *pool->OpenImageReadOnly(ImageName(server.image));
  header.shape = *PointShape::Of(*image->Layout());
  RecordWriter writer(header);
  for (uint64_t i = 0; i < header.shape.objects(); ++i) {
    ASSERT_OK(writer.Add({}));
  }
  const std::map<std::string, std::string> entries = *writer.Finish();
  for (const auto& [key, value] : entries) {
    site.SetImageMetadata(server.image, key, value);
  }
}

std::string MirrorUuidOf(const ReplicationServer& server, FakeSite& site) {
  const std::unique_ptr<Pool> pool = *server.pair.cluster(site)->OpenPool(
      server.pair.pool_id(site), "", Access::kRead);
  return *pool->MirrorUuid();
}

/// A point on a, with its record.
void ReadFirstPoint(ReplicationServer& server) {
  server.a.AddSnapshot(server.image, kFirstPoint, SnapshotKind::kUser);
  PutRecord(server.a, server, server.a.OtherSnapshots(server.image).front().id,
            MirrorUuidOf(server, server.a));
}

/// With a record on a, or what is said to be one.
void AddVerifications(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::VerifyPointRequest;
  const auto add = [cases](std::string name, std::string code,
                           Asking<Request> prepare, std::string site = "a") {
    cases->push_back(OfPoints(
        std::move(name), {"VerifyPoint", std::move(code)}, std::move(site),
        &admin::Points::Stub::VerifyPoint, std::move(prepare), seconds(2)));
  };
  // What was read of the point.
  const auto read = [](ReplicationServer& server, auto&) {
    ReadFirstPoint(server);
  };
  add("VerifyOk", "OK", read);
  cases->push_back(OfPoints(
      "PointThatIsThere", {"CreatePoint", "ALREADY_EXISTS"}, "a",
      &admin::Points::Stub::CreatePoint,
      Asking<admin::CreatePointRequest>(
          [read](ReplicationServer& server, admin::CreatePointRequest& asked) {
            read(server, asked);
            asked.set_name("first");
          })));
  cases->push_back(OfAdministrator<admin::Points>(
      "GroupPointThatIsThere", {"CreateGroupPoint", "ALREADY_EXISTS"}, "a",
      &admin::Points::Stub::CreateGroupPoint,
      Asking<admin::CreateGroupPointRequest>(
          [](ReplicationServer& server, admin::CreateGroupPointRequest& asked) {
            constexpr char kName[] = "first-of-1-0000000a";
            server.AddMirrored();
            server.AddGroup({server.id});
            server.a.AddSnapshot(server.image, SnapshotNameOf(kName),
                                 SnapshotKind::kUser);
            PutRecord(server.a, server,
                      server.a.OtherSnapshots(server.image).front().id,
                      MirrorUuidOf(server, server.a), kName);
            asked.set_group_id(server.group_id);
            asked.set_name("first");
          }),
      nullptr));
  add("VerifyOfNone", "FAILED_PRECONDITION", nullptr);
  add("VerifyOfADamagedRecord", "DATA_LOSS",
      [](ReplicationServer& server, Request&) {
        server.a.SetImageMetadata(server.image, kPointRecordKey, "{}");
      });
  add("VerifyOfANewerRecord", "UNIMPLEMENTED",
      [](ReplicationServer& server, Request&) {
        server.a.SetImageMetadata(server.image, kPointRecordKey,
                                  R"({"version":9})");
      });
  add(
      "VerifyBeforeItArrives", "UNAVAILABLE",
      [](ReplicationServer& server, Request&) {
        PutRecord(server.b, server, UINT64_MAX / 2,
                  MirrorUuidOf(server, server.a));
      },
      "b");
}

constexpr char kAnyTest[] = "rbdaddons.admin.v1.TestFailovers/*";

/// Of a volume with a point, where it is primary.
template <typename Request, typename Response>
Case OfTests(
    std::string name, ErrorCodeRow row,
    grpc::Status (::rbdaddons::admin::v1::TestFailovers::Stub::*method)(
        grpc::ClientContext*, const Request&, Response*),
    Asking<Request> prepare = nullptr,
    std::optional<seconds> limit = std::nullopt) {
  return OfAdministrator<::rbdaddons::admin::v1::TestFailovers>(
      std::move(name), std::move(row), "a", method,
      [](ReplicationServer& server, Request& request) {
        server.AddMirrored();
        server.world.Advance(minutes(1));
        ReadFirstPoint(server);
        if constexpr (requires { request.set_volume_id(server.id); }) {
          request.set_volume_id(server.id);
        }
      },
      std::move(prepare), limit);
}

/// What stands in the pool of a of the test of the volume.
void PutTest(ReplicationServer& server, const std::string& text) {
  server.a.AddOmapValue(MirroredPair::kPool, "", kTestsObject,
                        VolumeHandle(server.id).id()->uuid, text);
}

/// One that is ready, with an image of this name in it.
void PutReadyTest(ReplicationServer& server) {
  server.a.AddImage(MirroredPair::kPool, "", "rbd-addons-test-u", 1 << 22);
  PutTest(server, R"({"format":1,"uuid":"u","volume":"v","source":"s",)"
                  R"("sourceImage":"i","point":"first","made":1,"began":1,)"
                  R"("bytes":1,"ready":true})");
}

void AddTestFailovers(std::vector<Case>* cases) {
  namespace admin = ::rbdaddons::admin::v1;
  using Request = admin::StartTestRequest;
  using Stub = admin::TestFailovers::Stub;
  const auto add = [cases](std::string name, ErrorCodeRow row,
                           Asking<Request> prepare = nullptr,
                           std::optional<seconds> limit = std::nullopt) {
    cases->push_back(OfTests(std::move(name), std::move(row), &Stub::StartTest,
                             std::move(prepare), limit));
  };
  const auto fail = [](int error) {
    return [error](ReplicationServer& server, Request&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view made, bool) {
            return IsLook(made) ? error : 0;
          });
    };
  };
  add("TestOk", {"StartTest", "OK"});
  add("TestOfNothing", {kAnyTest, "INVALID_ARGUMENT"},
      [](ReplicationServer&, Request& request) { request.clear_volume_id(); });
  add("TestOfASlash", {kAnyTest, "INVALID_ARGUMENT"},
      [](ReplicationServer&, Request& request) { request.set_name("a/b"); });
  add("TestWithoutAUser", {kAnyTest, "UNAUTHENTICATED"},
      [](ReplicationServer&, Request& request) { request.clear_secrets(); });
  add("TestWithoutCaps", {kAnyTest, "PERMISSION_DENIED"}, fail(EPERM));
  add("TestOfAnImageThatIsGone", {kAnyTest, "NOT_FOUND"},
      [](ReplicationServer& server, Request&) {
        server.a.RemoveImage(server.image);
      });
  add("TestOfWhatIsNotReplicated", {kAnyTest, "FAILED_PRECONDITION"},
      [](ReplicationServer& server, Request&) {
        server.a.SetMirrorImageState(server.image, MirrorImageState::kDisabled);
      });
  add("TestOnASilentCluster", {kAnyTest, "UNAVAILABLE"},
      [](ReplicationServer& server, Request&) {
        server.a.SetClusterUp(false);
      });
  add("TestInTooShortATime", {kAnyTest, "DEADLINE_EXCEEDED"}, fail(ETIMEDOUT));
  add("TestBesideANewerOne", {kAnyTest, "UNIMPLEMENTED"},
      [](ReplicationServer& server, Request&) {
        PutTest(server, R"({"format":2})");
      });
  add(
      "TestBesideAnotherDaemon", {kAnyTest, "ABORTED"},
      [](ReplicationServer& server, Request&) {
        const auto pool = server.pair.cluster(server.a)->OpenPool(
            server.pair.pool_id(server.a), "", Access::kMutate);
        ASSERT_OK(pool);
        EXPECT_TRUE(*(*pool)->TakeObjectLock(
            LeaseLockOf({{},
                         absl::StrCat("rbd_addons.lease.test.",
                                      VolumeHandle(server.id).id()->uuid),
                         ""},
                        "another's"),
            std::chrono::hours(1)));
      },
      seconds(30));
  add("TestThatIsThere", {"StartTest", "ALREADY_EXISTS"},
      [](ReplicationServer& server, Request&) { PutReadyTest(server); });
  add("TestWithoutAPoint", {"StartTest", "FAILED_PRECONDITION"},
      [](ReplicationServer& server, Request&) {
        server.a.RemoveSnapshot(server.image, kFirstPoint);
      });
  add("TestWithoutRoom", {"StartTest", "RESOURCE_EXHAUSTED"},
      [](ReplicationServer& server, Request&) {
        server.world.SetCallHook(
            [](absl::string_view, absl::string_view call, bool) {
              return call == "rbd_create4" ? EDQUOT : 0;
            });
      });
  add("TestOfADamagedRecord", {"StartTest", "DATA_LOSS"},
      [](ReplicationServer& server, Request&) {
        server.a.SetImageMetadata(server.image, kPointRecordKey, "{}");
      });
  add(
      "TestOfAPointThatIsAwaited", {"StartTest", "UNAVAILABLE"},
      [](ReplicationServer&, Request& request) { request.set_name("next"); },
      seconds(2));
  cases->push_back(
      OfTests("ListOfTestsOk", {"ListTests", "OK"}, &Stub::ListTests));
  cases->push_back(
      OfTests("StopTestOk", {"StopTest", "OK"}, &Stub::StopTest,
              Asking<admin::StopTestRequest>(
                  [](ReplicationServer& server, admin::StopTestRequest&) {
                    PutReadyTest(server);
                  })));
  cases->push_back(OfTests(
      "StopOfATestWithSnapshots", {"StopTest", "FAILED_PRECONDITION"},
      &Stub::StopTest,
      Asking<admin::StopTestRequest>([](ReplicationServer& server,
                                        admin::StopTestRequest&) {
        PutReadyTest(server);
        server.a.AddSnapshot("rbd-addons-test-u", "kept", SnapshotKind::kUser);
      })));
  cases->push_back(
      OfTests("StopOfATestInUse", {"StopTest", "UNAVAILABLE"}, &Stub::StopTest,
              Asking<admin::StopTestRequest>([](ReplicationServer& server,
                                                admin::StopTestRequest&) {
                PutReadyTest(server);
                server.a.AddWatcher("rbd-addons-test-u", "10.0.0.7:0/1", 77);
              })));
}

/// An adoption in the pool on b, where `prepare` may change the request.
Case Adopted(std::string name, std::string code,
             std::function<void(ReplicationServer&,
                                ::rbdaddons::admin::v1::AdoptVolumesRequest&)>
                 prepare = nullptr,
             std::optional<seconds> limit = std::nullopt) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Adoption>(
      std::move(name), {"AdoptVolumes", std::move(code)}, "b",
      &admin::Adoption::Stub::AdoptVolumes,
      [](ReplicationServer& server, admin::AdoptVolumesRequest& request) {
        server.AddMirrored();
        request.set_pool(MirroredPair::kPool);
      },
      std::move(prepare), limit);
}

void AddAdoption(std::vector<Case>* cases) {
  using Request = ::rbdaddons::admin::v1::AdoptVolumesRequest;
  const auto fail = [](int error) {
    return [error](ReplicationServer& server, Request&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rados_read_op_omap_get_vals2" ? error : 0;
          });
    };
  };
  cases->push_back(Adopted("AdoptOk", "OK"));
  cases->push_back(Adopted(
      "AdoptNowhere", "INVALID_ARGUMENT",
      [](ReplicationServer&, Request& request) { request.clear_pool(); }));
  cases->push_back(Adopted("AdoptTwoUnderOneName", "INVALID_ARGUMENT",
                           [](ReplicationServer&, Request& request) {
                             request.set_volume_name("pvc-1");
                           }));
  cases->push_back(Adopted("AdoptNoName", "INVALID_ARGUMENT",
                           [](ReplicationServer&, Request& request) {
                             request.add_images("pool/image");
                           }));
  cases->push_back(Adopted("AdoptEncryptedSomehow", "INVALID_ARGUMENT",
                           [](ReplicationServer&, Request& request) {
                             request.set_encryption_type("some");
                           }));
  cases->push_back(Adopted(
      "AdoptInNoPool", "NOT_FOUND",
      [](ReplicationServer&, Request& request) { request.set_pool("none"); }));
  cases->push_back(Adopted("AdoptInANamespaceOfNoCluster",
                           "FAILED_PRECONDITION",
                           [](ReplicationServer&, Request& request) {
                             request.set_rados_namespace("tenant2");
                           }));
  cases->push_back(Adopted(
      "AdoptWithoutAUser", "UNAUTHENTICATED",
      [](ReplicationServer&, Request& request) { request.clear_secrets(); }));
  cases->push_back(Adopted("AdoptForbidden", "PERMISSION_DENIED", fail(EPERM)));
  cases->push_back(
      Adopted("AdoptTimedOut", "DEADLINE_EXCEEDED", fail(ETIMEDOUT)));
  cases->push_back(Adopted("AdoptOnASilentCluster", "UNAVAILABLE",
                           [](ReplicationServer& server, Request&) {
                             server.b.SetClusterUp(false);
                           }));
  cases->push_back(Adopted(
      "AdoptBesideAnotherDaemon", "ABORTED",
      [](ReplicationServer& server, Request& request) {
        request.set_write(true);
        const auto pool = server.pair.cluster(server.b)->OpenPool(
            server.pair.pool_id(server.b), "", Access::kMutate);
        ASSERT_OK(pool);
        EXPECT_TRUE(*(*pool)->TakeObjectLock(
            LeaseLockOf({{}, "rbd_addons.lease.adopt", ""}, "another's"),
            std::chrono::hours(1)));
      },
      seconds(30)));
}

/// An audit of the pool on a, where `prepare` may change the request.
Case Audited(std::string name, std::string code,
             std::function<void(ReplicationServer&,
                                ::rbdaddons::admin::v1::AuditPoolRequest&)>
                 prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Audit>(
      std::move(name), {"AuditPool", std::move(code)}, "a",
      &admin::Audit::Stub::AuditPool,
      [](ReplicationServer& server, admin::AuditPoolRequest& request) {
        server.AddMirrored();
        request.set_pool(MirroredPair::kPool);
      },
      std::move(prepare));
}

/// The repair of a schedule of an image id that is gone, on a, where `prepare`
/// may change the request.
Case Repaired(std::string name, std::string code,
              std::function<void(ReplicationServer&,
                                 ::rbdaddons::admin::v1::RepairPoolRequest&)>
                  prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Audit>(
      std::move(name), {"RepairPool", std::move(code)}, "a",
      &admin::Audit::Stub::RepairPool,
      [](ReplicationServer& server, admin::RepairPoolRequest& request) {
        server.AddMirrored();
        request.set_pool(MirroredPair::kPool);
        auto& finding = *request.add_plan();
        finding.set_kind(admin::AuditFinding::SCHEDULES);
        finding.set_object("1//gone");
        finding.set_repair("remove the schedule of this image id");
      },
      std::move(prepare), seconds(30));
}

void AddRepair(std::vector<Case>* cases) {
  using Request = ::rbdaddons::admin::v1::RepairPoolRequest;
  const auto fail = [](int error) {
    return [error](ReplicationServer& server, Request&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rados_mon_command" ? error : 0;
          });
    };
  };
  cases->push_back(Repaired("RepairOk", "OK"));
  cases->push_back(Repaired(
      "RepairOfNothing", "INVALID_ARGUMENT",
      [](ReplicationServer&, Request& request) { request.clear_plan(); }));
  cases->push_back(Repaired(
      "RepairOfNoPool", "NOT_FOUND",
      [](ReplicationServer&, Request& request) { request.set_pool("none"); }));
  cases->push_back(Repaired("RepairInABrokenCluster", "FAILED_PRECONDITION",
                            [](ReplicationServer& server, Request& request) {
                              request.set_cluster_id("site-a");
                              server.WriteConfig(R"(, "monitors": [])");
                            }));
  cases->push_back(Repaired("RepairWithAWrongKey", "UNAUTHENTICATED",
                            [](ReplicationServer&, Request& request) {
                              (*request.mutable_secrets())["userKey"] =
                                  "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
                            }));
  cases->push_back(
      Repaired("RepairForbidden", "PERMISSION_DENIED", fail(EPERM)));
  cases->push_back(
      Repaired("RepairTimedOut", "DEADLINE_EXCEEDED", fail(ETIMEDOUT)));
  cases->push_back(Repaired("RepairOfADeadCluster", "UNAVAILABLE",
                            [](ReplicationServer& server, Request&) {
                              server.a.SetClusterUp(false);
                            }));
  cases->push_back(Repaired(
      "RepairBesideAnotherDaemon", "ABORTED",
      [](ReplicationServer& server, Request&) {
        const auto pool = server.pair.cluster(server.a)->OpenPool(
            server.pair.pool_id(server.a), "", Access::kMutate);
        ASSERT_OK(pool);
        EXPECT_TRUE(*(*pool)->TakeObjectLock(
            LeaseLockOf({{}, "rbd_addons.lease.repair", ""}, "another's"),
            std::chrono::hours(1)));
      }));
}

/// A diagnosis of site a, where `prepare` may change the request.
Case Diagnosed(std::string name, std::string code,
               std::function<void(::rbdaddons::admin::v1::DiagnoseRequest&)>
                   prepare = nullptr) {
  namespace admin = ::rbdaddons::admin::v1;
  return OfAdministrator<admin::Doctor>(
      std::move(name), {"Diagnose", std::move(code)}, "a",
      &admin::Doctor::Stub::Diagnose,
      [](ReplicationServer&, admin::DiagnoseRequest&) {},
      [prepare](ReplicationServer&, admin::DiagnoseRequest& request) {
        if (prepare) prepare(request);
      });
}

void AddDoctor(std::vector<Case>* cases) {
  using Request = ::rbdaddons::admin::v1::DiagnoseRequest;
  cases->push_back(Diagnosed("DiagnoseOk", "OK"));
  cases->push_back(Diagnosed("DiagnoseWithWhatIsNoPersons", "INVALID_ARGUMENT",
                             [](Request& request) {
                               request.set_before_handover(true);
                               request.add_confirmed("handover.moves");
                             }));
  cases->push_back(
      Diagnosed("DiagnoseWithoutAUser", "UNAUTHENTICATED",
                [](Request& request) { request.clear_secrets(); }));
}

void AddAudit(std::vector<Case>* cases) {
  using Request = ::rbdaddons::admin::v1::AuditPoolRequest;
  const auto fail = [](int error) {
    return [error](ReplicationServer& server, Request&) {
      server.world.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rados_mon_command" ? error : 0;
          });
    };
  };
  cases->push_back(Audited("AuditOk", "OK"));
  cases->push_back(Audited("AuditOfOneOfSeveralClusters", "INVALID_ARGUMENT",
                           [](ReplicationServer& server, Request&) {
                             server.WriteConfig(
                                 R"(}, {"clusterID": "more", "monitors": )"
                                 R"(["site-a:6789"])");
                           }));
  cases->push_back(Audited(
      "AuditOfNoPool", "NOT_FOUND",
      [](ReplicationServer&, Request& request) { request.set_pool("none"); }));
  cases->push_back(Audited(
      "AuditOfAnUnknownKind", "INVALID_ARGUMENT",
      [](ReplicationServer&, Request& request) {
        request.add_kinds(::rbdaddons::admin::v1::AuditFinding::UNSPECIFIED);
      }));
  cases->push_back(Audited("AuditInABrokenCluster", "FAILED_PRECONDITION",
                           [](ReplicationServer& server, Request& request) {
                             request.set_cluster_id("site-a");
                             server.WriteConfig(R"(, "monitors": [])");
                           }));
  cases->push_back(Audited("AuditWithAWrongKey", "UNAUTHENTICATED",
                           [](ReplicationServer&, Request& request) {
                             (*request.mutable_secrets())["userKey"] =
                                 "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
                           }));
  cases->push_back(Audited("AuditForbidden", "PERMISSION_DENIED", fail(EPERM)));
  cases->push_back(
      Audited("AuditTimedOut", "DEADLINE_EXCEEDED", fail(ETIMEDOUT)));
  cases->push_back(Audited("AuditOfADeadCluster", "UNAVAILABLE",
                           [](ReplicationServer& server, Request&) {
                             server.a.SetClusterUp(false);
                           }));
}

/// NodeReclaimSpace has a server of its own.
Case Trimmed(std::string name, std::string code,
             std::function<grpc::Status(NodeReclaimServer&)> run) {
  return {std::move(name),
          {"NodeReclaimSpace", std::move(code)},
          "a",
          [run = std::move(run)](ReplicationServer&) {
            NodeReclaimServer server;
            return run(server);
          }};
}

/// The same with a kernel that answers the trim with `status`.
Case TrimAnswered(std::string name, std::string code, absl::Status status) {
  return Trimmed(std::move(name), std::move(code),
                 [status = std::move(status)](NodeReclaimServer& server) {
                   server.node.SetTrim(
                       [status](const TrimRange&) -> absl::StatusOr<uint64_t> {
                         return status;
                       });
                   return server.Call(server.Ask()).status;
                 });
}

void AddNodeReclaim(std::vector<Case>* cases) {
  cases->push_back(Trimmed("Trim", "OK", [](NodeReclaimServer& server) {
    return server.Call(server.Ask()).status;
  }));
  cases->push_back(
      Trimmed("TrimNowhere", "INVALID_ARGUMENT", [](NodeReclaimServer& server) {
        auto request = server.Ask();
        request.clear_staging_target_path();
        return server.Call(request).status;
      }));
  cases->push_back(TrimAnswered("TrimWithoutSupport", "UNIMPLEMENTED",
                                absl::UnimplementedError("cannot trim")));
  cases->push_back(
      TrimAnswered("TrimOfSmallGroups", "UNIMPLEMENTED",
                   absl::OutOfRangeError("the filesystem has no such range")));
  cases->push_back(TrimAnswered(
      "TrimWithoutReplay", "FAILED_PRECONDITION",
      absl::FailedPreconditionError("the filesystem is read-only")));
  cases->push_back(TrimAnswered("TrimWithoutRight", "PERMISSION_DENIED",
                                absl::PermissionDeniedError("no right")));
  cases->push_back(TrimAnswered("TrimWithBadDisk", "UNKNOWN",
                                absl::UnknownError("Input/output error")));
  cases->push_back(Trimmed("TrimOfNothing", "FAILED_PRECONDITION",
                           [](NodeReclaimServer& server) {
                             server.node.SetMount({}, 0);
                             return server.Call(server.Ask()).status;
                           }));
  cases->push_back(
      Trimmed("TrimWithDeadCluster", "ABORTED", [](NodeReclaimServer& server) {
        server.site.SetClusterUp(false);
        server.peer.SetClusterUp(false);
        return server.Call(server.Ask()).status;
      }));
  cases->push_back(
      Trimmed("TrimOfNoVolume", "NOT_FOUND", [](NodeReclaimServer& server) {
        server.ForgetPeer();  // which refuses the user
        auto request = server.Ask();
        request.set_volume_id(UnknownId());
        return server.Call(request).status;
      }));
  cases->push_back(
      Trimmed("TrimElsewhere", "ABORTED", [](NodeReclaimServer& server) {
        auto request = server.Ask();
        request.set_volume_id(ElsewhereId());
        return server.Call(request).status;
      }));
  cases->push_back(Trimmed("TrimWithBadSecret", "UNAUTHENTICATED",
                           [](NodeReclaimServer& server) {
                             auto request = server.Ask();
                             request.mutable_secrets()->erase("userKey");
                             return server.Call(request).status;
                           }));
}

/// EncryptionKeyRotate has a server of its own; `prepare` changes what it has
/// or what is asked.
Case Rotated(
    std::string name, std::string code,
    const std::function<void(KeyRotationServer&, KeyRotationServer::Request&)>&
        prepare = nullptr) {
  return {std::move(name),
          {"EncryptionKeyRotate", std::move(code)},
          "a",
          [prepare](ReplicationServer&) {
            KeyRotationServer server;
            KeyRotationServer::Request request = server.Ask();
            if (prepare) prepare(server, request);
            return server.Call(request);
          }};
}

void AddKeyRotation(std::vector<Case>* cases) {
  using Request = KeyRotationServer::Request;
  cases->push_back(Rotated("Rotate", "OK"));
  cases->push_back(Rotated(
      "RotateWhatIsNotEncrypted", "INVALID_ARGUMENT",
      [](KeyRotationServer& server, Request&) { server.node.SetKms("", ""); }));
  cases->push_back(Rotated("RotateElsewhere", "FAILED_PRECONDITION",
                           [](KeyRotationServer& server, Request&) {
                             server.node.Map("another image");
                           }));
  cases->push_back(Rotated("RotateWithDeadCluster", "ABORTED",
                           [](KeyRotationServer& server, Request&) {
                             server.node.pair().a().SetClusterUp(false);
                             server.node.pair().b().SetClusterUp(false);
                           }));
  cases->push_back(Rotated("RotateNoVolume", "NOT_FOUND",
                           [](KeyRotationServer& server, Request& request) {
                             server.ForgetPeer();  // which refuses the user
                             request.set_volume_id(UnknownId());
                           }));
  cases->push_back(Rotated("RotateWithBadSecret", "UNAUTHENTICATED",
                           [](KeyRotationServer&, Request& request) {
                             request.mutable_secrets()->erase("userKey");
                           }));
  cases->push_back(Rotated("RotateWithoutRight", "PERMISSION_DENIED",
                           [](KeyRotationServer& server, Request&) {
                             server.device_answer =
                                 absl::PermissionDeniedError("no right");
                           }));
}

TEST(ErrorCodesTest, RowsOfTheDocumentAreWhatTheDaemonAnswers) {
  std::vector<Case> cases;
  AddVerbs(&cases);
  AddFence(&cases);
  AddGroups(&cases);
  AddCommon(&cases);
  AddNodeReclaim(&cases);
  AddKeyRotation(&cases);
  AddReclaim(&cases);
  AddIdentity(&cases);
  AddAdmin(&cases);
  AddOverview(&cases);
  AddSupport(&cases);
  AddAudit(&cases);
  AddRepair(&cases);
  AddDoctor(&cases);
  AddCheckFailover(&cases);
  AddExplain(&cases);
  AddExplainGroup(&cases);
  AddFindVolume(&cases);
  AddHistory(&cases);
  AddRescues(&cases);
  AddSyncs(&cases);
  AddAwaitedSyncs(&cases);
  AddPoints(&cases);
  AddGroupPoints(&cases);
  AddRollbacks(&cases);
  AddVerifications(&cases);
  AddTestFailovers(&cases);
  AddPauses(&cases);
  AddAdoption(&cases);
  std::set<ErrorCodeRow> reached;
  for (const Case& tested : cases) {
    SCOPED_TRACE(tested.name);
    ReplicationServer server(tested.site);
    const grpc::Status status = tested.run(server);
    EXPECT_EQ(NameOf(status.error_code()), tested.row.second)
        << status.error_message();
    reached.emplace(tested.row.first, NameOf(status.error_code()));
  }
  EXPECT_THAT(reached,
              ::testing::ContainerEq(ReadErrorCodeRows(ADDONS_ERROR_CODES)));
}

}  // namespace
}  // namespace addons::testing
