#ifndef ADDONS_POINTS_STARTED_TESTS_H_
#define ADDONS_POINTS_STARTED_TESTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/pool.h"

namespace addons {

// Which test failovers (docs/points.md) there are is written down in the pool
// and namespace of their volumes before anything is made, so that whatever dies
// in between can be found and removed.

/// The omap object, which has one value for each volume that is tested, by the
/// uuid of that volume.
inline constexpr char kTestsObject[] = "rbd_addons.tests";

struct StartedTest {
  std::string uuid;       // of the test's own volume
  std::string volume_id;  // likewise, as this site gives it out
  std::string source;     // the id of the volume that is tested
  std::string source_image;
  std::string point;   // its name
  int64_t made = 0;    // when that was read where it was made, unix seconds
  int64_t began = 0;   // the test, by the daemon's host
  uint64_t bytes = 0;  // of the image
  /// All of the point is in it, and ceph-csi's journal has it. false: it is
  /// being made, or who made it has died.
  bool ready = false;

  /// No name that ceph-csi would give: nobody takes it for a volume's before it
  /// is ready.
  ImageName image() const { return ImageName("rbd-addons-test-" + uuid); }
  /// Its name in ceph-csi's journal, as if it were that of a PersistentVolume.
  std::string request_name() const { return "test-" + uuid; }
};

/// By the uuid of the volume that is tested. Empty: there is none, also where
/// the object is not there. UNIMPLEMENTED: a newer version wrote one. One read
/// for each thousand.
absl::StatusOr<std::map<std::string, StartedTest>> ReadTests(Pool& pool);

/// Of a test that is about to be made. ABORTED: there is one. `pool` is one of
/// the mutation connection.
absl::Status WriteTest(Pool& pool, const std::string& source_uuid,
                       const StartedTest& test);
/// The test can be used from now on. ABORTED: another daemon has removed it.
absl::Status MarkReady(Pool& pool, const std::string& source_uuid,
                       StartedTest* test);
/// Only this test. OK also where there is none, or another one.
absl::Status RemoveTest(Pool& pool, const std::string& source_uuid,
                        const StartedTest& test);

}  // namespace addons

#endif  // ADDONS_POINTS_STARTED_TESTS_H_
