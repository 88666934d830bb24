#include "cli/progress.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace addons {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

/// A rate is that of the last minute.
constexpr seconds kWindow{60};
constexpr double kPercent = 100;

/// The number that ends where `text` ends.
std::optional<uint64_t> NumberAtEnd(absl::string_view text) {
  size_t begin = text.size();
  while (begin > 0 &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[begin - 1]))) {
    --begin;
  }
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(begin), &number)) return std::nullopt;
  return number;
}

}  // namespace

Progress Progress::Of(const ::rbdaddons::admin::v1::Operation& operation) {
  return {operation.done(), operation.total()};
}

Progress Progress::In(absl::string_view message) {
  const size_t end = message.find(" objects");
  if (end == absl::string_view::npos) return {};
  const absl::string_view numbers = message.substr(0, end);
  const size_t of = numbers.rfind(" of ");
  if (of == absl::string_view::npos) return {};
  const auto done = NumberAtEnd(numbers.substr(0, of));
  const auto total = NumberAtEnd(numbers);
  if (!done || !total) return {};
  return {*done, *total};
}

void ProgressMeter::Note(const std::string& what, const Progress& progress,
                         Time now) {
  const bool anew = what != what_ || progress.total != total_ ||
                    (!samples_.empty() && progress.done < samples_.back().done);
  if (anew) samples_.clear();
  what_ = what;
  total_ = progress.total;
  if (total_ == 0) return;
  samples_.push_back({now, std::min(progress.done, total_)});
  while (samples_.size() > 2 && now - samples_.front().time > kWindow) {
    samples_.pop_front();
  }
}

std::optional<double> ProgressMeter::Rate() const {
  if (samples_.empty()) return std::nullopt;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  const double time = duration<double>(last.time - first.time).count();
  if (last.done <= first.done || time <= 0) return std::nullopt;
  return static_cast<double>(last.done - first.done) / time;
}

std::string ProgressMeter::Text(bool in_bytes) const {
  if (samples_.empty()) return "";
  const auto total = static_cast<double>(total_);
  const auto done = static_cast<double>(samples_.back().done);
  std::string text =
      absl::StrCat(static_cast<int>(done / total * kPercent), "%");
  if (in_bytes) absl::StrAppend(&text, " of ", BytesText(total));
  const std::optional<double> rate = Rate();
  if (!rate) return text;
  if (in_bytes) {
    absl::StrAppend(&text, ", ", BytesText(*rate), "/s");
  } else {
    absl::StrAppendFormat(&text, ", %.1f%% a minute",
                          *rate * 60 / total * kPercent);
  }
  const absl::Duration left =
      absl::Ceil(absl::Seconds((total - done) / *rate), absl::Seconds(1));
  if (left > absl::ZeroDuration()) {
    absl::StrAppend(&text, ", about ", absl::FormatDuration(left), " left");
  }
  return text;
}

std::string BytesText(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB",
                                                 "TiB"};
  constexpr double kStep = 1024;
  size_t unit = 0;
  while (bytes >= kStep && unit + 1 < kUnits.size()) {
    bytes /= kStep;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%.0f B", bytes)
                   : absl::StrFormat("%.1f %s", bytes, kUnits.at(unit));
}

}  // namespace addons
