#ifndef ADDONS_SERVER_SERVED_CONNECTIONS_H_
#define ADDONS_SERVER_SERVED_CONNECTIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace addons {

/// The connections that gRPC was given, and whether their clients read what
/// they are sent: gRPC keeps every answer for a client that does not, for ever.
/// gRPC owns their descriptors and tells nobody when it closes one, so each is
/// known by its socket's inode, too. For one thread.
class ServedConnections {
 public:
  /// Of a connected socket that is about to be given away.
  void Add(int connection, SteadyTime now);

  struct Seen {
    size_t cut = 0;   // cut off now
    bool all = true;  // else the next Look() goes on where this one has ended
  };
  /// Looks at each, and cuts those off that have read nothing of a full buffer
  /// for `patience`. gRPC then ends their calls, on threads that others need,
  /// too: so it ends when it has cut off `most`. Does not block; some
  /// microseconds for each connection.
  Seen Look(SteadyTime now, SteadyDuration patience, size_t most);

  size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    int descriptor = -1;  // not owned
    ino_t inode = 0;      // it is this connection's as long as it has that
    int unread = 0;       // bytes that the client had not read, when seen last
    SteadyTime since;     // when that was another number
  };
  enum class State { kGone, kStays, kCut };
  static State LookAt(Connection& connection, SteadyTime now,
                      SteadyDuration patience);

  std::vector<Connection> connections_;
  size_t next_ = 0;  // to be looked at
};

}  // namespace addons

#endif  // ADDONS_SERVER_SERVED_CONNECTIONS_H_
