#include "ceph/librados/host_resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

std::vector<std::string> LookUp(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;  // else each address comes once per protocol
  addrinfo* found = nullptr;
  std::vector<std::string> addresses;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(info->ai_addr, info->ai_addrlen, text.data(), text.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0) {
      continue;
    }
    addresses.push_back(info->ai_family == AF_INET6
                            ? absl::StrCat("[", text.data(), "]")
                            : std::string(text.data()));
  }
  freeaddrinfo(found);
  return addresses;
}

}  // namespace

HostResolver::HostResolver() : HostResolver(&LookUp) {}

HostResolver::HostResolver(LookUpFn look_up) : look_up_(std::move(look_up)) {}

std::shared_ptr<HostResolver::Lookup> HostResolver::FindOrStart(
    const std::string& host) {
  std::shared_ptr<Lookup>& lookup = lookups_[host];
  if (lookup != nullptr) return lookup;
  lookup = std::make_shared<Lookup>();
  // The map holds the look-up until it is done, so the thread need not.
  lookup->thread = std::jthread([this, host, raw = lookup.get()] {
    std::vector<std::string> addresses = look_up_(host);
    MutexLock lock(mutex_);
    raw->addresses = std::move(addresses);
    raw->done = true;
    changed_.NotifyAll();
  });
  return lookup;
}

void HostResolver::Prepare(const std::string& host) {
  MutexLock lock(mutex_);
  FindOrStart(host);
}

std::vector<std::string> HostResolver::Resolve(const std::string& host,
                                               SteadyTime until) {
  std::shared_ptr<Lookup> lookup;  // its thread is joined after the lock
  MutexLock lock(mutex_);
  lookup = FindOrStart(host);
  while (!lookup->done) {
    if (!changed_.WaitUntil(mutex_, until) && !lookup->done) return {};
  }
  const auto it = lookups_.find(host);
  if (it != lookups_.end() && it->second == lookup) lookups_.erase(it);
  return lookup->addresses;
}

}  // namespace addons
