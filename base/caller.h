#ifndef ADDONS_BASE_CALLER_H_
#define ADDONS_BASE_CALLER_H_

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"

namespace addons {

/// Somebody who waits for an answer.
struct Caller {
  std::optional<SteadyTime> deadline;  // real time; nullopt: it set none
  std::function<bool()> cancelled;     // polled; may be empty
  std::string request_id;              // unique among the log lines of replicas
};

}  // namespace addons

#endif  // ADDONS_BASE_CALLER_H_
