#ifndef ADDONS_SERVER_QUIET_CONNECTIONS_H_
#define ADDONS_SERVER_QUIET_CONNECTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/unique_fd.h"

namespace addons {

/// Connections that have not said yet that they speak HTTP/2. Every client of
/// gRPC says so at once, with the same 24 bytes; a connection that was handed
/// to gRPC's server without them would stay there for ever, because gRPC bounds
/// the beginning of connections that it has accepted itself, and no others.
/// Nothing is read here: gRPC finds all of it. For one thread.
class QuietConnections {
 public:
  struct Heard {
    std::vector<UniqueFd> speaking;  // HTTP/2
    size_t foreign = 0;              // said something else; closed
  };

  /// Each may be silent for `patience`. INTERNAL: no descriptor is left.
  static absl::StatusOr<QuietConnections> Make(
      std::chrono::milliseconds patience);

  /// To poll: readable when Listen() has something to say.
  int descriptor() const { return epoll_.get(); }

  /// Takes a non-blocking connection. False: the system refuses, and it is
  /// closed.
  bool Add(UniqueFd connection, SteadyTime now);
  /// Those that have spoken since the last time, at most `most` of them. Does
  /// not block. Those that went away in silence are closed.
  Heard Listen(size_t most);
  /// Closes those that were silent for too long. How many.
  size_t CloseOverdue(SteadyTime now);

  /// When CloseOverdue() has something to do next.
  std::optional<SteadyTime> next_deadline() const;
  size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    UniqueFd connection;
    SteadyTime until;
  };

  QuietConnections(UniqueFd epoll, std::chrono::milliseconds patience)
      : epoll_(std::move(epoll)), patience_(patience) {}

  UniqueFd epoll_;
  std::chrono::milliseconds patience_;
  uint64_t next_ = 1;
  std::map<uint64_t, Waiting> waiting_;  // the oldest first
};

}  // namespace addons

#endif  // ADDONS_SERVER_QUIET_CONNECTIONS_H_
