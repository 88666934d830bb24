#ifndef ADDONS_BASE_CALLER_H_
#define ADDONS_BASE_CALLER_H_

#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"

namespace addons {

/// Somebody who waits for an answer.
struct Caller {
  std::optional<SteadyTime> deadline;  // real time; nullopt: it set none
  std::stop_token gone;                // requested when it has gone
  std::string request_id;              // unique among the log lines of replicas
};

}  // namespace addons

#endif  // ADDONS_BASE_CALLER_H_
