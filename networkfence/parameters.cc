#include "networkfence/parameters.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parameter_keys.h"
#include "base/status_macros.h"

namespace addons {
namespace {

using ParameterMap = std::map<std::string, std::string>;

constexpr char kClusterId[] = "clusterID";
constexpr char kExpirySeconds[] = "expirySeconds";
constexpr char kAllowServiceClients[] = "allowServiceClients";
constexpr char kRemoveContained[] = "removeContained";
constexpr char kRemoveClientEntries[] = "removeClientEntries";

absl::Status ReadSwitch(const ParameterMap& map, const char* key, bool* value) {
  const auto it = map.find(key);
  if (it == map.end() || absl::SimpleAtob(it->second, value)) {
    return absl::OkStatus();
  }
  return InvalidParameter(key, it->second, "must be 'true' or 'false'");
}

absl::Status ReadExpiry(const ParameterMap& map, std::chrono::seconds* expiry) {
  const auto it = map.find(kExpirySeconds);
  if (it == map.end()) return absl::OkStatus();
  int64_t seconds = 0;
  if (!absl::SimpleAtoi(it->second, &seconds) ||
      seconds < FenceParameters::kShortestExpiry.count() ||
      seconds > FenceParameters::kLongestExpiry.count()) {
    return InvalidParameter(
        kExpirySeconds, it->second,
        absl::StrCat("must be a number of seconds from ",
                     FenceParameters::kShortestExpiry.count(), " to ",
                     FenceParameters::kLongestExpiry.count()));
  }
  *expiry = std::chrono::seconds(seconds);
  return absl::OkStatus();
}

}  // namespace

absl::Status FenceParameters::CheckKeys(const ParameterMap& map) {
  return CheckParameterKeys(
      map, {kClusterId, kExpirySeconds, kAllowServiceClients, kRemoveContained,
            kRemoveClientEntries});
}

absl::StatusOr<FenceParameters> FenceParameters::Parse(
    const ParameterMap& map) {
  FenceParameters parameters;
  const auto cluster = map.find(kClusterId);
  if (cluster == map.end() || cluster->second.empty()) {
    return absl::InvalidArgumentError(
        "parameter 'clusterID' is missing: it names a cluster of config.json");
  }
  parameters.cluster_id = ClusterId(cluster->second);
  ADDONS_RETURN_IF_ERROR(ReadExpiry(map, &parameters.expiry));
  ADDONS_RETURN_IF_ERROR(
      ReadSwitch(map, kAllowServiceClients, &parameters.allow_service_clients));
  ADDONS_RETURN_IF_ERROR(
      ReadSwitch(map, kRemoveContained, &parameters.remove_contained));
  ADDONS_RETURN_IF_ERROR(
      ReadSwitch(map, kRemoveClientEntries, &parameters.remove_client_entries));
  return parameters;
}

absl::StatusOr<std::vector<Cidr>> ParseRanges(
    const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return absl::InvalidArgumentError("cidrs: is empty; name what to fence");
  }
  std::vector<Cidr> ranges;
  std::vector<std::string> problems;
  for (const std::string& text : texts) {
    const auto range = Cidr::Parse(text);
    if (range.ok()) {
      ranges.push_back(*range);
    } else {
      problems.emplace_back(range.status().message());
    }
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cidrs: ", absl::StrJoin(problems, "; ")));
  }
  return SortedUnique(std::move(ranges));
}

absl::Status CheckNodesCanHave(const std::vector<Cidr>& ranges) {
  static const auto* const nobodys =
      new std::vector<Cidr>{{*IpAddress::Parse("0.0.0.0"), 8},
                            {*IpAddress::Parse("224.0.0.0"), 4},
                            {*IpAddress::Parse("255.255.255.255"), 32},
                            {*IpAddress::Parse("::"), 128},
                            {*IpAddress::Parse("ff00::"), 8}};
  std::vector<Cidr> wrong;
  for (const Cidr& range : ranges) {
    const bool nobody =
        std::any_of(nobodys->begin(), nobodys->end(),
                    [&](const Cidr& place) { return place.Contains(range); });
    if (nobody) wrong.push_back(range);
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "cidrs: ", JoinRanges(wrong),
      " is unspecified, broadcast or multicast: no node has such an address, "
      "and nobody is fenced by it; name the addresses of the node"));
}

absl::Status CheckWidth(const std::vector<Cidr>& ranges,
                        const FenceOptions& options) {
  std::vector<Cidr> wide;
  for (const Cidr& range : ranges) {
    const int shortest = range.address().family == IpFamily::kIPv4
                             ? options.shortest_mask_ipv4
                             : options.shortest_mask_ipv6;
    if (range.prefix() < shortest) wide.push_back(range);
  }
  if (wide.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "cidrs: ", JoinRanges(wide), " is wider than this daemon fences: /",
      options.shortest_mask_ipv4,
      " for IPv4 (--fence-shortest-mask-ipv4) and /",
      options.shortest_mask_ipv6, " for IPv6 (--fence-shortest-mask-ipv6)"));
}

}  // namespace addons
