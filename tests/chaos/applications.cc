#include "tests/chaos/applications.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "absl/strings/match.h"
#include "replication/look/local_record.h"

namespace addons::testing {

using std::chrono::minutes;

void ApplicationsTest::Make(uint64_t volumes, uint64_t members,
                            Clearing clearing) {
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
    applications_.back()->clearing = clearing;
    Work(*applications_.back(), 0);
  }
}

ApplicationsTest::Application& ApplicationsTest::MakeOne(
    const Parameters& parameters, const std::vector<std::string>& flags) {
  auto made = std::make_unique<Application>();
  made->resource = Protect(parameters, flags);
  made->images = {made->resource->volume};
  made->at = "a";
  Work(*made, 0);
  applications_.push_back(std::move(made));
  return *applications_.back();
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
      Open(application.at, application, Disk::Mode::kWritable), last,
      application.clearing);
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
    const Content content = ReadContent(disk, application.clearing);
    EXPECT_EQ(content.fault, "") << disk.image << " at " << site;
    numbers.first = std::min(numbers.first, content.newest);
    numbers.second = std::max(numbers.second, content.newest);
  }
  return numbers;
}

void ApplicationsTest::ExpectSame(const Application& application) {
  const auto here = Open("a", application, Disk::Mode::kReadOnly);
  const auto there = Open("b", application, Disk::Mode::kReadOnly);
  for (size_t i = 0; i < here.size(); ++i) {
    const Difference difference = CompareDisks(here[i], there[i]);
    EXPECT_EQ(difference.damaged, 0U)
        << here[i].image << ": " << difference.first_damage;
    not_cleared_ += difference.not_cleared;
    damaged_ += difference.damaged;
  }
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

void ApplicationsTest::ArriveByMove(Application& application,
                                    const std::string& to, uint64_t written,
                                    std::chrono::seconds limit) {
  Volume& resource = *application.resource;
  AwaitState(resource, to, Role::kPrimary, limit);
  EXPECT_FALSE(WasForced(resource, to)) << resource.logs.at(to)->Text();
  const auto [lowest, highest] = Read(to, application);
  EXPECT_EQ(lowest, written) << application.name() << " moved to " << to;
  EXPECT_EQ(highest, written) << application.name() << " moved to " << to;
  application.at = to;
  Work(application, highest);
}

void ApplicationsTest::SendState(const Applications& applications,
                                 const std::string& site) {
  AtOnce(applications, [&](Application& each) {
    each.whole = each.workload->acknowledged();
    for (const TestVolume& image : each.images) Synchronize(site, image);
  });
  // And one more that has perhaps arrived, perhaps in part, when the site dies.
  for (Application* each : applications) {
    for (const TestVolume& image : each->images) {
      Rbd(site, {"mirror", "image", "snapshot", ImageSpec(image)});
    }
  }
}

void ApplicationsTest::TakeOver(Application& application,
                                const std::string& site) {
  Volume& resource = *application.resource;
  const std::string to = Other(site);
  Create(resource, to, Role::kPrimary);
  AwaitState(resource, to, Role::kPrimary, minutes(40));
  EXPECT_TRUE(WasForced(resource, to)) << resource.logs.at(to)->Text();
  const auto [lowest, highest] = Read(to, application);
  EXPECT_GE(lowest, application.whole)
      << application.name() << " was taken over at " << to;
  EXPECT_LE(highest, application.workload->acknowledged());
  application.at = to;
  // The members of a group are not of one moment: each gets what it lacks of
  // the newest one's, so that the next number is new to all of them.
  for (const NamedDisk& disk : Open(to, application, Disk::Mode::kWritable)) {
    for (uint64_t number = lowest + 1; number <= highest; ++number) {
      EXPECT_EQ(WriteNumber(disk, number, application.clearing), 0);
    }
  }
  Work(application, highest);
}

void ApplicationsTest::AskForInfo(const std::string& site,
                                  const TestVolume& image) {
  EXPECT_TRUE(Eventually(
      [&] {
        ::replication::GetVolumeReplicationInfoResponse info;
        return Info(site, image, &info).ok() &&
               !absl::StrContains(Metadata(site, image, kLocalRecordKey),
                                  "first_copy_awaited");
      },
      minutes(3)))
      << image.image;
}

void ApplicationsTest::ExpectAllInStep() {
  Applications all;
  for (const auto& each : applications_) all.push_back(each.get());
  AtOnce(all, [&](Application& each) {
    const uint64_t written = Rest(each);
    for (const TestVolume& image : each.images) {
      ExpectFollowed(image, each.at);
      AskForInfo(each.at, image);
    }
    for (const std::string site : {"a", "b"}) {
      const auto [lowest, highest] = Read(site, each);
      EXPECT_EQ(lowest, written) << each.name() << " at " << site;
      EXPECT_EQ(highest, written) << each.name() << " at " << site;
    }
    ExpectSame(each);
    Work(each, written);
  });
  ExpectNothingLeft(Images());
}

}  // namespace addons::testing
