#include "tests/faults/injector.h"

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

namespace addons::testing {
namespace {

/// Longer than any caller waits here, and than a lease is trusted.
constexpr std::chrono::seconds kHang{70};
/// A process that stands still (SIGSTOP, a node without memory) for less than
/// that. Another rbd-mirror can begin and copy meanwhile.
constexpr std::chrono::seconds kStandstill{50};

}  // namespace

Injector::Injector(FakeWorld& world, Position position, Fault fault)
    : world_(world), position_(std::move(position)), fault_(fault) {
  world_.SetCallHook(
      [this](absl::string_view site, absl::string_view call, bool) {
        return Before(site, call);
      },
      [this](absl::string_view, absl::string_view, bool) { return After(); },
      [this](absl::string_view site, absl::string_view call, bool) {
        return Within(site, call);
      });
}

Injector::~Injector() { world_.SetCallHook(nullptr); }

bool Injector::Here(absl::string_view site, absl::string_view call) {
  return (position_.site.empty() || site == position_.site) &&
         (position_.call.empty() || call == position_.call) &&
         ++seen_ == position_.occurrence;
}

void Injector::Die() {
  dead_ = true;
  throw FakeCrash();
}

void Injector::TellContext() {
  if (context_ == nullptr) return;  // this call has none: it cannot be told
  if (fault_.strike == Strike::kCancel) {
    context_->CancelAfter(SteadyDuration::zero());
  } else {
    context_->SetDeadline(SteadyDuration::zero());
  }
}

bool Injector::MayStart(absl::string_view site, absl::string_view thread) {
  if (fault_.strike != Strike::kNoThreads) return true;
  if (Here(site, ThreadCall(std::string(thread)))) {
    reached_ = no_threads_ = true;
  }
  return !no_threads_;
}

int Injector::Before(absl::string_view site, absl::string_view call) {
  if (dead_) {
    // Destructors may make calls, and may not throw.
    if (burying_ || std::uncaught_exceptions() > 0) return ESHUTDOWN;
    throw FakeCrash();
  }
  if (on_call_) on_call_(site, call);
  const bool own_thread = std::this_thread::get_id() == test_thread_;
  if (own_thread && to_tell_.exchange(false)) TellContext();
  if (fault_.strike == Strike::kDieWithin || !Here(site, call)) return 0;
  reached_ = true;
  switch (fault_.strike) {
    case Strike::kError:
      return fault_.error;
    case Strike::kHang:
      world_.Advance(kHang);
      return 0;
    case Strike::kPause:
      world_.Advance(kStandstill);
      if (on_call_) on_call_(site, call);  // much may be different by now
      return 0;
    case Strike::kDieBefore:
      Die();
    case Strike::kDieWithin:
      return 0;
    case Strike::kCallerLeaves:
    case Strike::kCancel:
      if (own_thread) {
        TellContext();
      } else {
        to_tell_ = true;
      }
      return 0;
    case Strike::kBlocklist:
      world_.site(site).BlocklistClients();
      return 0;
    case Strike::kThrow:
      throw std::bad_alloc();
    case Strike::kNoThreads:  // happens in MayStart()
      return 0;
    case Strike::kErrorAfter:
    case Strike::kDieAfter:
    case Strike::kThrowAfter:
      after_on_ = std::this_thread::get_id();
      return 0;
  }
  return 0;
}

int Injector::After() {
  auto here = std::this_thread::get_id();
  if (!after_on_.compare_exchange_strong(here, std::thread::id())) return 0;
  switch (fault_.strike) {
    case Strike::kErrorAfter:
      return fault_.error;
    case Strike::kDieAfter:
      Die();
    case Strike::kThrowAfter:
      throw std::bad_alloc();
    default:
      return 0;
  }
}

int Injector::Within(absl::string_view site, absl::string_view call) {
  if (fault_.strike != Strike::kDieWithin || dead_ || !Here(site, call)) {
    return 0;
  }
  reached_ = true;
  Die();
}

}  // namespace addons::testing
