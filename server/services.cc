#include "server/services.h"

#include <chrono>
#include <utility>

#include "replication/replication_service.h"

namespace addons {
namespace {

ReplicationOptions OptionsOf(const Config& config) {
  ReplicationOptions options;
  options.settle_time = config.settle_time;
  return options;
}

}  // namespace

ServiceSet MakeServices(const ServiceParts& parts) {
  ServiceSet set;
  if (parts.config.modes.controller) {
    set.services.push_back(std::make_unique<ReplicationService>(
        parts.rpc, parts.operations, parts.resolver, parts.config_store,
        parts.clock, OptionsOf(parts.config)));
    set.served.volume_replication = true;
    set.served.replication_destination_info = true;
  }
  return set;
}

}  // namespace addons
