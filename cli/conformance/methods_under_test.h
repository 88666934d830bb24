#ifndef ADDONS_CLI_CONFORMANCE_METHODS_UNDER_TEST_H_
#define ADDONS_CLI_CONFORMANCE_METHODS_UNDER_TEST_H_

#include <string>
#include <vector>

#include "cli/conformance/case.h"

namespace addons {

/// A method that is about one object.
struct MethodUnderTest {
  std::string id;          // of its cases: "replication.promote"
  std::string name;        // "replication.Controller/PromoteVolume"
  std::string capability;  // as in Case
  /// The request about the object with this id.
  ServerUnderTest::Json (*about)(const std::string& object_id);
  /// Whether the object being gone means that the call has nothing to do.
  bool done_without_object = false;
  /// Whether the object is a volume.
  bool of_volume = true;
};

const std::vector<MethodUnderTest>& MethodsUnderTest();

/// The request of a method of replication about this volume.
ServerUnderTest::Json AboutVolume(const std::string& volume_id);

}  // namespace addons

#endif  // ADDONS_CLI_CONFORMANCE_METHODS_UNDER_TEST_H_
