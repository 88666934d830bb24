#include "ceph/librados/host_resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
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

HostResolver::HostResolver(LookUpFn look_up, ThreadStarter start)
    : look_up_(std::move(look_up)), start_(std::move(start)) {}

std::shared_ptr<HostResolver::Lookup> HostResolver::FindOrStart(
    const std::string& host) {
  const auto [it, is_new] = lookups_.try_emplace(host);
  if (!is_new) return it->second;
  try {
    it->second = std::make_shared<Lookup>();
    // The map holds the look-up until it is done, so the thread need not.
    auto thread = start_("host-lookup", [this, host, raw = it->second.get()] {
      std::vector<std::string> addresses;
      try {
        addresses = look_up_(host);
      } catch (...) {  // whoever waits must not wait for ever
      }
      MutexLock lock(mutex_);
      raw->addresses = std::move(addresses);
      raw->done = true;
      changed_.NotifyAll();
    });
    if (thread) {
      it->second->thread = *std::move(thread);
      return it->second;
    }
  } catch (const std::exception&) {  // no memory
  }
  lookups_.erase(it);
  return nullptr;
}

void HostResolver::Prepare(const std::string& host) {
  MutexLock lock(mutex_);
  FindOrStart(host);
}

absl::StatusOr<std::vector<std::string>> HostResolver::Resolve(
    const std::string& host, SteadyTime until) {
  std::shared_ptr<Lookup> lookup;  // its thread is joined after the lock
  MutexLock lock(mutex_);
  lookup = FindOrStart(host);
  if (lookup == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("Failed to look up '", host,
                     "': the system has no thread left for it"));
  }
  while (!lookup->done) {
    if (!changed_.WaitUntil(mutex_, until) && !lookup->done) {
      return std::vector<std::string>();
    }
  }
  const auto it = lookups_.find(host);
  if (it != lookups_.end() && it->second == lookup) lookups_.erase(it);
  return lookup->addresses;
}

}  // namespace addons
