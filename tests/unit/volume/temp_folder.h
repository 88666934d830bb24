#ifndef ADDONS_TESTS_UNIT_VOLUME_TEMP_FOLDER_H_
#define ADDONS_TESTS_UNIT_VOLUME_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace addons::testing {

/// A new folder that is removed with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "volume-XXXXXX";
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    EXPECT_NE(path_, "");
  }
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  /// Writes over the file in place.
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream file(File(name), std::ios::trunc);
    file << text;
    file.close();
    EXPECT_TRUE(file.good());
  }
  void Remove(const std::string& name) const {
    EXPECT_TRUE(std::filesystem::remove(File(name)));
  }

 private:
  std::string path_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_VOLUME_TEMP_FOLDER_H_
