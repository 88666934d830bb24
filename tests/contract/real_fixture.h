#ifndef ADDONS_TESTS_CONTRACT_REAL_FIXTURE_H_
#define ADDONS_TESTS_CONTRACT_REAL_FIXTURE_H_

// The fixture of real_backend_test: what only a real cluster can show of the
// backend, as how connections fail, what a hung daemon does, the blocklist, and
// the raw shape of omaps and watchers. What the interfaces promise in general
// is in *_contract.cc.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "ceph/cluster.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/pool.h"
#include "tests/cluster/real_bed.h"
#include "tests/testing/status_matchers.h"

namespace addons {

/// Clients of the bed of the process, with short timeouts. Without a value
/// where the cluster fails: that ends the program.
class RealTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<Cluster>> Connect(const std::string& site) {
    return cache_.Connect(testing::Bed().Target(site),
                          testing::Bed().User(site));
  }
  /// The pool of `site`. Ends the program when there is none.
  std::unique_ptr<Pool> OpenPool(Access access, const std::string& site = "a") {
    auto cluster = Connect(site).value();
    return cluster->OpenPool(testing::Bed().PoolId(site), "", access).value();
  }
  /// A name that no other test uses.
  static std::string Name(const std::string& what) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    static std::atomic<int> uses = 0;
    return absl::StrCat(what, "-", test->name(), "-", ++uses);
  }
  /// Makes an empty object.
  std::string MakeObject() {
    std::string object = Name("object");
    EXPECT_OK(testing::Bed().Run(
        "rados", {"a", "-p", testing::RealBed::kPool, "create", object}));
    return object;
  }
  std::string MakeImage(const std::string& suffix = "") {
    std::string image = Name("image") + suffix;
    EXPECT_OK(testing::Bed().Run(
        "rbd", {"a", "create", "--size", "16M",
                absl::StrCat(testing::RealBed::kPool, "/", image)}));
    return image;
  }
  std::unique_ptr<Image> OpenReadOnly(const std::string& name,
                                      const std::string& site = "a") {
    return OpenPool(Access::kRead, site)
        ->OpenImageReadOnly(ImageName(name))
        .value();
  }
  std::unique_ptr<Image> OpenWritable(const std::string& name,
                                      const std::string& site = "a") {
    return OpenPool(Access::kMutate, site)->OpenImage(ImageName(name)).value();
  }

  std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>(RealClock());
  ConnectionCache cache_{testing::ShortTimeouts(), RealClock(), gate_};
};

}  // namespace addons

#endif  // ADDONS_TESTS_CONTRACT_REAL_FIXTURE_H_
