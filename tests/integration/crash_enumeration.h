#ifndef ADDONS_TESTS_INTEGRATION_CRASH_ENUMERATION_H_
#define ADDONS_TESTS_INTEGRATION_CRASH_ENUMERATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/crash_bed.h"
#include "tests/integration/crash_points.h"

namespace addons::testing {

/// What one run of a scenario works on; no other run touches it.
struct CrashSubject {
  uint64_t number = 0;  // another one in each run
  std::vector<TestVolume> volumes{};
  std::string group_id{};

  /// In a Create request. None is the beginning of another one.
  std::string GroupName() const { return absl::StrCat("vgr-", number, "-"); }
};

/// One verb from one state, on real clusters, as its caller repeats it until it
/// is OK.
struct CrashScenario {
  friend void PrintTo(const CrashScenario& scenario, std::ostream* out) {
    *out << scenario.name;
  }

  std::string name;
  std::string site;  // whose daemon dies
  /// Blocks until all is ready.
  std::function<void(CrashBed&, CrashSubject&)> prepare;
  /// One call.
  std::function<grpc::Status(CrashSubject&)> call;
  std::function<CrashBed::Contents(CrashBed&, const CrashSubject&)> contents;
  /// Answers besides OK, UNAVAILABLE and ABORTED, with the reason beside them.
  std::set<grpc::StatusCode> may_answer = {};
  /// It promotes by force, which ends the copying of the whole pool: what other
  /// scenarios wait for would come minutes later, or not in their time.
  bool ends_copying = false;
  /// The rest of the preparation, which does that, too: once the volumes of all
  /// other cases have arrived. An rbd-mirror that is sent away while it creates
  /// an image cannot create it any more (docs/replication.md).
  std::function<void(CrashBed&, CrashSubject&)> split = nullptr;
};

struct CrashCase {
  const CrashScenario* scenario = nullptr;
  CrashPoint point{};
  CrashSubject subject{};
  std::vector<CrashTry> tries{};
  std::vector<std::string> wrong{};

  /// "demote: death after rbd_mirror_image_demote #1"
  std::string Name() const;
  CrashReach reach() const { return ReachOf(point, tries); }
};

/// Suites in which the daemon dies at the calls of Ceph that a verb makes, is
/// started again, and the same call is repeated until it is OK: the clusters
/// must end as without the death. Many volumes are prepared at the same time,
/// each is met by one death, and all calls are repeated at the same time, since
/// what a dead client leaves on an image stays for half a minute.
class CrashEnumeration : public TwoSitesTest {
 public:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  static std::vector<CrashScenario> Scenarios();

 protected:
  /// A run without a death.
  struct Undisturbed {
    std::vector<std::string> calls;
    CrashBed::Contents end;
  };
  /// One of each, in their order.
  static std::vector<Undisturbed> Observe(
      const std::vector<const CrashScenario*>& scenarios);

  /// Runs all of `cases`, which are of any scenarios, at most `at_once` volumes
  /// at a time; those in which the daemon does not die are tried some times
  /// more, since how often a verb that waits makes a call differs.
  /// `ends`: as undisturbed runs end, by scenario.
  static void Run(std::vector<CrashCase>* cases,
                  const std::map<std::string, CrashBed::Contents>& ends,
                  size_t at_once);

 private:
  static void RunBatch(const std::vector<CrashCase*>& batch,
                       const std::map<std::string, CrashBed::Contents>& ends);
  static void Prepare(const std::vector<CrashCase*>& batch);
  static void Kill(CrashCase& one);
  static void Repeat(CrashCase& one, const CrashBed::Contents& end);
  static void Dispose(const std::vector<CrashCase*>& batch);

  static std::unique_ptr<CrashBed> bed_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_CRASH_ENUMERATION_H_
