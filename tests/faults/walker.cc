#include "tests/faults/walker.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"

namespace addons::testing {
namespace {

constexpr char kDied[] = "the daemon died";

unsigned long Number(const char* name, unsigned long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

/// Without the names of the image, which is the same all the time.
std::string Short(const absl::Status& status) {
  const std::string text = status.ToString();
  const size_t names = text.find("'): ");
  if (names == std::string::npos) return text;
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ",
                      text.substr(names + 4));
}

}  // namespace

Walker::~Walker() {
  const char* const path = std::getenv("RBD_ADDONS_WALK_STORIES");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app)
      << "walk " << seed_ << "\n  " << story() << "\n";
}

std::string Walker::story() const { return absl::StrJoin(story_, "\n  "); }

size_t Walker::Pick(size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
}

void Walker::Note(const std::string& text) {
  if (story_.empty() || story_.back() != text) story_.push_back(text);
}

void Walker::Wrong(const std::string& text) {
  Note("WRONG: " + text);
  wrong_.push_back(text);
}

std::optional<Fault> Walker::AnyFault() {
  static const std::vector<Fault> faults = {{Strike::kDieBefore},
                                            {Strike::kDieAfter},
                                            {Strike::kDieAfter},
                                            {Strike::kError, EIO},
                                            {Strike::kError, ETIMEDOUT},
                                            {Strike::kErrorAfter, ETIMEDOUT},
                                            {Strike::kBlocklist},
                                            {Strike::kHang},
                                            {Strike::kCallerLeaves},
                                            {Strike::kThrow},
                                            {Strike::kDieWithin},
                                            {Strike::kPause},
                                            {Strike::kPause}};
  if (calm_ || Pick(2) == 0) return std::nullopt;
  return faults[Pick(faults.size())];
}

Position Walker::AnyPosition(FakeSite& site, const Fault& fault) {
  constexpr char kPromote[] = "rbd_mirror_image_promote";
  constexpr char kDemote[] = "rbd_mirror_image_demote";
  if (fault.strike == Strike::kDieWithin) return {site.name(), "", 1};
  if (fault.strike == Strike::kPause && Pick(2) == 0) {
    return {site.name(), Pick(3) == 0 ? kDemote : kPromote, 1};
  }
  return {site.name(), "", 1 + static_cast<int>(Pick(80))};
}

absl::Status Walker::Make(FakeSite& site, const std::string& verb) {
  if (group_) {
    if (verb == "Promote") return rig_.PromoteMembers(site, Force::kNo);
    if (verb == "Promote by force") {
      return rig_.PromoteMembers(site, Force::kYes);
    }
    if (verb == "Demote") return rig_.DemoteMembers(site);
    if (verb == "Resync by force") {
      return rig_.ResyncMembers(site, Force::kYes);
    }
    return absl::UnimplementedError(verb);
  }
  if (verb == "Promote") return rig_.Promote(site, Force::kNo);
  if (verb == "Promote by force") return rig_.Promote(site, Force::kYes);
  if (verb == "Demote") return rig_.Demote(site);
  if (verb == "Resync") return rig_.Resync(site, Force::kNo);
  if (verb == "Resync by force") return rig_.Resync(site, Force::kYes);
  if (verb == "Enable") return rig_.Enable(site);
  if (verb == "Disable") return rig_.Disable(site);
  return absl::UnimplementedError(verb);
}

absl::Status Walker::Call(FakeSite& site, const std::string& verb,
                          const Fault* fault) {
  std::unique_ptr<Injector> injector;
  if (fault != nullptr) {
    injector = std::make_unique<Injector>(rig_.world_,
                                          AnyPosition(site, *fault), *fault);
  } else if (on_ceph_call_) {
    injector = std::make_unique<Injector>(
        rig_.world_, Position{site.name(), "", 0}, Fault{});
  }
  if (injector != nullptr) {
    injector->OnCall(on_ceph_call_);
    rig_.SetInjector(injector.get());
  }
  absl::Status status = absl::AbortedError(kDied);
  try {
    status = Make(site, verb);
  } catch (const FakeCrash&) {
  }
  std::string struck;
  if (injector != nullptr) {
    if (injector->reached() && fault != nullptr) {
      ++struck_;
      struck = " struck by " + Name(*fault);
    }
    if (injector->dead()) {
      // It has told nobody anything.
      status = absl::AbortedError(kDied);
      rig_.Restart(site);
    }
    rig_.SetInjector(nullptr);
    // A caller who has left hears nothing.
    if (status.ok() && injector->reached() && fault != nullptr &&
        fault->strike == Strike::kCallerLeaves) {
      status = absl::CancelledError("nobody heard it");
    }
  }
  Note(absl::StrCat(verb, " ", site.name(), struck, ": ",
                    status.ok() ? "OK" : Short(status)));
  return status;
}

bool Walker::Until(const std::function<absl::Status()>& call) {
  bool ended = false;
  for (int times = 0; times < 40 && !ended; ++times) {
    // A daemon that dies begins anew with what it has to watch for minutes.
    calm_ = times >= 20;
    const absl::Status status = call();
    ended = status.ok();
    // A dead daemon is started again and asked by a sidecar that is impatient.
    const std::chrono::seconds pause(status.message() == kDied ? 5 : 20);
    if (!ended) rig_.world_.Advance(pause);
  }
  calm_ = false;
  return ended;
}

unsigned long TakeWalks(unsigned long otherwise,
                        const std::function<void(unsigned long seed)>& walk) {
  const unsigned long first =
      Number("RBD_ADDONS_WALK_SEED", std::random_device()());
  const unsigned long walks = Number("RBD_ADDONS_WALKS", otherwise);
  std::printf("RBD_ADDONS_WALK_SEED=%lu\n", first);
  const auto level = Log().level();
  Log().set_level(LogLevel::kOff);
  for (unsigned long seed = first; seed < first + walks; ++seed) {
    walk(seed);
    if (::testing::Test::HasFatalFailure()) break;
  }
  Log().set_level(level);
  return walks;
}

}  // namespace addons::testing
