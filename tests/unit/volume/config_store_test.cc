#include "volume/config_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kMapping[] =
    R"([{"clusterIDMapping": {"a": "b"}, "RBDPoolIDMapping": [{"1": "2"}]}])";

std::string ConfigWith(const std::string& cluster_id) {
  return R"([{"clusterID": ")" + cluster_id + R"(", "monitors": ["m"]}])";
}

class ConfigStoreTest : public ::testing::Test {
 protected:
  ConfigStoreTest() : former_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~ConfigStoreTest() override { spdlog::set_default_logger(former_); }

  std::vector<std::string> LogLines() {
    std::vector<std::string> lines;
    std::istringstream text(log_.str());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  void ClearLog() { log_.str(""); }

  /// The first cluster id of the current view.
  std::string Current() {
    const auto config = store_.Current();
    EXPECT_OK(config);
    if (!config.ok() || (*config)->entries().empty()) return "";
    return (*config)->entries().front().cluster_id.text();
  }
  std::vector<std::pair<ClusterId, int64_t>> Mapped() {
    const auto config = store_.Current();
    EXPECT_OK(config);
    if (!config.ok()) return {};
    return (*config)->Mapped(ClusterId("a"), 1);
  }

  TempDir folder_;
  ConfigStore store_{folder_.path()};

 private:
  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> former_;
};

TEST_F(ConfigStoreTest, ServesTheFolder) {
  folder_.Write("config.json", ConfigWith("a"));
  folder_.Write("cluster-mapping.json", kMapping);
  EXPECT_EQ(Current(), "a");
  EXPECT_THAT(Mapped(), ElementsAre(Pair(ClusterId("b"), 2)));
  EXPECT_THAT(LogLines(), IsEmpty());
}

TEST_F(ConfigStoreTest, IsUnavailableWithoutAConfigurationNamingTheFile) {
  EXPECT_THAT(store_.Current(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat(
                                 "there is no '", folder_.File("config.json"))),
                             HasSubstr("No such file"),
                             HasSubstr("write the clusters of this site"))));
  EXPECT_THAT(LogLines(), ElementsAre(HasSubstr("write the clusters of this")));
}

TEST_F(ConfigStoreTest, IsUnavailableWithAnUnreadableConfigurationOnly) {
  folder_.Write("config.json", "[{");
  EXPECT_THAT(store_.Current(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("config.json: ")));
}

TEST_F(ConfigStoreTest, RecoversWhenTheFirstConfigurationArrives) {
  EXPECT_THAT(store_.Current(), StatusIs(absl::StatusCode::kUnavailable));
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(Current(), "a");
}

TEST_F(ConfigStoreTest, MissingMappingMeansNone) {
  folder_.Write("config.json", ConfigWith("a"));
  const auto config = store_.Current();
  ASSERT_OK(config);
  EXPECT_THAT((*config)->Mapped(ClusterId("a"), 1), IsEmpty());
  EXPECT_EQ((*config)->mapping_problem(), "");
  EXPECT_THAT(LogLines(), IsEmpty());
}

TEST_F(ConfigStoreTest, ReturnsTheSameViewWhileNothingChanges) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(store_.Current()->get(), store_.Current()->get());
}

TEST_F(ConfigStoreTest, SeesAFileWrittenInPlace) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(Current(), "a");
  // The same length at once: a coarse file time does not show it.
  folder_.Write("config.json", ConfigWith("b"));
  EXPECT_EQ(Current(), "b");
}

TEST_F(ConfigStoreTest, SeesAFileReplacedByRename) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(Current(), "a");
  folder_.Write("new", ConfigWith("b"));
  std::filesystem::rename(folder_.File("new"), folder_.File("config.json"));
  EXPECT_EQ(Current(), "b");
}

TEST_F(ConfigStoreTest, SeesTheSwapOfAConfigMap) {
  // As the kubelet lays it out: config.json -> ..data/config.json, ..data ->
  // v1.
  const auto make_version = [&](const std::string& version,
                                const std::string& text) {
    std::filesystem::create_directory(folder_.File(version));
    folder_.Write(version + "/config.json", text);
  };
  make_version("v1", ConfigWith("a"));
  std::filesystem::create_symlink("v1", folder_.File("..data"));
  std::filesystem::create_symlink("..data/config.json",
                                  folder_.File("config.json"));
  EXPECT_EQ(Current(), "a");

  make_version("v2", ConfigWith("b"));
  std::filesystem::create_symlink("v2", folder_.File("..data_tmp"));
  std::filesystem::rename(folder_.File("..data_tmp"), folder_.File("..data"));
  EXPECT_EQ(Current(), "b");
}

TEST_F(ConfigStoreTest, SeesAMappingThatArrivesLater) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_THAT(Mapped(), IsEmpty());
  folder_.Write("cluster-mapping.json", kMapping);
  EXPECT_THAT(Mapped(), ElementsAre(Pair(ClusterId("b"), 2)));
}

TEST_F(ConfigStoreTest, AHalfWrittenFileKeepsTheLastGoodViewAndWarnsOnce) {
  folder_.Write("config.json", ConfigWith("a"));
  const auto good = store_.Current();
  folder_.Write("config.json", ConfigWith("b").substr(0, 12));
  EXPECT_EQ(store_.Current()->get(), good->get());
  EXPECT_EQ(store_.Current()->get(), good->get());
  EXPECT_THAT(LogLines(),
              ElementsAre(AllOf(HasSubstr("config.json"),
                                HasSubstr("what was read before stays"))));
}

TEST_F(ConfigStoreTest, WarnsAgainWhenTheFileIsChangedAndStillBroken) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(Current(), "a");
  folder_.Write("config.json", "[{");
  EXPECT_EQ(Current(), "a");
  ClearLog();
  folder_.Write("config.json", "[{[{");
  EXPECT_EQ(Current(), "a");
  EXPECT_EQ(LogLines().size(), 1U);
}

TEST_F(ConfigStoreTest, RecoversFromAHalfWrittenFile) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(Current(), "a");
  folder_.Write("config.json", "");
  EXPECT_EQ(Current(), "a");
  folder_.Write("config.json", ConfigWith("b"));
  EXPECT_EQ(Current(), "b");
}

TEST_F(ConfigStoreTest, ARemovedConfigurationKeepsTheLastGoodViewAndWarnsOnce) {
  folder_.Write("config.json", ConfigWith("a"));
  folder_.Write("cluster-mapping.json", kMapping);
  EXPECT_EQ(Current(), "a");
  folder_.Remove("config.json");
  folder_.Remove("cluster-mapping.json");
  EXPECT_EQ(Current(), "a");
  EXPECT_THAT(Mapped(), ElementsAre(Pair(ClusterId("b"), 2)));
  EXPECT_THAT(LogLines(), ElementsAre(AllOf(HasSubstr("config.json"),
                                            HasSubstr("No such file"))));
}

TEST_F(ConfigStoreTest, ARemovedMappingIsNoMappingAndIsLogged) {
  folder_.Write("config.json", ConfigWith("a"));
  folder_.Write("cluster-mapping.json", kMapping);
  EXPECT_THAT(Mapped(), ElementsAre(Pair(ClusterId("b"), 2)));
  folder_.Remove("cluster-mapping.json");
  EXPECT_THAT(Mapped(), IsEmpty());
  EXPECT_THAT(Mapped(), IsEmpty());
  EXPECT_THAT(LogLines(), ElementsAre(HasSubstr("was removed")));
}

TEST_F(ConfigStoreTest,
       ABrokenMappingKeepsTheLastGoodOneBesideANewConfiguration) {
  folder_.Write("config.json", ConfigWith("a"));
  folder_.Write("cluster-mapping.json", kMapping);
  EXPECT_EQ(Current(), "a");
  folder_.Write("cluster-mapping.json", "");
  folder_.Write("config.json", ConfigWith("b"));
  EXPECT_EQ(Current(), "b");
  EXPECT_THAT(Mapped(), ElementsAre(Pair(ClusterId("b"), 2)));
}

TEST_F(ConfigStoreTest, AMappingThatWasNeverReadableIsUnknown) {
  folder_.Write("config.json", ConfigWith("a"));
  folder_.Write("cluster-mapping.json", "[{");
  const auto config = store_.Current();
  ASSERT_OK(config);
  EXPECT_OK((*config)->Find(ClusterId("a")));
  EXPECT_THAT((*config)->mapping_problem(), HasSubstr("cluster-mapping.json"));

  folder_.Write("cluster-mapping.json", kMapping);
  EXPECT_EQ((*store_.Current())->mapping_problem(), "");
}

TEST_F(ConfigStoreTest, WarnsAboutABrokenEntryOnce) {
  folder_.Write(
      "config.json",
      R"([{"clusterID": "bad"}, {"clusterID": "a", "monitors": ["m"]}])");
  EXPECT_EQ(Current(), "a");
  EXPECT_EQ(Current(), "a");
  EXPECT_THAT(LogLines(),
              ElementsAre(AllOf(HasSubstr("entry 1"), HasSubstr("bad"))));
}

TEST_F(ConfigStoreTest, DoesNotHangOnANamedPipe) {
  ASSERT_EQ(::mkfifo(folder_.File("config.json").c_str(), 0600), 0);
  EXPECT_THAT(store_.Current(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ConfigStoreTest, AFolderInItsPlaceIsNoConfiguration) {
  std::filesystem::create_directory(folder_.File("config.json"));
  EXPECT_THAT(store_.Current(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("Is a directory")));
}

TEST_F(ConfigStoreTest, ServesManyThreadsWhileTheFilesChange) {
  folder_.Write("config.json", ConfigWith("a"));
  EXPECT_EQ(Current(), "a");
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto config = store_.Current();
        if (!config.ok() || (*config)->entries().size() != 1) ++failures;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    folder_.Write("new", i % 5 == 0 ? "[{" : ConfigWith(std::to_string(i)));
    std::filesystem::rename(folder_.File("new"), folder_.File("config.json"));
  }
  stop = true;
  readers.clear();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Current(), "49");
}

}  // namespace
}  // namespace addons
