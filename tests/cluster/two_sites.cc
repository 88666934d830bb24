#include "tests/cluster/two_sites.h"

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <stop_token>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "ceph/image_objects.h"

namespace addons::testing {
namespace {

namespace pb = ::replication;
using nlohmann::json;

std::map<std::string, std::unique_ptr<DaemonProcess>>& Daemons() {
  static std::map<std::string, std::unique_ptr<DaemonProcess>> daemons;
  return daemons;
}

/// How long a container has to end by itself before it is killed. An rbd-mirror
/// whose peer is dead needs longer (90 s were not enough).
constexpr std::chrono::seconds kContainersGrace{30};

/// As the operator does; ABORTED: the call still runs at its caller's deadline.
bool IsToBeRepeated(const grpc::Status& answer) {
  return answer.error_code() == grpc::StatusCode::UNAVAILABLE ||
         answer.error_code() == grpc::StatusCode::ABORTED;
}

std::string Spec(const TestVolume& volume) {
  const std::string pool =
      volume.rados_namespace.empty()
          ? std::string(RealBed::kPool)
          : absl::StrCat(RealBed::kPool, "/", volume.rados_namespace);
  return absl::StrCat(pool, "/", volume.image);
}

template <typename Request>
Request RequestFor(const std::string& site, const TestVolume& volume) {
  Request request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(
      volume.id(site));
  const CephUserRef user = Bed().User(site);
  (*request.mutable_secrets())["userID"] = user->id;
  (*request.mutable_secrets())["userKey"] = user->key.Reveal();
  return request;
}

template <typename Request>
Request RequestFor(const std::string& site, const TestVolume& volume,
                   const Parameters& parameters) {
  Request request = RequestFor<Request>(site, volume);
  for (const auto& [key, value] : parameters) {
    (*request.mutable_parameters())[key] = value;
  }
  return request;
}

/// The newest mirror snapshot of an image as `rbd snap ls --all` lists it.
json NewestMirrorSnapshot(const std::string& listing) {
  json newest;
  for (const json& snapshot : ParseJson(listing)) {
    if (snapshot.value("namespace", json::object()).value("type", "") ==
        "mirror") {
      newest = snapshot;
    }
  }
  return newest;
}

}  // namespace

Parameters ScheduleNotDue() {
  // The manager reads it, as its own clock, in this machine's time zone.
  const absl::Time start = absl::Now() + absl::Hours(12);
  return {{"schedulingInterval", "1d"},
          {"schedulingStartTime",
           absl::FormatTime("%H:%M:%S", start, absl::LocalTimeZone())}};
}

void TwoSitesTest::SetUpTestSuite() { StartDaemons({}); }

void TwoSitesTest::StartDaemonsWithDefaultTimes() {
  const std::vector<std::string> flags = {"--settle-time=90s",
                                          "--takeover-time=180s"};
  StartDaemons({{"a", flags}, {"b", flags}});
}

void TwoSitesTest::StartDaemons(
    const std::map<std::string, std::vector<std::string>>& more_flags) {
  for (const std::string site : {"a", "b"}) {
    std::vector<std::string> flags = {
        "--controllerserver", "--drivername=rbd.csi.ceph.com",
        // A primary that died must be seen as dead before it could be taken for
        // one that lives on: its last reports count for a while.
        "--settle-time=60s", "--takeover-time=120s",
        "--config-dir=" + Bed().Path(site + "/csi-config")};
    const auto more = more_flags.find(site);
    if (more != more_flags.end()) {
      flags.insert(flags.end(), more->second.begin(), more->second.end());
    }
    auto daemon = std::make_unique<DaemonProcess>(Bed().Path(site + ".sock"),
                                                  Bed().Path(site + ".log"),
                                                  std::move(flags));
    ASSERT_TRUE(daemon->Start()) << daemon->Log();
    Daemons()[site] = std::move(daemon);
  }
}

void TwoSitesTest::TearDownTestSuite() { Daemons().clear(); }

void TwoSitesTest::SetUp() {
  for (const std::string site : {"a", "b"}) {
    if (!Daemon(site).Running()) {
      ASSERT_TRUE(Daemon(site).Start()) << Daemon(site).Log();
    }
  }
}

void TwoSitesTest::TearDown() {
  while (!stopped_.empty()) {
    Continue(stopped_.back().first, stopped_.back().second);
  }
  while (!ended_mirrors_.empty()) {
    StartMirrorDaemon(std::string(*ended_mirrors_.begin()));
  }
  if (!HasFailure()) return;
  for (const std::string site : {"a", "b"}) {
    std::cerr << "--- log of the daemon at site " << site << "\n"
              << Daemon(site).Log() << std::endl;
  }
}

void TwoSitesTest::RaceToPromote(const TestVolume& volume,
                                 std::chrono::seconds distance,
                                 std::chrono::seconds tail,
                                 const Parameters& parameters) {
  using std::chrono::steady_clock;
  EXPECT_EQ(Demote("a", volume).error_code(), Code::OK);
  // In journal mode it is an event of the journal, and nothing shows it before
  // a report does, which is late.
  const bool journal = parameters == kJournalMode;
  EXPECT_TRUE(journal || Eventually([&] {
                const SeenSnapshot newest = NewestSnapshot("b", volume);
                return newest.demoted && newest.complete;
              }));
  const auto start = steady_clock::now();
  std::atomic<int64_t> first_ok{0};  // seconds after the start
  const auto ask = [&](const std::string& site,
                       std::chrono::seconds after) -> bool {
    RealClock().SleepFor(after, std::stop_token());
    while (true) {
      const auto passed = std::chrono::duration_cast<std::chrono::seconds>(
          steady_clock::now() - start);
      const int64_t ok_at = first_ok;
      if (passed > std::chrono::minutes(5)) return false;
      if (ok_at > 0 && passed.count() > ok_at + tail.count() &&
          !IsPrimary(site, volume)) {
        std::cerr << site << " was asked until " << passed.count()
                  << " s, the other one said OK at " << ok_at << " s\n";
        return false;
      }
      const grpc::Status answer =
          Promote(site, volume, false, parameters, std::chrono::seconds(20));
      if (answer.ok()) {
        int64_t none = 0;
        first_ok.compare_exchange_strong(none,
                                         std::max<int64_t>(1, passed.count()));
        return true;
      }
      if (!IsToBeRepeated(answer)) {
        ADD_FAILURE() << site << ": code " << answer.error_code() << ": "
                      << answer.error_message();
        return false;
      }
      RealClock().SleepFor(std::chrono::milliseconds(200), std::stop_token());
    }
  };
  auto b = std::async(std::launch::async, ask, "b", distance);
  const bool a_ok = ask("a", std::chrono::seconds(0));
  const bool b_ok = b.get();
  EXPECT_NE(a_ok, b_ok) << "a: " << a_ok << ", b: " << b_ok;
  EXPECT_EQ(IsPrimary("a", volume), a_ok);
  EXPECT_EQ(IsPrimary("b", volume), b_ok);
}

DaemonProcess& TwoSitesTest::Daemon(const std::string& site) {
  return *Daemons().at(site);
}

std::string TwoSitesTest::Testbed(const std::string& command,
                                  const std::vector<std::string>& args) {
  const auto output = Bed().Run(command, args);
  EXPECT_TRUE(output.ok()) << output.status();
  return output.value_or("");
}

void TwoSitesTest::SetQuota(const std::string& site, const std::string& limit,
                            const std::string& value) {
  Testbed("ceph",
          {site, "osd", "pool", "set-quota", RealBed::kPool, limit, value});
}

bool TwoSitesTest::IsFull(const std::string& site) {
  return absl::StrContains(
      Testbed("ceph", {site, "osd", "pool", "ls", "detail"}), "full_quota");
}

std::string TwoSitesTest::Rbd(const std::string& site,
                              const std::vector<std::string>& args) {
  std::vector<std::string> all = {site};
  all.insert(all.end(), args.begin(), args.end());
  return Testbed("rbd", all);
}

std::string TwoSitesTest::Rados(const std::string& site,
                                const TestVolume& volume,
                                const std::vector<std::string>& args) {
  std::vector<std::string> all = {site, "-p", RealBed::kPool, "-N",
                                  volume.rados_namespace};
  all.insert(all.end(), args.begin(), args.end());
  return Testbed("rados", all);
}

void TwoSitesTest::Schedule(const std::string& site, const TestVolume& volume,
                            const std::string& verb,
                            const std::vector<std::string>& args) {
  std::vector<std::string> all = {
      "mirror",  "snapshot",     "schedule",    verb,
      "--pool",  RealBed::kPool, "--namespace", volume.rados_namespace,
      "--image", volume.image};
  all.insert(all.end(), args.begin(), args.end());
  Rbd(site, all);
}

void TwoSitesTest::Stop(const std::string& site, const std::string& daemon) {
  stopped_.emplace_back(site, daemon);
  Testbed("stop", {site, daemon});
}

void TwoSitesTest::Continue(const std::string& site,
                            const std::string& daemon) {
  std::erase(stopped_, std::make_pair(site, daemon));
  Testbed("cont", {site, daemon});
}

void TwoSitesTest::EndMirrorDaemon(const std::string& site, MirrorEnd how) {
  ended_mirrors_.insert(site);
  if (how == MirrorEnd::kTerminated &&
      Bed().Run("end", {site, "rbd-mirror"}, kContainersGrace).ok()) {
    return;
  }
  Testbed("kill", {site, "rbd-mirror"});
}

void TwoSitesTest::StartMirrorDaemon(const std::string& site) {
  Testbed("start", {site, "rbd-mirror"});
  ended_mirrors_.erase(site);
}

void TwoSitesTest::RunMirrorDaemonFor(const std::string& site,
                                      std::chrono::milliseconds time) {
  pid_t pid = 0;
  std::ifstream(Bed().Path(absl::StrCat(site, "/pid/rbd-mirror"))) >> pid;
  ASSERT_GT(pid, 0);
  kill(pid, SIGCONT);
  RealClock().SleepFor(time, std::stop_token());
  kill(pid, SIGSTOP);
}

void TwoSitesTest::CopyObjectsAtOnce(int objects) {
  for (const std::string site : {"a", "b"}) {
    Rbd(site, {"config", "pool", "set", RealBed::kPool,
               "rbd_concurrent_management_ops", absl::StrCat(objects)});
  }
}

TestVolume TwoSitesTest::MakeVolume(const std::vector<std::string>& flags) {
  static std::atomic<int> number = 0;  // several threads make volumes
  TestVolume volume;
  std::vector<std::string> args = {"a", absl::StrCat("pvc-test-", ++number)};
  args.insert(args.end(), flags.begin(), flags.end());
  const std::string everywhere = RealBed::EveryNamespace();
  if (!everywhere.empty() &&
      std::find(flags.begin(), flags.end(), "--namespace") == flags.end()) {
    args.insert(args.end(), {"--namespace", everywhere});
  }
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    if (args[i] == "--namespace") volume.rados_namespace = args[i + 1];
  }
  volume.id_a = Testbed("volume", args);
  if (volume.id_a.size() > 36) {
    volume.image =
        absl::StrCat("csi-vol-", volume.id_a.substr(volume.id_a.size() - 36));
  }
  return volume;
}

std::string TwoSitesTest::MakeParent(const std::string& name) {
  TestVolume image;
  image.image = name;
  const std::string spec = ImageSpec(image);
  Rbd("a", {"create", "--size", "8M", spec});
  Write("a", image, "of the parent", 8u << 20);
  Rbd("a", {"snap", "create", "--no-progress", spec + "@origin"});
  return spec;
}

void TwoSitesTest::Replicate(TestVolume* volume, const Parameters& parameters) {
  EXPECT_THAT(Enable("a", *volume, parameters), HasCode(Code::OK));
  EXPECT_THAT(Promote("a", *volume, false, parameters), HasCode(Code::OK));
  volume->id_b = Testbed("peer-journal", {"b", volume->id_a});
  EXPECT_TRUE(Eventually([&] { return MirrorState("b", *volume) == "enabled"; },
                         std::chrono::seconds(180)))
      << "the image did not arrive on site b";
}

TestVolume TwoSitesTest::MakeReplicatedVolume(
    const Parameters& parameters, const std::vector<std::string>& flags) {
  TestVolume volume = MakeVolume(flags);
  Replicate(&volume, parameters);
  return volume;
}

TestVolume TwoSitesTest::MakeJournaledVolume() {
  TestVolume volume = MakeVolume();
  Rbd("a", {"feature", "enable", Spec(volume), "journaling"});
  Replicate(&volume, kJournalMode);
  return volume;
}

void TwoSitesTest::Synchronize(const std::string& primary,
                               const TestVolume& volume) {
  const std::string other = primary == "a" ? "b" : "a";
  Rbd(primary, {"mirror", "image", "snapshot", Spec(volume)});
  const json taken = NewestMirrorSnapshot(
      Rbd(primary, {"snap", "ls", "--all", "--format", "json", Spec(volume)}));
  ASSERT_TRUE(taken.is_object());
  EXPECT_TRUE(Eventually([&] {
    const auto listing = Bed().Run("rbd", {other, "snap", "ls", "--all",
                                           "--format", "json", Spec(volume)});
    if (!listing.ok()) return false;
    const json newest = NewestMirrorSnapshot(*listing);
    return newest.is_object() && newest["namespace"].value("complete", false) &&
           newest["namespace"].value("primary_snap_id", -1) >= taken["id"];
  })) << "the snapshot did not arrive on site "
      << other;
}

std::unique_ptr<Disk> TwoSitesTest::OpenDisk(const std::string& site,
                                             const TestVolume& volume,
                                             Disk::Mode mode) {
  auto disk = std::make_unique<Disk>(
      Bed().Path(site + "/ceph.conf"), RealBed::kPool,
      RealBed::NamespaceOn(site, volume.rados_namespace), volume.image, mode);
  EXPECT_EQ(disk->result(), 0) << "opening " << volume.image << " on " << site;
  return disk;
}

void TwoSitesTest::Write(const std::string& site, const TestVolume& volume,
                         const std::string& text, uint64_t bytes) {
  EXPECT_EQ(OpenDisk(site, volume)->Fill(text + "\n", bytes), 0);
}

std::string TwoSitesTest::ReadText(const std::string& site,
                                   const TestVolume& volume) {
  const std::string data =
      OpenDisk(site, volume, Disk::Mode::kReadOnly)->Read(0, 256);
  return data.substr(0, data.find('\n'));
}

uint64_t TwoSitesTest::Digest(const std::string& site,
                              const TestVolume& volume) {
  return OpenDisk(site, volume, Disk::Mode::kReadOnly)->Digest();
}

namespace {

json ImageInfo(const std::string& site, const TestVolume& volume) {
  const auto output =
      Bed().Run("rbd", {site, "info", "--format", "json", Spec(volume)});
  if (!output.ok()) return nullptr;
  return ParseJson(*output);
}

}  // namespace

bool TwoSitesTest::IsPrimary(const std::string& site,
                             const TestVolume& volume) {
  const json info = ImageInfo(site, volume);
  return info.is_object() &&
         info.value("mirroring", json::object()).value("primary", false);
}

std::string TwoSitesTest::MirrorState(const std::string& site,
                                      const TestVolume& volume) {
  const json info = ImageInfo(site, volume);
  if (!info.is_object()) return "absent";
  return info.value("mirroring", json::object()).value("state", "disabled");
}

std::string TwoSitesTest::ImageId(const std::string& site,
                                  const TestVolume& volume) {
  const json info = ImageInfo(site, volume);
  return info.is_object() ? info.value("id", "") : "";
}

void TwoSitesTest::RefuseWrites(const std::string& site,
                                const TestVolume& volume) {
  const std::string header = HeaderObject(ImageId(site, volume));
  const std::string file = Bed().Path("features");
  const auto rados = [&](std::vector<std::string> args) {
    const std::vector<std::string> pool = {site, "-p", RealBed::kPool};
    args.insert(args.begin(), pool.begin(), pool.end());
    Testbed("rados", args);
  };
  rados({"getomapval", header, "features", file});
  std::string features;
  {
    std::ifstream input(file, std::ios::binary);
    features.assign(std::istreambuf_iterator<char>(input), {});
  }
  ASSERT_EQ(features.size(), 8U);
  features.at(1) = static_cast<char>(features.at(1) | 4);  // bit 10
  std::ofstream(file, std::ios::binary) << features;
  rados({"setomapval", header, "features", "--input-file", file});
}

std::string TwoSitesTest::JournalImageId(const std::string& site,
                                         const TestVolume& volume) {
  const std::string& id = volume.id(site);
  // getomapval prints a dump; a file takes the bare value.
  const std::string file = Bed().Path("omap-value");
  const auto fetched = Bed().Run(
      "rados",
      {site, "-p", RealBed::kPool, "-N", volume.rados_namespace, "getomapval",
       "csi.volume." + id.substr(id.size() - 36), "csi.imageid", file});
  if (!fetched.ok()) return "";
  std::ifstream input(file);
  return std::string(std::istreambuf_iterator<char>(input), {});
}

std::string TwoSitesTest::Metadata(const std::string& site,
                                   const TestVolume& volume,
                                   const std::string& key) {
  // "rbd image-meta get" has the image open for writing, as a workload has.
  return Disk(Bed().Path(site + "/ceph.conf"), RealBed::kPool,
              RealBed::NamespaceOn(site, volume.rados_namespace), volume.image,
              Disk::Mode::kReadOnly)
      .Metadata(key);
}

std::string TwoSitesTest::Status(const std::string& site,
                                 const TestVolume& volume) {
  return Bed()
      .Run(
          "rbd",
          {site, "mirror", "image", "status", "--format", "json", Spec(volume)},
          std::chrono::seconds(60))
      .value_or("");
}

std::string TwoSitesTest::PeerReport(const std::string& site,
                                     const TestVolume& volume) {
  const json status = ParseJson(Status(site, volume));
  if (!status.is_object() || !status.contains("peer_sites")) return "";
  const json& peers = status["peer_sites"];
  return peers.empty() ? "" : peers.dump();
}

TestVolume TwoSitesTest::MakeSplitBrain() {
  TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "common");
  Synchronize("a", volume);
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  Write("b", volume, "of site b");
  Write("a", volume, "of site a");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_TRUE(Eventually([&] {
    return Status("a", volume).find("split-brain") != std::string::npos;
  })) << Status("a", volume);
  return volume;
}

void TwoSitesTest::Restart(
    const std::string& site,
    const std::map<std::string, std::string>& environment) {
  Daemon(site).Stop(SIGKILL);
  ASSERT_TRUE(Daemon(site).Start(environment)) << Daemon(site).Log();
}

std::string TwoSitesTest::Schedules(const std::string& site,
                                    const TestVolume& volume) {
  // Ends with an error code when there is none.
  return Bed()
      .Run("rbd", {site, "mirror", "snapshot", "schedule", "ls", "--pool",
                   RealBed::kPool, "--namespace", volume.rados_namespace,
                   "--image", volume.image})
      .value_or("");
}

std::string TwoSitesTest::ImageSpec(const TestVolume& volume) {
  return Spec(volume);
}

TwoSitesTest::SeenSnapshot TwoSitesTest::NewestSnapshot(
    const std::string& site, const TestVolume& volume) {
  const auto listing = Bed().Run(
      "rbd", {site, "snap", "ls", "--all", "--format", "json", Spec(volume)});
  if (!listing.ok()) return {};
  const json newest = NewestMirrorSnapshot(*listing);
  if (!newest.is_object()) return {};
  const json& mirror = newest["namespace"];
  return {newest.value("id", int64_t{-1}), mirror.value("complete", false),
          mirror.value("state", "").find("demoted") != std::string::npos,
          mirror.value("last_copied_object_number", int64_t{0})};
}

std::unique_ptr<pb::Controller::Stub> TwoSitesTest::Stub(
    const std::string& site) {
  grpc::ChannelArguments arguments;
  // Each call meets the daemon that runs now, also after a restart.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return pb::Controller::NewStub(
      grpc::CreateCustomChannel("unix:" + Daemon(site).socket(),
                                grpc::InsecureChannelCredentials(), arguments));
}

grpc::Status TwoSitesTest::Enable(const std::string& site,
                                  const TestVolume& volume,
                                  const Parameters& parameters,
                                  std::chrono::seconds deadline) {
  pb::EnableVolumeReplicationResponse response;
  return Ask(
      site, &pb::Controller::Stub::EnableVolumeReplication,
      RequestFor<pb::EnableVolumeReplicationRequest>(site, volume, parameters),
      &response, deadline);
}

grpc::Status TwoSitesTest::Disable(const std::string& site,
                                   const TestVolume& volume,
                                   const Parameters& parameters,
                                   std::chrono::seconds deadline) {
  pb::DisableVolumeReplicationResponse response;
  return Ask(
      site, &pb::Controller::Stub::DisableVolumeReplication,
      RequestFor<pb::DisableVolumeReplicationRequest>(site, volume, parameters),
      &response, deadline);
}

grpc::Status TwoSitesTest::Promote(const std::string& site,
                                   const TestVolume& volume, bool force,
                                   const Parameters& parameters,
                                   std::chrono::seconds deadline) {
  auto request = RequestFor<pb::PromoteVolumeRequest>(site, volume, parameters);
  request.set_force(force);
  pb::PromoteVolumeResponse response;
  return Ask(site, &pb::Controller::Stub::PromoteVolume, request, &response,
             deadline);
}

std::vector<grpc::Status> TwoSitesTest::PromoteRepeatedly(
    const std::string& site, const TestVolume& volume,
    std::chrono::seconds limit, std::chrono::seconds each) {
  std::vector<grpc::Status> answers;
  const auto until = std::chrono::steady_clock::now() + limit;
  do {
    answers.push_back(Promote(site, volume, false, {}, each));
  } while (IsToBeRepeated(answers.back()) &&
           std::chrono::steady_clock::now() < until);
  return answers;
}

grpc::Status TwoSitesTest::PromoteAtLast(const std::string& site,
                                         const TestVolume& volume,
                                         const Parameters& parameters) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(3);
  grpc::Status answer;
  do {
    answer = Promote(site, volume, false, parameters);
  } while (IsToBeRepeated(answer) && std::chrono::steady_clock::now() < end);
  return answer;
}

grpc::Status TwoSitesTest::Demote(const std::string& site,
                                  const TestVolume& volume,
                                  std::chrono::seconds deadline) {
  pb::DemoteVolumeResponse response;
  return Ask(site, &pb::Controller::Stub::DemoteVolume,
             RequestFor<pb::DemoteVolumeRequest>(site, volume), &response,
             deadline);
}

grpc::Status TwoSitesTest::Resync(const std::string& site,
                                  const TestVolume& volume, bool force,
                                  bool* ready, std::chrono::seconds deadline) {
  auto request = RequestFor<pb::ResyncVolumeRequest>(site, volume);
  request.set_force(force);
  pb::ResyncVolumeResponse response;
  const grpc::Status status = Ask(site, &pb::Controller::Stub::ResyncVolume,
                                  request, &response, deadline);
  *ready = response.ready();
  return status;
}

grpc::Status TwoSitesTest::Info(const std::string& site,
                                const TestVolume& volume,
                                pb::GetVolumeReplicationInfoResponse* info,
                                std::chrono::seconds deadline) {
  return Ask(site, &pb::Controller::Stub::GetVolumeReplicationInfo,
             RequestFor<pb::GetVolumeReplicationInfoRequest>(site, volume),
             info, deadline);
}

grpc::Status TwoSitesTest::Destination(const std::string& site,
                                       const TestVolume& volume,
                                       std::string* id) {
  pb::GetReplicationDestinationInfoResponse response;
  const grpc::Status status =
      Ask(site, &pb::Controller::Stub::GetReplicationDestinationInfo,
          RequestFor<pb::GetReplicationDestinationInfoRequest>(site, volume),
          &response);
  *id = response.replication_destination().volume().volume_id();
  return status;
}

}  // namespace addons::testing
