#include "tests/orchestrator/orchestrated_sites.h"

#include <future>
#include <iostream>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "ceph/image_objects.h"
#include "replication/look/local_record.h"
#include "replication/steps/mirror_schedule.h"
#include "tests/orchestrator/cleanup_rule.h"
#include "tests/orchestrator/group_calls.h"
#include "tests/orchestrator/resync_evidence.h"
#include "volume/told_entry.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;

/// Of the operator, for each of these calls.
constexpr seconds kOperatorDeadline{180};

std::string OtherSite(const std::string& site) {
  return site == "a" ? "b" : "a";
}

/// Empty when the command fails, as it does of an image that is gone. One that
/// hangs is repeated: it asked a manager that died meanwhile.
std::string RbdOrNothing(const std::string& site,
                         std::vector<std::string> args) {
  args.insert(args.begin(), site);
  constexpr seconds kLimit{30};
  for (int tries = 0; tries < 5; ++tries) {
    const auto begun = std::chrono::steady_clock::now();
    const auto output = Bed().Run("rbd", args, kLimit);
    if (output.ok()) return *output;
    if (std::chrono::steady_clock::now() - begun < kLimit) break;
  }
  return "";
}

/// Of whatever test of the suite, in the pool of all of them.
bool ImageExists(const std::string& site, const std::string& rados_namespace,
                 const std::string& image_id) {
  return Bed()
      .Run("rados", {site, "-p", RealBed::kPool, "-N", rados_namespace, "stat",
                     HeaderObject(image_id)})
      .ok();
}

std::string DescribeObject(const VolumeReplication& object) {
  std::string text = absl::StrCat("message '", object.status.message, "'");
  for (const auto& [type, condition] : object.status.conditions) {
    using Value = VolumeReplication::Condition::Value;
    absl::StrAppend(&text, ", ", type, "=",
                    condition.value == Value::kTrue    ? "True"
                    : condition.value == Value::kFalse ? "False"
                                                       : "Unknown",
                    "/", condition.reason);
  }
  return text;
}

}  // namespace

/// The calls about one volume, answered by the daemon of one site.
class OrchestratedSitesTest::SiteCalls final : public ReplicationCalls {
 public:
  SiteCalls(std::string site, TestVolume volume, std::shared_ptr<CallLog> log)
      : site_(std::move(site)),
        volume_(std::move(volume)),
        log_(std::move(log)) {}

  grpc::Status Enable(const Parameters& parameters) override {
    return Logged("Enable", TwoSitesTest::Enable(site_, volume_, parameters,
                                                 kOperatorDeadline));
  }
  grpc::Status Disable(const Parameters& parameters) override {
    return Logged("Disable", TwoSitesTest::Disable(site_, volume_, parameters,
                                                   kOperatorDeadline));
  }
  grpc::Status Promote(const Parameters& parameters, bool force) override {
    return Logged(force ? "Promote by force" : "Promote",
                  TwoSitesTest::Promote(site_, volume_, force, parameters,
                                        kOperatorDeadline));
  }
  grpc::Status Demote(const Parameters& /*parameters*/) override {
    return Logged("Demote",
                  TwoSitesTest::Demote(site_, volume_, kOperatorDeadline));
  }
  grpc::Status Resync(const Parameters& /*parameters*/, bool force,
                      bool* ready) override {
    const ResyncEvidence before = Look();
    const grpc::Status answer =
        TwoSitesTest::Resync(site_, volume_, force, ready, kOperatorDeadline);
    if (answer.ok() && !*ready) {
      const ResyncEvidence after = Look();
      EXPECT_TRUE(ResyncHasBegun(before, after))
          << "site " << site_ << " said OK, ready=false of " << volume_.image
          << ", but nothing has begun\nbefore: " << Describe(before)
          << "\nafter: " << Describe(after);
    }
    return Logged(answer.ok() ? (*ready ? "Resync, ready" : "Resync, not ready")
                              : "Resync",
                  answer);
  }
  grpc::Status GetInfo(Info* info) override {
    return Logged("GetVolumeReplicationInfo",
                  TwoSitesTest::Info(site_, volume_, info, kOperatorDeadline));
  }

 private:
  grpc::Status Logged(const std::string& call, const grpc::Status& answer) {
    log_->Add(call, answer);
    return answer;
  }
  ResyncEvidence Look() const {
    const std::string spec = ImageSpec(volume_);
    const std::string other = OtherSite(site_);
    return ReadResyncEvidence(
        RbdOrNothing(site_, {"info", "--format", "json", spec}),
        RbdOrNothing(site_, {"image-meta", "list", spec}),
        RbdOrNothing(site_, {"snap", "ls", "--all", "--format", "json", spec}),
        RbdOrNothing(site_,
                     {"mirror", "image", "status", "--format", "json", spec}),
        Lives(other) && IsPrimary(other, volume_));
  }

  const std::string site_;
  const TestVolume volume_;
  const std::shared_ptr<CallLog> log_;
};

std::atomic<bool>& OrchestratedSitesTest::Lives(const std::string& site) {
  static std::atomic<bool> a{true};
  static std::atomic<bool> b{true};
  return site == "a" ? a : b;
}

void OrchestratedSitesTest::TearDown() {
  Lives("a") = true;
  Lives("b") = true;
  TwoSitesTest::TearDown();
}

void OrchestratedSitesTest::ForEach(const Volumes& volumes,
                                    const std::function<void(Volume&)>& work) {
  std::vector<std::future<void>> running;
  running.reserve(volumes.size());
  for (const auto& volume : volumes) {
    running.push_back(
        std::async(std::launch::async, [&work, &volume] { work(*volume); }));
  }
  for (auto& each : running) each.get();
}

void OrchestratedSitesTest::Create(Volume& volume, const std::string& site,
                                   Role wanted) {
  VolumeReplication::Spec spec;
  spec.wanted = wanted;
  spec.auto_resync = true;
  spec.parameters = volume.parameters;
  volume.logs[site] = std::make_shared<CallLog>();
  std::unique_ptr<ReplicationCalls> calls =
      volume.calls != nullptr
          ? volume.calls(site, volume.logs[site])
          : std::make_unique<SiteCalls>(site, volume.volume, volume.logs[site]);
  volume.objects[site] =
      std::make_unique<ControlLoop>(std::move(calls), std::move(spec));
}

void OrchestratedSitesTest::Want(Volume& volume, const std::string& site,
                                 Role wanted) {
  volume.on(site).Edit(
      [wanted](VolumeReplication::Spec& spec) { spec.wanted = wanted; });
}

void OrchestratedSitesTest::AwaitState(Volume& volume, const std::string& site,
                                       Role state, seconds limit) {
  EXPECT_TRUE(Eventually(
      [&] {
        const VolumeReplication object = volume.on(site).Get();
        using Value = VolumeReplication::Condition::Value;
        return object.spec.wanted == state && object.status.state == state &&
               object.Is("Completed", Value::kTrue);
      },
      limit))
      << volume.volume.image << " on site " << site << ": "
      << DescribeObject(volume.on(site).Get()) << "\n"
      << volume.logs.at(site)->Text();
}

void OrchestratedSitesTest::CleanUp(Volume& volume, const std::string& site,
                                    seconds limit) {
  EXPECT_TRUE(Eventually(
      [&] { return SecondaryMayBeCleanedUp(volume.on(site).Get()); }, limit))
      << volume.volume.image << " on site " << site << ": "
      << DescribeObject(volume.on(site).Get()) << "\n"
      << volume.logs.at(site)->Text();
  volume.on(site).Delete();
  // It waits for a primary that reports: for an rbd-mirror there that is away
  // for three minutes, its first report, and the operator's next try.
  EXPECT_TRUE(Eventually([&] { return volume.on(site).Get().gone; },
                         std::chrono::minutes(6)))
      << volume.logs.at(site)->Text();
  volume.objects.erase(site);
}

bool OrchestratedSitesTest::WasForced(const Volume& volume,
                                      const std::string& site) {
  for (const CallLog::Entry& entry : volume.logs.at(site)->Entries()) {
    if (entry.call == "Promote by force") return true;
  }
  return false;
}

void OrchestratedSitesTest::ExpectWaits(Volume& volume, const std::string& site,
                                        seconds time) {
  EXPECT_FALSE(Eventually(
      [&] {
        return WasForced(volume, site) ||
               volume.on(site).Get().status.state == Role::kPrimary;
      },
      time))
      << volume.volume.image << "\n"
      << volume.logs.at(site)->Text();
  EXPECT_FALSE(IsPrimary(site, volume.volume)) << volume.volume.image;
}

std::unique_ptr<OrchestratedSitesTest::Volume> OrchestratedSitesTest::Protect(
    const Parameters& parameters, const std::vector<std::string>& flags) {
  auto made = std::make_unique<Volume>();
  made->parameters = parameters;
  made->volume = MakeVolume(flags);
  Create(*made, "a", Role::kPrimary);
  AwaitState(*made, "a", Role::kPrimary, std::chrono::minutes(2));
  made->volume.id_b = Testbed("peer-journal", {"b", made->volume.id_a});
  EXPECT_TRUE(
      Eventually([&] { return MirrorState("b", made->volume) == "enabled"; },
                 std::chrono::minutes(3)))
      << "the image did not arrive on site b";
  return made;
}

void OrchestratedSitesTest::ProtectAllKinds(Volumes* volumes) {
  volumes->push_back(Protect(ScheduleNotDue(), {}));
  volumes->push_back(
      Protect(ScheduleNotDue(), {"--namespace", RealBed::kNamespace}));
  volumes->push_back(Protect({}, {"--data-pool", "data"}));
}

OrchestratedSitesTest::ProtectedGroup OrchestratedSitesTest::ProtectGroup(
    size_t members) {
  const TestGroup group = MakeReplicatedTestGroup(members);
  ProtectedGroup made;
  made.members = group.members;
  made.resource = std::make_unique<Volume>();
  made.resource->volume.image = "the group";
  made.resource->parameters = ScheduleNotDue();
  made.resource->parameters["groupReplication"] = "members";
  made.resource->calls = [group](const std::string& site,
                                 std::shared_ptr<CallLog> log) {
    return MakeGroupCalls(site, group, std::move(log));
  };
  Create(*made.resource, "a", Role::kPrimary);
  AwaitState(*made.resource, "a", Role::kPrimary, std::chrono::minutes(3));
  return made;
}

void OrchestratedSitesTest::StopSite(const std::string& site) {
  Lives(site) = false;
  Stop(site, "all");
}

void OrchestratedSitesTest::ContinueSite(const std::string& site) {
  Continue(site, "all");
  Lives(site) = true;
}

void OrchestratedSitesTest::ExpectInStep(const Volume& volume,
                                         const std::string& primary) {
  ExpectInStep(volume.volume, primary);
}

void OrchestratedSitesTest::ExpectInStep(const TestVolume& image,
                                         const std::string& primary) {
  ExpectFollowed(image, primary);
  EXPECT_EQ(Digest(OtherSite(primary), image), Digest(primary, image))
      << image.image;
}

void OrchestratedSitesTest::ExpectFollowed(const TestVolume& image,
                                           const std::string& primary) {
  const std::string other = OtherSite(primary);
  EXPECT_TRUE(IsPrimary(primary, image)) << image.image;
  // A resync that nobody asks about any more must end by itself.
  EXPECT_TRUE(Eventually(
      [&] {
        return MirrorState(other, image) == "enabled" &&
               !IsPrimary(other, image) &&
               Status(other, image).find("\"state\":\"up+replaying\"") !=
                   std::string::npos;
      },
      std::chrono::minutes(4)))
      << image.image << ": " << Status(other, image);
  Synchronize(primary, image);
  EXPECT_EQ(Status(other, image).find("split-brain"), std::string::npos);
}

std::string OrchestratedSitesTest::LeftOn(
    const std::string& site, const std::vector<TestVolume>& images) {
  std::string left;
  std::string ids;
  for (const TestVolume& image : images) {
    const std::string spec = ImageSpec(image);
    absl::StrAppend(&ids, ImageId(site, image), "\n");
    const std::string snapshots =
        RbdOrNothing(site, {"snap", "ls", "--all", "--format", "json", spec});
    if (snapshots.find("\"complete\":false") != std::string::npos) {
      absl::StrAppend(&left, spec, " has an incomplete snapshot: ", snapshots,
                      "\n");
    }
    const auto metadata = ParseJson(
        RbdOrNothing(site, {"image-meta", "list", "--format", "json", spec}));
    if (!metadata.is_object()) continue;
    // The group that an image is mirrored for stays known, and so do what the
    // entry of its volume says and the schedule that was asked for last. Of the
    // record of a primary stays the schedule that was asked for, since when it
    // is primary, and the demotion from which it was promoted; what it removes
    // besides stays on a secondary until that is promoted.
    const std::set<std::string> kept = {kLocalRecordKey,
                                        "rbd-addons.mirrored-for-group",
                                        kScheduleMark, kVolumeNoteKey};
    if (const std::string record =
            metadata.value(kLocalRecordKey, std::string());
        IsPrimary(site, image) &&
        (absl::StrContains(record, R"("demotion")") ||
         absl::StrContains(record, "first_copy_awaited"))) {
      absl::StrAppend(&left, spec, " has noted ", record, "\n");
    }
    for (const auto& [key, value] : metadata.items()) {
      const bool ours =
          key.find("rbd-addons.") != std::string::npos && !kept.contains(key);
      if (ours || value.dump().find("resync_requested") != std::string::npos) {
        absl::StrAppend(&left, spec, " has ", key, " = ", value.dump(), "\n");
      }
    }
  }
  for (const std::string& pool :
       {std::string(RealBed::kPool),
        absl::StrCat(RealBed::kPool, "/", RealBed::kNamespace)}) {
    const std::string present = RbdOrNothing(site, {"ls", pool});
    if (present.find("rescue") != std::string::npos) {
      absl::StrAppend(&left, "rescue images: ", present, "\n");
    }
    const std::string trash =
        RbdOrNothing(site, {"trash", "ls", "--all", pool});
    if (!trash.empty()) absl::StrAppend(&left, "in the trash: ", trash, "\n");
  }
  const std::string levels =
      Bed()
          .Run("rados", {site, "-p", RealBed::kPool, "listomapkeys",
                         "rbd_mirror_snapshot_schedule"})
          .value_or("");
  for (const auto level : absl::StrSplit(levels, '\n', absl::SkipEmpty())) {
    // "<pool>/<namespace>/<image>"; other levels end earlier.
    const std::vector<std::string> parts = absl::StrSplit(level, '/');
    if (parts.size() == 3 && ids.find(parts[2]) == std::string::npos &&
        !ImageExists(site, parts[1], parts[2])) {
      absl::StrAppend(&left, "a schedule of the image id ", parts[2],
                      ", which is gone\n");
    }
  }
  return left;
}

void OrchestratedSitesTest::ExpectNothingLeft(const Volumes& volumes) {
  std::vector<TestVolume> images;
  images.reserve(volumes.size());
  for (const auto& volume : volumes) images.push_back(volume->volume);
  ExpectNothingLeft(images);
}

void OrchestratedSitesTest::ExpectNothingLeft(
    const std::vector<TestVolume>& images) {
  for (const std::string site : {"a", "b"}) {
    std::string left;
    // rbd-mirror empties the trash a moment later.
    EXPECT_TRUE(Eventually([&] {
      left = LeftOn(site, images);
      return left.empty();
    })) << "site "
        << site << ": " << left;
  }
}

}  // namespace addons::testing
