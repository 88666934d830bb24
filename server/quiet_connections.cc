#include "server/quiet_connections.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

/// RFC 9113, section 3.4: what each client sends first.
constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class Speech { kNothingYet, kHttp2, kForeign, kGone };

/// Looks at what has come, and leaves it there.
Speech SpeechOf(int connection) {
  std::array<char, kPreface.size()> buffer{};
  const ssize_t seen =
      recv(connection, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
  if (seen == 0) return Speech::kGone;
  if (seen < 0) {
    return errno == EAGAIN || errno == EINTR ? Speech::kNothingYet
                                             : Speech::kGone;
  }
  const auto size = static_cast<size_t>(seen);
  if (absl::string_view(buffer.data(), size) != kPreface.substr(0, size)) {
    return Speech::kForeign;
  }
  return size == kPreface.size() ? Speech::kHttp2 : Speech::kNothingYet;
}

}  // namespace

absl::StatusOr<QuietConnections> QuietConnections::Make(
    std::chrono::milliseconds patience) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) {
    return absl::InternalError(
        absl::StrCat("Failed to make an epoll instance: errno ", errno));
  }
  return QuietConnections(std::move(epoll), patience);
}

bool QuietConnections::Add(UniqueFd connection, SteadyTime now) {
  epoll_event event{};
  // Each time that more comes, and only then: what came stays unread.
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.u64 = next_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0) {
    return false;
  }
  waiting_.emplace(next_++, Waiting{std::move(connection), now + patience_});
  return true;
}

QuietConnections::Heard QuietConnections::Listen(size_t most) {
  constexpr size_t kAtOnce = 64;
  std::array<epoll_event, kAtOnce> events{};
  const int count =
      epoll_wait(epoll_.get(), events.data(),
                 static_cast<int>(std::min(most, events.size())), 0);
  Heard heard;
  for (int i = 0; i < count; ++i) {
    // An epoll_event is packed: its fields are copied, not referred to.
    const uint64_t number = events.at(static_cast<size_t>(i)).data.u64;
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) continue;
    UniqueFd& connection = found->second.connection;
    const Speech speech = SpeechOf(connection.get());
    if (speech == Speech::kNothingYet) continue;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.get(), nullptr);
    if (speech == Speech::kHttp2) {
      heard.speaking.push_back(std::move(connection));
    } else if (speech == Speech::kForeign) {
      ++heard.foreign;
    }
    waiting_.erase(found);
  }
  return heard;
}

size_t QuietConnections::CloseOverdue(SteadyTime now) {
  size_t closed = 0;
  while (!waiting_.empty() && waiting_.begin()->second.until <= now) {
    waiting_.erase(waiting_.begin());
    ++closed;
  }
  return closed;
}

std::optional<SteadyTime> QuietConnections::next_deadline() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second.until;
}

}  // namespace addons
