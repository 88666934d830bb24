#ifndef ADDONS_TESTS_TESTING_TEMP_DIR_H_
#define ADDONS_TESTS_TESTING_TEMP_DIR_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace addons::testing {

/// A folder of its own for one test, with a path short enough for sockets.
class TempDir {
 public:
  TempDir() : path_("/tmp/rbd-addons-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp failed";
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  /// Writes over the file in place.
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream file(File(name));
    file << text;
    file.close();
    EXPECT_TRUE(file.good()) << File(name);
  }
  void Remove(const std::string& name) const {
    EXPECT_TRUE(std::filesystem::remove(File(name)));
  }
  /// Empty when there is no such file.
  std::string Read(const std::string& name) const {
    std::ifstream file(File(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_TEMP_DIR_H_
