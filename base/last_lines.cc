#include "base/last_lines.h"

#include <exception>
#include <utility>

namespace addons {
namespace {

constexpr char kCut[] = "...\n";

}  // namespace

void LastLines::Keep(absl::string_view line) noexcept {
  const MutexLock lock(mutex_);
  try {
    std::string kept(line.substr(0, bounds_.line_bytes));
    if (kept.size() < line.size()) kept += kCut;
    bytes_ += kept.size();
    lines_.push_back(std::move(kept));
  } catch (const std::exception&) {  // no memory
    return;
  }
  while (lines_.size() > bounds_.lines || bytes_ > bounds_.bytes) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

void LastLines::Clear() {
  const MutexLock lock(mutex_);
  lines_.clear();
  bytes_ = 0;
}

std::string LastLines::Text() const {
  const MutexLock lock(mutex_);
  std::string text;
  text.reserve(bytes_);
  for (const std::string& line : lines_) text += line;
  return text;
}

}  // namespace addons
