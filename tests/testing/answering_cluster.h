#ifndef ADDONS_TESTS_TESTING_ANSWERING_CLUSTER_H_
#define ADDONS_TESTS_TESTING_ANSWERING_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/cluster.h"

namespace addons::testing {

/// Gives prepared answers to commands, and has nothing else.
class AnsweringCluster final : public Cluster {
 public:
  /// `prefix` names the command; also a status can be an answer.
  void Answer(const std::string& prefix, absl::StatusOr<std::string> answer) {
    answers_.insert_or_assign(prefix, std::move(answer));
  }

  const std::string& fsid() const override { return fsid_; }
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(int64_t, const std::string&,
                                                 Access) override {
    return absl::UnimplementedError("no pools");
  }
  absl::StatusOr<std::string> MonCommand(const std::string& json) override {
    return Find(json);
  }
  absl::StatusOr<std::string> MgrCommand(const std::string& json) override {
    return Find(json);
  }
  absl::Status SnapshotTogether(const std::vector<PlacedImage>&,
                                const std::string&) override {
    return absl::UnimplementedError("not in this test");
  }
  std::vector<uint64_t> OwnClientIds() override { return {}; }
  std::vector<std::string> OwnAddresses() override { return {}; }
  absl::Status WaitForLatestMap() override { return absl::OkStatus(); }

 private:
  absl::StatusOr<std::string> Find(const std::string& json) const {
    for (const auto& [prefix, answer] : answers_) {
      if (absl::StrContains(json, absl::StrCat("\"", prefix, "\""))) {
        return answer;
      }
    }
    return absl::UnimplementedError(absl::StrCat("no answer to ", json));
  }

  const std::string fsid_ = "00000000-0000-4000-8000-000000000001";
  std::map<std::string, absl::StatusOr<std::string>> answers_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_ANSWERING_CLUSTER_H_
