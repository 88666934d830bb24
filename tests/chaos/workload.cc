#include "tests/chaos/workload.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace addons::testing {
namespace {

/// Fifteen workloads at once must leave the machine time for two clusters.
constexpr std::chrono::milliseconds kPause{100};

uint64_t OffsetOf(const Disk& disk, size_t slot) {
  return slot * (disk.size() / kSlots);
}

}  // namespace

Workload::Workload(std::vector<NamedDisk> disks, uint64_t last)
    : disks_(std::move(disks)), acknowledged_(last) {
  writer_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Workload::Run(const std::stop_token& stop) {
  for (uint64_t number = acknowledged_ + 1; !stop.stop_requested(); ++number) {
    for (const NamedDisk& each : disks_) {
      const int result = each.disk->Write(OffsetOf(*each.disk, number % kSlots),
                                          MakeBlock(each.image, number));
      if (result < 0) {
        error_ = result;
        return;
      }
    }
    acknowledged_ = number;
    std::this_thread::sleep_for(kPause);
  }
}

void Workload::Stop() {
  writer_.request_stop();
  if (writer_.joinable()) writer_.join();
  disks_.clear();
}

Content ReadContent(const NamedDisk& disk) {
  if (disk.disk->result() < 0) {
    return {0, absl::StrCat("it cannot be opened: ", disk.disk->result())};
  }
  std::vector<std::string> blocks;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    blocks.push_back(disk.disk->Read(OffsetOf(*disk.disk, slot), kBlockBytes));
  }
  return JudgeContent(disk.image, blocks);
}

}  // namespace addons::testing
