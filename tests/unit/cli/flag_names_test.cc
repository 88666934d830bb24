// The flags of a verb are called as the fields of the requests that it makes.

#include "cli/flag_names.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "rbdaddons/admin.pb.h"

namespace addons {
namespace {

using ::testing::StartsWith;

constexpr char kEach[] = "*";

/// The requests that a person fills in by a verb, without "Request".
const std::map<std::string, std::vector<std::string>>& RequestsOfVerbs() {
  static const std::map<std::string, std::vector<std::string>> requests = {
      {"adopt", {"AdoptVolumes"}},
      {"audit", {"AuditPool", "RepairPool"}},
      {"cancel", {"CancelOperation"}},
      {"check-failover", {"CheckFailover", "FindVolume"}},
      {"doctor", {"Diagnose"}},
      {"explain", {"ExplainVolume", "ExplainGroup", "FindVolume"}},
      {"gather", {"DescribeDaemon"}},
      {"history", {"ListHistory", "FindVolume"}},
      {"known", {}},  // of the completion, which types it itself
      {"operations", {"ListOperations"}},
      {"pause", {"PauseVolume", "FindVolume"}},
      {"point create",
       {"CreatePoint", "CreateGroupPoint", "DigestPoint", "FindVolume"}},
      {"point list", {"ListPoints", "ListGroupPoints", "FindVolume"}},
      {"point remove", {"RemovePoint", "RemoveGroupPoint", "FindVolume"}},
      {"point rollback", {"RollBack", "FindVolume"}},
      {"rescue", {"DecideRescue", "FindVolume"}},
      {"resume", {"ResumeVolume", "FindVolume"}},
      {"status", {"ListStatus"}},
      {"sync", {"SyncVolume", "AwaitSync", "FindVolume"}},
      {"test list", {"ListTests"}},
      {"test manifest", {"FindVolume"}},
      {"test start", {"StartTest", "FindVolume"}},
      {"test stop", {"StopTest", "FindVolume"}},
      {"verify", {"VerifyPoint", "FindVolume"}},
  };
  return requests;
}

struct OtherName {
  std::string request;  // without "Request"; or kEach
  std::string field;
  std::string option;  // with "--", else what stands alone; empty: none
  std::string why;
};

/// Fields whose option has another name than they have.
const std::vector<OtherName>& OtherNames() {
  static const std::vector<OtherName> names = {
      {kEach, "cluster_id", "--cluster", "a cluster has nothing but its id"},
      {kEach, "volume_id", "id", "it stands alone"},
      {kEach, "volume_ids", "id", "they stand alone"},
      {kEach, "group_ids", "--group", "given one by one; groups have only ids"},
      {kEach, "parameters", "--parameter", "given one by one"},
      {kEach, "bytes_per_second", "--rate", "it is in MiB there"},
      {"AdoptVolumes", "images", "image", "given one by one"},
      {"AdoptVolumes", "write", "--yes", "all that changes asks, or has --yes"},
      {"AdoptVolumes", "volume_name", "--pv-name",
       "people know the PersistentVolume, and not the journal's name"},
      {"AdoptVolumes", "kms_id", "--kms", "a KMS has nothing but its id"},
      {"AuditPool", "kinds", "what", "it stands alone"},
      {"AuditPool", "fence_ends_within_seconds", "--fence-ends-within",
       "its value may have another unit"},
      {"RepairPool", "plan", "--repair", "it is what was found"},
      {"CancelOperation", "operation_id", "id", "it stands alone"},
      {"CheckFailover", "most_findings", "", "the daemon knows how many fit"},
      {"DecideRescue", "decision", "--keep", "or --restore, its other value"},
      {"ExplainGroup", "group_id", "--group", "it says what the id is of"},
      {"ListHistory", "group_id", "--group", "it says what the id is of"},
      {"CreateGroupPoint", "group_id", "--group", "it says what the id is of"},
      {"ListGroupPoints", "group_id", "--group", "it says what the id is of"},
      {"RemoveGroupPoint", "group_id", "--group", "it says what the id is of"},
      {"FindVolume", "name", "id", "in place of the id"},
      {"ListStatus", "trouble_only", "--trouble", "a flag is for this only"},
      {"ListStatus", "limit", "", "all pages are asked for"},
      {"ListStatus", "token", "", "all pages are asked for"},
      {"AwaitSync", "snapshot_id", "", "SyncVolume has answered it"},
      {"AwaitSync", "snapshot_time", "", "SyncVolume has answered it"},
      {"RollBack", "kept", "--discard", "said where nothing is to be kept"},
      {"RollBack", "only_look", "", "the question is asked of it"},
      {"RollBack", "only_go_on", "", "known from the look before"},
      {"StartTest", "name", "--point", "a test is no point itself"},
      {"VerifyPoint", "name", "--point", "what is verified is a volume"},
  };
  return names;
}

struct OwnOption {
  std::string verb;  // or kEach
  std::string option;
  std::string why;
};

/// Options that no request has.
const std::vector<OwnOption>& OwnOptions() {
  static const std::vector<OwnOption> options = {
      {kEach, "--admin-endpoint", "which daemon"},
      {kEach, "--endpoint", "which daemon"},
      {kEach, "--timeout", "how long the answer is awaited"},
      {kEach, "--secrets-file", "whose key `secrets` has"},
      {kEach, "--ceph-user", "whose key `secrets` has"},
      {kEach, "--keyring", "whose key `secrets` has"},
      {kEach, "--output", "the form of the answer"},
      {kEach, "--json", "the form of the answer"},
      {kEach, "--verbose", "what is printed of the answer"},
      {kEach, "--end-with-input", "who ends it"},
      {kEach, "--watch", "it is asked again"},
      {kEach, "--help", "nothing is asked"},
      {kEach, "--yes", "whether a person is asked before"},
      {"check-failover", "--planned", "the exit code"},
      {"check-failover", "--force", "the exit code"},
      {"doctor", "--all", "what is printed of the answer"},
      {"gather", "--force", "the file that is written"},
      {"gather", "--from-admin", "which daemon"},
      {"gather", "--from-secrets-file", "whose key `secrets` has"},
      {"known", "kind", "which values are printed"},
      {"rescue", "--restore", "the other value of `decision`"},
      {"test manifest", "--claim-namespace", "it stands in what is printed"},
      {"test manifest", "--secret", "it stands in what is printed"},
      {"test manifest", "--claim", "it stands in what is printed"},
      {"test manifest", "--fs-type", "it stands in what is printed"},
      {"test manifest", "--block", "it stands in what is printed"},
  };
  return options;
}

const google::protobuf::Descriptor* RequestNamed(const std::string& request) {
  return rbdaddons::admin::v1::AdoptVolumesRequest::descriptor()
      ->file()
      ->FindMessageTypeByName(absl::StrCat(request, "Request"));
}

const OtherName* OtherNameOf(const std::string& request,
                             const std::string& field) {
  for (const OtherName& other : OtherNames()) {
    if (other.field == field &&
        (other.request == request || other.request == kEach)) {
      return &other;
    }
  }
  return nullptr;
}

/// "--pool", and "id" of what stands alone.
std::set<std::string> OptionsOf(const CLI::App& verb) {
  std::set<std::string> options;
  for (const CLI::Option* const option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      options.insert("--" + name);
    }
    if (option->get_positional()) {
      options.insert(option->get_name(/*positional=*/true));
    }
  }
  return options;
}

class FlagNamesTest : public ::testing::Test {
 protected:
  FlagNamesTest() {
    AddAllVerbs(program_);
    for (const Program::Verb& verb : program_.verbs()) {
      const std::string& above = verb.app->get_parent()->get_name();
      const std::string path =
          above == "rbd-addons"
              ? verb.app->get_name()
              : absl::StrCat(above, " ", verb.app->get_name());
      verbs_[path] = verb.app;
    }
  }

  Program program_;
  std::map<std::string, const CLI::App*> verbs_;
};

TEST_F(FlagNamesTest, EachFieldIsAnOptionOfItsName) {
  for (const auto& [verb, requests] : RequestsOfVerbs()) {
    ASSERT_TRUE(verbs_.contains(verb)) << verb;
    const std::set<std::string> options = OptionsOf(*verbs_[verb]);
    std::set<std::string> used;
    for (const std::string& request : requests) {
      const auto* const message = RequestNamed(request);
      ASSERT_NE(message, nullptr) << request;
      for (int i = 0; i < message->field_count(); ++i) {
        const std::string& field = message->field(i)->name();
        if (field == "secrets") continue;
        const OtherName* const other = OtherNameOf(request, field);
        if (other != nullptr) {
          EXPECT_TRUE(other->option.empty() || options.contains(other->option))
              << verb << " has no " << other->option << ", which is `" << field
              << "` of " << request;
          used.insert(other->option);
          continue;
        }
        const std::string flag =
            absl::StrCat("--", absl::StrReplaceAll(field, {{"_", "-"}}));
        EXPECT_TRUE(options.contains(flag) || options.contains(field))
            << verb << " has nothing called as `" << field << "` of "
            << request;
        used.insert(flag);
        used.insert(field);
      }
    }
    for (const OwnOption& own : OwnOptions()) {
      if (own.verb == verb || own.verb == kEach) used.insert(own.option);
    }
    for (const std::string& option : options) {
      EXPECT_TRUE(used.contains(option))
          << option << " of " << verb << " is called as no field of its "
          << "requests";
    }
  }
}

TEST_F(FlagNamesTest, NoVerbAndNoRequestIsLeftOut) {
  std::set<std::string> known;
  for (const auto& [verb, requests] : RequestsOfVerbs()) {
    known.insert(requests.begin(), requests.end());
  }
  const auto* const file =
      rbdaddons::admin::v1::AdoptVolumesRequest::descriptor()->file();
  for (int i = 0; i < file->message_type_count(); ++i) {
    std::string name = file->message_type(i)->name();
    if (!absl::EndsWith(name, "Request")) continue;
    name.resize(name.size() - std::string("Request").size());
    EXPECT_TRUE(known.contains(name)) << name;
  }
  for (const auto& [verb, app] : verbs_) {
    // What talks to administrators' socket alone has the other one hidden.
    const CLI::Option* const callers = app->get_option_no_throw("--endpoint");
    const bool admin =
        app->get_option_no_throw("--admin-endpoint") != nullptr &&
        callers != nullptr && callers->get_group().empty();
    EXPECT_EQ(admin, RequestsOfVerbs().contains(verb)) << verb;
  }
}

TEST_F(FlagNamesTest, EachExceptionIsOne) {
  for (const OtherName& other : OtherNames()) {
    EXPECT_FALSE(other.why.empty());
    EXPECT_NE(other.option, absl::StrCat("--", absl::StrReplaceAll(
                                                   other.field, {{"_", "-"}})));
    bool there = false;
    for (const auto& [verb, requests] : RequestsOfVerbs()) {
      for (const std::string& request : requests) {
        there =
            there ||
            ((other.request == request || other.request == kEach) &&
             RequestNamed(request)->FindFieldByName(other.field) != nullptr);
      }
    }
    EXPECT_TRUE(there) << other.request << " has no " << other.field;
  }
  for (const OwnOption& own : OwnOptions()) {
    EXPECT_FALSE(own.why.empty());
    bool there = false;
    for (const auto& [verb, requests] : RequestsOfVerbs()) {
      there = there || ((own.verb == verb || own.verb == kEach) &&
                        OptionsOf(*verbs_[verb]).contains(own.option));
    }
    EXPECT_TRUE(there) << own.verb << " has no " << own.option;
  }
}

// What the daemon says of a field is said of the same option.
TEST_F(FlagNamesTest, ErrorsNameTheSameOption) {
  for (const auto& [verb, requests] : RequestsOfVerbs()) {
    for (const std::string& request : requests) {
      const auto* const message = RequestNamed(request);
      for (int i = 0; i < message->field_count(); ++i) {
        const std::string& field = message->field(i)->name();
        const std::string said(
            InWordsOfFlags(absl::InvalidArgumentError(field + ": is missing"))
                .message());
        if (!absl::StartsWith(said, "--")) continue;
        const OtherName* const other = OtherNameOf(request, field);
        EXPECT_THAT(said, StartsWith(other != nullptr
                                         ? other->option
                                         : absl::StrCat(
                                               "--", absl::StrReplaceAll(
                                                         field, {{"_", "-"}}))))
            << request;
      }
    }
  }
}

}  // namespace
}  // namespace addons
