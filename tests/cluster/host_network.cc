#include "tests/cluster/host_network.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace addons::testing {
namespace {

bool Succeeds(const std::string& command) {
  return std::system(command.c_str()) == 0;  // NOLINT
}

void Run(const std::string& command) {
  EXPECT_TRUE(Succeeds(command)) << command;
}

/// Reserves addresses for this process: a socket of that name, without a file,
/// can be bound once per machine (network namespace), and goes with its
/// process. -1: somebody else has them.
int Reserve(const std::string& base) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = absl::StrCat("rbd-addons-fence-test/", base);
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const bool bound =
      bind(fd, reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                  name.size())) == 0;
  // Also a process that has ended, and whose network is being taken down.
  if (bound && !Succeeds(absl::StrCat("ip -o addr | grep -q ' ", base, "'"))) {
    return fd;
  }
  close(fd);
  return -1;
}

}  // namespace

HostNetwork::HostNetwork(Family family, const std::string& also)
    : family_(family) {
  std::random_device random;
  // Interfaces have at most fifteen characters.
  tag_ = absl::StrFormat("rf%08x", random());
  for (int tries = 0; reservation_ < 0 && tries < 1000; ++tries) {
    base_ = family == Family::kIPv4
                ? absl::StrCat("10.", 64 + random() % 160, ".")
                : absl::StrFormat("fd5a:%x:%x:", random() & 0xffffU,
                                  random() & 0xffffU);
    reservation_ = Reserve(base_);
  }
  EXPECT_GE(reservation_, 0) << "no addresses are free";
  // The child dies of nothing but its own end: it is in a session of its own
  // and holds none of our files but the pipe's end.
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string script = absl::StrCat(
      "read -r _; ", also, "; for n in $(ip netns list | grep -o '^", tag_,
      "[^ ]*'); do ip netns del $n; done; for l in $(ip -o link | grep -o ' ",
      tag_, "[^:@ ]*'); do ip link del $l 2>/dev/null; done; exit 0");
  cleaner_ = fork();
  if (cleaner_ == 0) {
    setsid();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      std::signal(signal, SIG_IGN);
    }
    dup2(ends[0], STDIN_FILENO);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl("/bin/bash", "bash", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  close(ends[0]);
  end_pipe_ = ends[1];
  Run(absl::StrCat("ip link add ", tag_, " type bridge && ip link set ", tag_,
                   " up"));
}

HostNetwork::~HostNetwork() {
  close(end_pipe_);
  waitpid(cleaner_, nullptr, 0);
  close(reservation_);
}

std::string HostNetwork::Address(int network, int host) const {
  if (family_ == Family::kIPv4) {
    return absl::StrCat(base_, network, ".", host);
  }
  return absl::StrFormat("%s:%x:%x", base_, network, host);
}

std::string HostNetwork::Range(int network) const {
  if (family_ == Family::kIPv4) return absl::StrCat(base_, network, ".0/24");
  return absl::StrFormat("%s:%x:0/112", base_, network);
}

std::string HostNetwork::Masked(const std::string& address) const {
  return family_ == Family::kIPv4 ? absl::StrCat(address, "/16")
                                  : absl::StrCat(address, "/64 nodad");
}

void HostNetwork::AddBridgeAddress(const std::string& address) {
  // Not before the one that was there, so that clients on this machine keep it.
  Run(absl::StrCat("ip addr add ", Masked(address), " dev ", tag_));
}

std::vector<std::string> HostNetwork::AddHost(const std::string& address) {
  const std::string name = absl::StrCat(tag_, "h", ++hosts_);
  const std::string inside = absl::StrCat(name, "i");
  Run(absl::StrCat("ip netns add ", name, " && ip link add ", name,
                   " type veth peer name ", inside, " netns ", name,
                   " && ip link set ", name, " master ", tag_, " up && ip -n ",
                   name, " link set lo up && ip -n ", name, " addr add ",
                   Masked(address), " dev ", inside, " && ip -n ", name,
                   " link set ", inside, " up"));
  return {"ip", "netns", "exec", name};
}

}  // namespace addons::testing
