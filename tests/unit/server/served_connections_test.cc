#include "server/served_connections.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kPatience(10);

/// Its server's end has been sent all that the kernel takes, or nothing.
struct Client {
  explicit Client(bool full) {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()),
              0);
    served = UniqueFd(pair[0]);
    own = UniqueFd(pair[1]);
    const std::string bytes(4096, 'x');
    while (full && send(served.get(), bytes.data(), bytes.size(),
                        MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }
  bool IsCutOff() const {
    pollfd event{own.get(), POLLRDHUP, 0};
    return poll(&event, 1, 0) == 1 && (event.revents & POLLRDHUP) != 0;
  }

  UniqueFd served;
  UniqueFd own;
};

TEST(ServedConnectionsTest, SoManyAreCutOffAtATimeAndEachInItsTurn) {
  std::vector<Client> clients;
  ServedConnections served;
  const SteadyTime begin;
  // Every third one reads.
  for (int i = 0; i < 30; ++i) {
    clients.emplace_back(i % 3 != 0);
    served.Add(clients.back().served.get(), begin);
  }
  const auto cut_off = [&clients] {
    std::vector<size_t> cut;
    for (size_t i = 0; i < clients.size(); ++i) {
      if (clients[i].IsCutOff()) cut.push_back(i);
    }
    return cut;
  };
  EXPECT_EQ(served.Look(begin, kPatience, 8).cut,
            0U);  // sees how full they are
  const SteadyTime later = begin + kPatience;
  ServedConnections::Seen seen = served.Look(later, kPatience, 8);
  EXPECT_EQ(seen.cut, 8U);
  EXPECT_FALSE(seen.all);
  EXPECT_EQ(cut_off(), (std::vector<size_t>{1, 2, 4, 5, 7, 8, 10, 11}));
  // One that comes meanwhile is looked at in the same round.
  clients.emplace_back(true);
  served.Add(clients.back().served.get(), later);
  seen = served.Look(later, kPatience, 8);
  EXPECT_EQ(seen.cut, 8U);
  EXPECT_FALSE(seen.all);
  EXPECT_EQ(cut_off().size(), 16U);
  seen = served.Look(later, kPatience, 8);
  EXPECT_EQ(seen.cut, 4U);
  EXPECT_TRUE(seen.all);
  EXPECT_EQ(cut_off().size(), 20U);
  EXPECT_EQ(served.size(), 11U);
  // A new round begins with the first of those who are left.
  clients.front().served.Reset();
  seen = served.Look(later + kPatience, kPatience, 8);
  EXPECT_EQ(seen.cut, 1U);
  EXPECT_TRUE(seen.all);
  EXPECT_EQ(served.size(), 9U);
}

}  // namespace
}  // namespace addons
