#include "ceph/pinned_options.h"

#include <cerrno>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/errors.h"

namespace addons {
namespace {

/// librbd's own cookies, of the exclusive lock.
constexpr char kAutomatic[] = "auto ";

constexpr char kHandLockPayload[] = "rbd-addons/lock-taken-by-hand";

std::string LockedBy(const std::vector<Locker>& lockers) {
  if (lockers.empty()) return "";
  const Locker& first = lockers.front();
  std::string text = absl::StrCat(
      first.client, " at ", first.address,
      lockers.size() == 1 ? ""
                          : absl::StrCat(" and ", lockers.size() - 1, " more"),
      " has its lock");
  // A lock that somebody took by hand is given up by nobody else.
  if (!absl::StartsWith(first.cookie, kAutomatic)) {
    absl::StrAppend(&text, " '", absl::CHexEscape(first.cookie),
                    "', which 'rbd lock rm' breaks");
  }
  return text;
}

}  // namespace

std::string LockTakenByHand(const std::vector<Locker>& lockers) {
  return lockers.empty() || absl::StartsWith(lockers.front().cookie, kAutomatic)
             ? ""
             : LockedBy(lockers);
}

std::string LockTakenByHand(const absl::Status& answer) {
  return std::string(
      answer.GetPayload(kHandLockPayload).value_or(absl::Cord()));
}

const std::vector<PinnedOption>& PinnedOptions() {
  static const auto* const options = new std::vector<PinnedOption>{
      // With any other value the lock of a dead client cannot be broken (EINVAL
      // up to Ceph 20, tracker 54613): no forced promotion works.
      {"rbd_blocklist_expire_seconds", "0"},
      // Otherwise who is taken for dead may write on.
      {"rbd_blocklist_on_break_lock", "true"},
      // Otherwise a lock that was asked for is given to whoever wants it, also
      // in the middle of bringing a content back.
      {"rbd_auto_exclusive_lock_until_manual_request", "true"},
      // How long a request to the lock's owner waits: bounds of ours stand on
      // it.
      {"rbd_request_timed_out_seconds", "30"},
      // A rescue image would stay, in the trash.
      {"rbd_move_to_trash_on_remove", "false"},
      // One that is not installed here makes each open ENOSYS.
      {"rbd_plugins", ""},
      // Of the images that we make: they are like the one that they are for.
      {"rbd_default_format", "2"},
      {"rbd_default_data_pool", ""},
      // A look would write.
      {"rbd_clone_copy_on_read", "false"},
      // A copy that is saved before a forced promotion must not take minutes:
      // rbd-mirror comes back meanwhile, and it begins anew.
      {"rbd_qos_iops_limit", "0"},
      {"rbd_qos_bps_limit", "0"},
      {"rbd_qos_read_iops_limit", "0"},
      {"rbd_qos_read_bps_limit", "0"},
      {"rbd_qos_write_iops_limit", "0"},
      {"rbd_qos_write_bps_limit", "0"},
      // Images are opened to look at them or to change their metadata.
      {"rbd_cache", "false"},
  };
  return *options;
}

std::vector<std::string> Overridden(
    const std::map<std::string, std::string>& metadata,
    const std::string& prefix) {
  std::vector<std::string> found;
  for (const PinnedOption& option : PinnedOptions()) {
    const auto set = metadata.find(prefix + option.name);
    if (set == metadata.end() || set->second == option.value) continue;
    found.push_back(absl::StrCat(option.name, "=",
                                 absl::CHexEscape(set->second.substr(0, 64))));
  }
  return found;
}

absl::Status OfChange(Image& image, absl::Status answer) {
  if (CephErrno(answer) != EROFS) return answer;
  std::string more;
  std::string by_hand;
  // Its owner would be ourselves, where something else was in the way.
  if (!image.HoldsLock().value_or(false)) {
    if (const auto lockers = image.Lockers(); lockers.ok()) {
      more = LockedBy(*lockers);
      if (!more.empty()) more.insert(0, "; ");
      by_hand = LockTakenByHand(*lockers);
    }
  }
  if (const auto metadata = image.ListMetadata(kImageOptionPrefix);
      metadata.ok()) {
    const auto overridden = Overridden(*metadata, kImageOptionPrefix);
    if (!overridden.empty()) {
      absl::StrAppend(&more, "; its own configuration has ",
                      absl::StrJoin(overridden, ", "),
                      ", which 'rbd config image remove' takes away");
    }
  }
  if (more.empty()) return answer;
  answer = Recode(answer, answer.code(), absl::StrCat(answer.message(), more));
  if (!by_hand.empty()) {
    answer.SetPayload(kHandLockPayload, absl::Cord(by_hand));
  }
  return answer;
}

}  // namespace addons
