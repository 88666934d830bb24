#include "tests/chaos/applications.h"

#include <algorithm>
#include <chrono>
#include <future>

namespace addons::testing {

using std::chrono::minutes;

void ApplicationsTest::Make(uint64_t volumes, uint64_t members) {
  // With an interval, without one, in a namespace, with a data pool, in turn.
  const std::vector<std::pair<Parameters, std::vector<std::string>>> kinds = {
      {{{"schedulingInterval", "1m"}}, {}},
      {{{"schedulingInterval", "1h"}}, {"--namespace", RealBed::kNamespace}},
      {{}, {"--data-pool", "data"}},
  };
  std::vector<std::future<std::unique_ptr<Application>>> all;
  for (uint64_t i = 0; i < volumes; ++i) {
    all.push_back(
        std::async(std::launch::async, [this, kind = kinds[i % kinds.size()]] {
          auto made = std::make_unique<Application>();
          made->resource = Protect(kind.first, kind.second);
          made->images = {made->resource->volume};
          return made;
        }));
  }
  if (members > 0) {
    all.push_back(std::async(std::launch::async,
                             [&, this] { return MakeGroupOf(members); }));
  }
  for (auto& each : all) {
    applications_.push_back(each.get());
    applications_.back()->at = "a";
    Work(*applications_.back(), 0);
  }
}

std::unique_ptr<ApplicationsTest::Application> ApplicationsTest::MakeGroupOf(
    uint64_t members) {
  ProtectedGroup group = ProtectGroup(members);
  auto made = std::make_unique<Application>();
  made->resource = std::move(group.resource);
  made->images = std::move(group.members);
  return made;
}

std::vector<TestVolume> ApplicationsTest::Images() const {
  std::vector<TestVolume> images;
  for (const auto& each : applications_) {
    images.insert(images.end(), each->images.begin(), each->images.end());
  }
  return images;
}

std::vector<NamedDisk> ApplicationsTest::Open(const std::string& site,
                                              const Application& application,
                                              Disk::Mode mode) {
  std::vector<NamedDisk> disks;
  for (const TestVolume& image : application.images) {
    disks.push_back({image.image, OpenDisk(site, image, mode)});
  }
  return disks;
}

void ApplicationsTest::Work(Application& application, uint64_t last) {
  application.workload = std::make_unique<Workload>(
      Open(application.at, application, Disk::Mode::kWritable), last);
}

uint64_t ApplicationsTest::Rest(Application& application) {
  application.workload->Stop();
  EXPECT_EQ(application.workload->error(), 0)
      << application.name() << " at " << application.at;
  return application.workload->acknowledged();
}

std::pair<uint64_t, uint64_t> ApplicationsTest::Read(
    const std::string& site, const Application& application) {
  std::pair<uint64_t, uint64_t> numbers{UINT64_MAX, 0};
  for (const NamedDisk& disk : Open(site, application, Disk::Mode::kReadOnly)) {
    const Content content = ReadContent(disk);
    EXPECT_EQ(content.fault, "") << disk.image << " at " << site;
    numbers.first = std::min(numbers.first, content.newest);
    numbers.second = std::max(numbers.second, content.newest);
  }
  return numbers;
}

void ApplicationsTest::AtOnce(const Applications& applications,
                              const std::function<void(Application&)>& work) {
  std::vector<std::future<void>> running;
  for (Application* each : applications) {
    running.push_back(
        std::async(std::launch::async, [&work, each] { work(*each); }));
  }
  for (auto& each : running) each.get();
}

}  // namespace addons::testing
