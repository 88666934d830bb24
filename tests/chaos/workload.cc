#include "tests/chaos/workload.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace addons::testing {
namespace {

/// Fifteen workloads at once must leave the machine time for two clusters.
constexpr std::chrono::milliseconds kPause{100};

int ChangePlace(const NamedDisk& disk, uint64_t number) {
  const uint64_t at = PlaceOffset(disk.disk->size(), number % kSlots);
  switch (ChangeOf(number)) {
    case Change::kNone:
      return 0;
    case Change::kWritten:
      return disk.disk->Write(at, MakeBlock(disk.image, number));
    case Change::kCleared:
      // Both ways for the last place of an object, and for those before it.
      return number / 2 % 2 == 0 ? disk.disk->Discard(at, kPlaceBytes)
                                 : disk.disk->WriteZeroes(at, kPlaceBytes);
  }
  return 0;
}

}  // namespace

int WriteNumber(const NamedDisk& disk, uint64_t number, Clearing clearing) {
  if (clearing == Clearing::kYes) {
    if (const int result = ChangePlace(disk, number); result < 0) return result;
  }
  return disk.disk->Write(SlotOffset(disk.disk->size(), number % kSlots),
                          MakeBlock(disk.image, number));
}

Workload::Workload(std::vector<NamedDisk> disks, uint64_t last,
                   Clearing clearing)
    : disks_(std::move(disks)), clearing_(clearing), acknowledged_(last) {
  writer_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Workload::Run(const std::stop_token& stop) {
  for (uint64_t number = acknowledged_ + 1; !stop.stop_requested(); ++number) {
    for (const NamedDisk& each : disks_) {
      const int result = WriteNumber(each, number, clearing_);
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

Content ReadContent(const NamedDisk& disk, Clearing clearing) {
  if (disk.disk->result() < 0) {
    return {.fault =
                absl::StrCat("it cannot be opened: ", disk.disk->result())};
  }
  const uint64_t bytes = disk.disk->size();
  std::vector<std::string> blocks;
  std::vector<std::string> places;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    blocks.push_back(disk.disk->Read(SlotOffset(bytes, slot), kBlockBytes));
    if (clearing == Clearing::kNo) continue;
    places.push_back(disk.disk->Read(PlaceOffset(bytes, slot), kBlockBytes));
  }
  return JudgeContent(disk.image, blocks, places);
}

Difference CompareDisks(const NamedDisk& one, const NamedDisk& other) {
  constexpr uint64_t kAtATime = uint64_t{4} << 20;
  Difference difference;
  const uint64_t bytes = one.disk->size();
  if (bytes == 0 || bytes != other.disk->size()) {
    return {.damaged = 1,
            .first_damage = absl::StrCat(bytes, " bytes at one site, ",
                                         other.disk->size(), " at the other")};
  }
  for (uint64_t at = 0; at < bytes; at += kAtATime) {
    const std::string here = one.disk->Read(at, kAtATime);
    const std::string there = other.disk->Read(at, kAtATime);
    if (here.size() != kAtATime || there.size() != kAtATime) {
      ++difference.damaged;
      difference.first_damage = absl::StrCat("it cannot be read at ", at);
      return difference;
    }
    Compare(one.image, bytes, at, here, there, difference);
  }
  return difference;
}

}  // namespace addons::testing
