#include "tests/contract/real_bed.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace addons::testing {
namespace {

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

absl::StatusOr<std::string> RunTestbed(const std::vector<std::string>& args) {
  std::string command = absl::StrCat("bash ", ShellQuoted(ADDONS_TESTBED));
  for (const std::string& arg : args) {
    absl::StrAppend(&command, " ", ShellQuoted(arg));
  }
  FILE* const pipe = popen(absl::StrCat(command, " </dev/null").c_str(), "re");
  if (pipe == nullptr) return absl::InternalError("popen failed");
  std::string output;
  std::array<char, 4096> buffer{};
  for (size_t size = 0;
       (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  if (status != 0) {
    return absl::InternalError(
        absl::StrCat(command, " ended with status ", status, ": ", output));
  }
  return std::string(absl::StripSuffix(output, "\n"));
}

class BedEnvironment final : public ::testing::Environment {
 public:
  void SetUp() override {
    auto bed = RealBed::Start();
    ASSERT_TRUE(bed.ok()) << bed.status();
    bed_ = *std::move(bed);
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

absl::StatusOr<std::unique_ptr<RealBed>> RealBed::Start() {
  std::string dir =
      (std::filesystem::temp_directory_path() / "rbda-bed.XXXXXX").string();
  if (mkdtemp(dir.data()) == nullptr) {
    return absl::InternalError(absl::StrCat("mkdtemp ", dir, " failed"));
  }
  std::unique_ptr<RealBed> bed(new RealBed(dir));
  ADDONS_RETURN_IF_ERROR(bed->Run("up", {"--mirror"}).status());
  return bed;
}

RealBed::~RealBed() {
  const auto down = Run("down", {});
  if (!down.ok()) std::cerr << down.status() << std::endl;
}

absl::StatusOr<std::string> RealBed::Run(const std::string& command,
                                         const std::vector<std::string>& args) {
  std::vector<std::string> all = {command, dir_};
  all.insert(all.end(), args.begin(), args.end());
  return RunTestbed(all);
}

std::string RealBed::ReadFile(const std::string& name) const {
  std::ifstream file(Path(name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ClusterTarget RealBed::Target(const std::string& site) const {
  const auto config = nlohmann::json::parse(
      ReadFile(absl::StrCat(site, "/csi-config/config.json")));
  return {config.at(0).at("clusterID"), config.at(0).at("monitors")};
}

CephUser RealBed::User(const std::string& site) const {
  const auto secrets =
      nlohmann::json::parse(ReadFile(absl::StrCat(site, "/secrets.json")));
  return {secrets.at("userID"),
          Secret(secrets.at("userKey").get<std::string>())};
}

int64_t RealBed::PoolId(const std::string& site) const {
  return std::stoll(ReadFile(absl::StrCat(site, "/pool-id")));
}

bool Eventually(const std::function<bool()>& condition,
                std::chrono::seconds limit) {
  const SteadyTime until = RealClock().Now() + limit;
  while (!condition()) {
    if (RealClock().Now() >= until) return false;
    RealClock().SleepFor(std::chrono::milliseconds(100), std::stop_token());
  }
  return true;
}

RealBed& Bed() { return environment->bed(); }

}  // namespace addons::testing
