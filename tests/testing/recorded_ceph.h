#ifndef ADDONS_TESTS_TESTING_RECORDED_CEPH_H_
#define ADDONS_TESTS_TESTING_RECORDED_CEPH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace addons::testing {

// What released versions of Ceph answered: tests/fixtures/ceph/<release>/...,
// written by scripts/record-fixtures.sh. Targets that use this define
// ADDONS_CEPH_FIXTURES.

/// "16.2.15", ...
inline std::vector<std::string> RecordedReleases() {
  std::vector<std::string> releases;
  for (const auto& entry :
       std::filesystem::directory_iterator(ADDONS_CEPH_FIXTURES)) {
    releases.push_back(entry.path().filename().string());
  }
  std::sort(releases.begin(), releases.end());
  return releases;
}

/// An empty string and a failed test when it is missing.
inline std::string Recorded(const std::string& release,
                            const std::string& file) {
  const std::filesystem::path path =
      std::filesystem::path(ADDONS_CEPH_FIXTURES) / release / file;
  std::ifstream stream(path);
  EXPECT_TRUE(stream.good()) << path << " was not recorded";
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// As the second part of a test's name.
inline std::string ReleaseName(
    const ::testing::TestParamInfo<std::string>& info) {
  std::string name = "Ceph" + info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_RECORDED_CEPH_H_
