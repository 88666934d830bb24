#ifndef ADDONS_CLI_PROGRESS_H_
#define ADDONS_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// How far something is.
struct Progress {
  uint64_t done = 0;
  uint64_t total = 0;  // 0: it is not counted

  /// Of an operation's step.
  static Progress Of(const ::rbdaddons::admin::v1::Operation& operation);
  /// Of the first "7 of 9 objects" in a message of the daemon.
  static Progress In(absl::string_view message);
};

/// How fast something goes on and when it ends, from what was seen of it in
/// the last minute.
class ProgressMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// It was so far at `now`. Another `what`, another total or less than before
  /// begins anew.
  void Note(const std::string& what, const Progress& progress, Time now);

  /// "45%, 12.0 MiB/s, about 2m10s left"; bytes are counted for `in_bytes`,
  /// else percents. Without what is not known yet; empty when nothing is.
  std::string Text(bool in_bytes) const;

 private:
  struct Sample {
    Time time;
    uint64_t done = 0;
  };
  /// Per second; nullopt before it has moved.
  std::optional<double> Rate() const;

  std::string what_;
  uint64_t total_ = 0;
  std::deque<Sample> samples_;
};

/// "1.5 GiB".
std::string BytesText(double bytes);

}  // namespace addons

#endif  // ADDONS_CLI_PROGRESS_H_
