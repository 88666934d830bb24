// No errno of Ceph becomes a code that makes others act: every errno at every
// kind of call that an RPC makes, on the model.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "ceph/errors.h"
#include "tests/faults/enumeration.h"

namespace addons::testing {
namespace {

const std::set<ErrorCodeRow>& RowsOfPage() {
  static const auto* const rows =
      new std::set<ErrorCodeRow>(ReadErrorCodeRows(ADDONS_ERROR_CODES));
  return *rows;
}

// All that librados, librbd and the classes of their objects were seen to
// answer, and those of the kernel and the network beneath them.
const std::vector<int>& EveryErrno() {
  static const auto* const all = new std::vector<int>{
      EPERM,    ENOENT,     EINTR,     EIO,       ENXIO,     E2BIG,
      EBADF,    EAGAIN,     ENOMEM,    EACCES,    EFAULT,    EBUSY,
      EEXIST,   EXDEV,      ENODEV,    EINVAL,    EFBIG,     ENOSPC,
      EROFS,    EMLINK,     EPIPE,     EDOM,      ERANGE,    EDEADLK,
      ENOSYS,   ENOTEMPTY,  ENODATA,   EBADMSG,   EOVERFLOW, EILSEQ,
      ERESTART, EOPNOTSUPP, ENOTCONN,  ESHUTDOWN, ETIMEDOUT, ECONNREFUSED,
      EALREADY, ESTALE,     EDQUOT,    ECANCELED, ENOTBLK,   ECONNRESET,
      EPROTO,   ENOTSUP,    EHOSTDOWN, EREMOTEIO};
  return *all;
}

/// Which of them are tried at a call: all where RBD_ADDONS_FAULTS is "all";
/// otherwise those that would be a code to act on if errnos were translated
/// word by word, and one by RBD_ADDONS_FAULTS_SEED.
class ErrnoChoice {
 public:
  ErrnoChoice() {
    const char* const wish = std::getenv("RBD_ADDONS_FAULTS");
    all_ = wish != nullptr && std::string(wish) == "all";
    const char* const seed = std::getenv("RBD_ADDONS_FAULTS_SEED");
    const unsigned long number = seed != nullptr
                                     ? std::strtoul(seed, nullptr, 10)
                                     : std::random_device()();
    random_.seed(number);
    if (!all_) std::printf("RBD_ADDONS_FAULTS_SEED=%lu\n", number);
  }
  std::vector<int> Next() {
    if (all_) return EveryErrno();
    return {ENOENT, ENOSYS, EveryErrno()[random_() % EveryErrno().size()]};
  }

 private:
  bool all_ = false;
  std::mt19937_64 random_;
};

/// The codes after which the operator, or who runs it, does what cannot be
/// undone, or does nothing any more.
bool MakesOthersAct(const Scenario& scenario, absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kNotFound:
      return true;
    case absl::StatusCode::kFailedPrecondition:
      return scenario.rpc == "PromoteVolume";
    default:
      return false;
  }
}

/// Calls whose ENOENT is what the answer "there is no such volume" stands on:
/// pools, the journal and the names of images.
bool TellsWhatIsThere(const std::string& call) {
  static const auto* const calls = new std::set<std::string>{
      "rados_ioctx_create2", "rados_read_op_omap_get_vals2",
      "rados_read_op_omap_get_vals_by_keys2"};
  return calls->contains(call);
}

bool Meant(const FaultCase& one, absl::StatusCode code) {
  return one.fault.error == ENOENT && code == absl::StatusCode::kNotFound &&
         TellsWhatIsThere(one.position.call);
}

/// An erasure-coded pool holds no omap, and so no groups.
bool HasNoGroups(const Scenario& scenario, const FaultCase& one) {
  return scenario.rpc == "ListVolumeGroups" && one.fault.error == EOPNOTSUPP &&
         one.position.call == "rados_read_op_omap_get_vals2";
}

class ErrnoCodesTest : public ::testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override { Log().set_level(LogLevel::kOff); }
};

TEST_P(ErrnoCodesTest, NoErrnoMakesOthersAct) {
  const Scenario& scenario = GetParam();
  const Enumeration enumeration(scenario, RowsOfPage());
  ASSERT_TRUE(enumeration.wrong().empty())
      << absl::StrJoin(enumeration.wrong(), "\n");
  std::set<std::pair<std::string, std::string>> kinds;
  size_t cases = 0;
  ErrnoChoice errnos;
  for (const CallRecord& call : enumeration.calls()) {
    if (IsThreadCall(call.call)) continue;
    if (!kinds.insert({call.site, call.call}).second) continue;
    for (const int error : errnos.Next()) {
      const FaultCase one = {{call.site, call.call, 1},
                             {Strike::kError, error}};
      const FaultResult result = enumeration.Once(one);
      if (!result.reached) break;  // by a later call of the verb only
      ++cases;
      const absl::StatusCode code = result.answer.code();
      if (MakesOthersAct(scenario, code) && !Meant(one, code) &&
          !scenario.may_answer.contains(code)) {
        ADD_FAILURE() << Name(one) << ": " << result.answer.ToString();
      } else if (result.answer.ok() && !result.wrong.empty() &&
                 !HasNoGroups(scenario, one)) {
        ADD_FAILURE() << Name(one) << "\n  "
                      << absl::StrJoin(result.wrong, "\n  ");
      }
    }
  }
  std::printf("%s: %zu kinds of calls, %zu cases\n", scenario.name.c_str(),
              kinds.size(), cases);
}

TEST(ErrnoTableTest, ThePageSaysWhatBecomesOfAnErrno) {
  const std::map<std::string, int> names = {
      {"ENOENT", ENOENT},       {"EEXIST", EEXIST},        {"EBUSY", EBUSY},
      {"EAGAIN", EAGAIN},       {"ENOTCONN", ENOTCONN},    {"EROFS", EROFS},
      {"ESHUTDOWN", ESHUTDOWN}, {"ENOSYS", ENOSYS},        {"EPERM", EPERM},
      {"EACCES", EACCES},       {"ETIMEDOUT", ETIMEDOUT},  {"ENOSPC", ENOSPC},
      {"EDQUOT", EDQUOT},       {"EOPNOTSUPP", EOPNOTSUPP}};
  std::map<int, std::string> told;
  std::string others;
  for (const auto& [errnos, code] : ReadTables(ADDONS_ERROR_CODES, "errno")) {
    if (errnos == "all others") {
      others = code;
      continue;
    }
    for (const absl::string_view name : absl::StrSplit(errnos, ", ")) {
      told[names.at(std::string(name))] = code;
    }
  }
  EXPECT_EQ(told.size(), names.size());
  for (int error = 1; error < 200; ++error) {
    const auto found = told.find(error);
    EXPECT_EQ(absl::StatusCodeToString(CephError(-error, "do", "it").code()),
              found == told.end() ? others : found->second)
        << error;
  }
}

/// One scenario of each RPC, for a volume and for a group.
std::vector<Scenario> OneOfEachRpc() {
  std::set<std::string> seen;
  std::vector<Scenario> chosen;
  for (const auto& list :
       {ReplicationScenarios(), MembersScenarios(), VolumeGroupScenarios(),
        FenceScenarios(), ReclaimScenarios()}) {
    std::set<std::string> here;
    for (const Scenario& scenario : list) {
      if (here.insert(scenario.rpc).second) chosen.push_back(scenario);
    }
  }
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(Rpcs, ErrnoCodesTest,
                         ::testing::ValuesIn(OneOfEachRpc()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons::testing
