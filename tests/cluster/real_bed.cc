#include "tests/cluster/real_bed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace addons::testing {
namespace {

constexpr char kBluestore[] = "bluestore";

/// What StartBedWith() was told.
struct Wish {
  std::vector<std::string> flags;
  std::vector<std::string> suites;
};

std::vector<Wish>& Wishes() {
  static std::vector<Wish> wishes;
  return wishes;
}

/// That are part of this program, by name: whether tests of them run.
std::map<std::string, bool> Suites() {
  std::map<std::string, bool> suites;
  const auto& program = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const auto& suite = *program.GetTestSuite(i);
    // One with parameters is "Values/Suite".
    const std::string name = suite.name();
    bool& runs = suites[name.substr(name.rfind('/') + 1)];
    runs = runs || suite.should_run();
  }
  return suites;
}

class BedEnvironment final : public ::testing::Environment {
 public:
  void SetUp() override {
    const auto suites = Suites();
    std::vector<std::string> flags;
    for (const Wish& wish : Wishes()) {
      bool runs = wish.suites.empty();
      for (const std::string& suite : wish.suites) {
        ASSERT_TRUE(suites.contains(suite)) << "there is no suite " << suite;
        runs = runs || suites.at(suite);
      }
      if (runs) flags.insert(flags.end(), wish.flags.begin(), wish.flags.end());
    }
    auto bed = RealBed::Start(flags);
    ASSERT_TRUE(bed.ok()) << bed.status();
    bed_ = *std::move(bed);
    // Its block device, which a memstore has not.
    ASSERT_EQ(std::filesystem::exists(bed_->Path("a/osd.0/block")),
              std::count(flags.begin(), flags.end(), kBluestore) > 0);
  }
  void TearDown() override { bed_.reset(); }
  RealBed& bed() { return *bed_; }

 private:
  std::unique_ptr<RealBed> bed_;
};

// gtest owns it; made before main() so that it precedes every test.
BedEnvironment* const environment = [] {
  auto* made = std::make_unique<BedEnvironment>().release();
  ::testing::AddGlobalTestEnvironment(made);
  return made;
}();

}  // namespace

absl::StatusOr<std::unique_ptr<RealBed>> RealBed::Start(
    const std::vector<std::string>& flags) {
  std::string dir =
      (std::filesystem::temp_directory_path() / "rbda-bed.XXXXXX").string();
  if (mkdtemp(dir.data()) == nullptr) {
    return absl::InternalError(absl::StrCat("mkdtemp ", dir, " failed"));
  }
  std::unique_ptr<RealBed> bed(new RealBed(dir));
  std::vector<std::string> args = {"--mirror"};
  args.insert(args.end(), flags.begin(), flags.end());
  ADDONS_RETURN_IF_ERROR(bed->Run("up", args).status());
  return bed;
}

RealBed::~RealBed() {
  const auto down = Run("down", {});
  if (!down.ok()) std::cerr << down.status() << std::endl;
}

std::string RealBed::EveryNamespace() {
  const char* const everywhere = std::getenv("TESTBED_NAMESPACE");
  return everywhere != nullptr ? everywhere : "";
}

std::string RealBed::NamespaceOn(const std::string& site,
                                 const std::string& rados_namespace) {
  const char* const remote = std::getenv("TESTBED_REMOTE_NAMESPACE");
  return remote != nullptr && site == "b" && rados_namespace == kNamespace
             ? remote
             : rados_namespace;
}

absl::StatusOr<std::string> RealBed::Run(const std::string& command,
                                         const std::vector<std::string>& args,
                                         std::chrono::seconds limit) {
  std::vector<std::string> all = {command, dir_};
  all.insert(all.end(), args.begin(), args.end());
  if (args.empty() || (command != "rbd" && command != "rados")) {
    return RunTestbed(all, limit);
  }
  const std::string there = NamespaceOn(args[0], kNamespace);
  for (std::string& argument : all) {
    if (argument == kNamespace) argument = there;
    absl::StrReplaceAll({{absl::StrCat(kPool, "/", kNamespace, "/"),
                          absl::StrCat(kPool, "/", there, "/")}},
                        &argument);
  }
  return RunTestbed(all, limit);
}

absl::Status RealBed::LeaveGroupImageIncomplete(
    const std::string& site, const std::string& group,
    const std::string& image_id, const std::string& rados_namespace) {
  const auto rados = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {site, "-p", kPool, "-N", rados_namespace});
    return Run("rados", args);
  };
  ADDONS_ASSIGN_OR_RETURN(const std::string id,
                          rados({"getomapval", "rbd_group_directory",
                                 absl::StrCat("name_", group), "/dev/stdout"}));
  constexpr size_t kLengthBytes = 4;
  if (id.size() <= kLengthBytes) {
    return absl::InternalError(absl::StrCat("no id of rbd group ", group));
  }
  return rados({"setomapval",
                absl::StrCat("rbd_group_header.", id.substr(kLengthBytes)),
                absl::StrFormat("image_%016x_%s", PoolId(site), image_id),
                "\x01"})
      .status();
}

std::string RealBed::ReadFile(const std::string& name) const {
  std::ifstream file(Path(name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ClusterTarget RealBed::Target(const std::string& site) const {
  const auto config =
      ParseJson(ReadFile(absl::StrCat(site, "/csi-config/config.json")));
  return {ClusterId(config.at(0).at("clusterID")), config.at(0).at("monitors")};
}

CephUserRef RealBed::User(const std::string& site) const {
  const auto secrets = ParseJson(ReadFile(absl::StrCat(site, "/secrets.json")));
  return MakeCephUser(secrets.at("userID"),
                      Secret(secrets.at("userKey").get<std::string>()));
}

int64_t RealBed::PoolId(const std::string& site) const {
  return std::stoll(ReadFile(absl::StrCat(site, "/pool-id")));
}

RealBed& Bed() { return environment->bed(); }

std::optional<std::string> NoFlattenTasks() {
  const auto versions = Bed().Run("ceph", {"a", "versions", "-f", "json"});
  EXPECT_TRUE(versions.ok()) << versions.status();
  if (!versions.ok()) return std::nullopt;
  const auto managers = ParseJson(*versions).at("mgr");
  for (const auto& [version, count] : managers.items()) {
    if (absl::StartsWith(version, "ceph version 18.2.")) {
      return absl::StrCat("this manager dies of a flatten task: ", version);
    }
  }
  return std::nullopt;
}

bool StartBedWith(const std::vector<std::string>& flags,
                  const std::vector<std::string>& suites) {
  Wishes().push_back({flags, suites});
  return true;
}

bool OnBluestore(const std::vector<std::string>& suites) {
  return StartBedWith({"--objectstore", kBluestore}, suites);
}

}  // namespace addons::testing
