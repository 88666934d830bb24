#ifndef ADDONS_HISTORY_EVENT_H_
#define ADDONS_HISTORY_EVENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace addons {

/// Something that happened to a volume or volume group: a call was answered, or
/// its role changed. Texts that do not apply are empty.
struct HistoryEvent {
  absl::Time time;
  /// The same happened `times` times, the last time then.
  absl::Time until;
  uint64_t times = 1;
  std::string object;  // the volume's or group's id
  std::string image;   // "pool/image", where it is known

  // Of a call.
  std::string verb;     // "promote by force"
  std::string user;     // the Ceph user who asked, without "client."
  std::string request;  // the id of the first of these calls, as the log has it
  std::string code;     // "OK", "UNAVAILABLE"
  // Of a change of the role, as in LogRoleChange().
  std::string from;
  std::string to;

  /// The message of the answer, or what changed the role.
  std::string text;
  std::string daemon;  // who wrote it: its --instance-id, or its host

  friend bool operator==(const HistoryEvent&, const HistoryEvent&) = default;
};

/// Longer texts are cut.
inline constexpr size_t kMostHistoryText = 1000;

/// Whether `later` says what `event` says, so that it only counts as one more.
/// Numbers in texts do not matter: ages and request ids differ each time.
bool SaysTheSame(const HistoryEvent& event, const HistoryEvent& later);

/// As JSON, in one line of valid UTF-8.
std::string WriteHistoryEvent(const HistoryEvent& event);
/// What it does not know in it, a newer daemon has written: it is ignored.
/// INVALID_ARGUMENT: no JSON object, or without its time.
absl::StatusOr<HistoryEvent> ParseHistoryEvent(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_HISTORY_EVENT_H_
