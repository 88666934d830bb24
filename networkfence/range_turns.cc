#include "networkfence/range_turns.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr std::chrono::milliseconds kPause{200};

}  // namespace

class RangeTurns::Turn {
 public:
  Turn(RangeTurns& turns, Places& places, std::string fsid,
       Places::iterator place)
      : turns_(turns), places_(places), fsid_(std::move(fsid)), place_(place) {}
  ~Turn() { turns_.Leave(*this); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  friend class RangeTurns;

  RangeTurns& turns_;
  Places& places_;  // of the cluster; there as long as somebody is in it
  const std::string fsid_;
  const Places::iterator place_;
};

std::optional<Cidr> FindOverlap(const std::vector<Cidr>& a,
                                const std::vector<Cidr>& b) {
  auto one = a.begin();
  auto other = b.begin();
  while (one != a.end() && other != b.end()) {
    if (one->Contains(*other) || other->Contains(*one)) return *one;
    *one < *other ? ++one : ++other;
  }
  return std::nullopt;
}

RangeTurns::TurnRef RangeTurns::Enter(const std::string& fsid,
                                      const std::vector<Cidr>& ranges) {
  Places place = {Merged(ranges)};
  MutexLock lock(mutex_);
  Places& places = places_[fsid];
  auto turn = std::make_shared<const Turn>(*this, places, fsid, place.begin());
  places.splice(places.end(), place);
  return turn;
}

std::optional<Cidr> RangeTurns::InTheWay(const Turn& turn) const {
  MutexLock lock(mutex_);
  for (auto before = turn.places_.begin(); before != turn.place_; ++before) {
    if (auto overlap = FindOverlap(*before, *turn.place_)) return overlap;
  }
  return std::nullopt;
}

void RangeTurns::Leave(const Turn& turn) {
  MutexLock lock(mutex_);
  turn.places_.erase(turn.place_);
  if (turn.places_.empty()) places_.erase(turn.fsid_);
}

absl::StatusOr<RangeTurns::TurnRef> RangeTurns::Await(
    OperationContext& context, const std::string& fsid,
    const std::vector<Cidr>& ranges) {
  auto& kept = context.memory().Of<TurnRef>();
  if (kept == nullptr) kept = Enter(fsid, ranges);
  const TurnRef turn = kept;
  while (const std::optional<Cidr> overlap = InTheWay(*turn)) {
    context.Step("waiting for a change of an overlapping range");
    context.SetPending(absl::AbortedError(
        absl::StrCat("another change of ", overlap->Text(),
                     ", or of a range that overlaps it, is not done yet; "
                     "repeat the call")));
    ADDONS_RETURN_IF_ERROR(context.LookAgainAfter(kPause));
  }
  context.SetPending(absl::OkStatus());
  context.memory().Forget<TurnRef>();
  return turn;
}

}  // namespace addons
