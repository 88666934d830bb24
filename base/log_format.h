#ifndef ADDONS_BASE_LOG_FORMAT_H_
#define ADDONS_BASE_LOG_FORMAT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

enum class LogFormat {
  kText,  // time level message key=value ...
  kJson,  // as JsonLogLine() says
};

/// InitLog() of base/log.h with lines of this format.
absl::Status InitLog(absl::string_view level, LogFormat format, int fd);

}  // namespace addons

#endif  // ADDONS_BASE_LOG_FORMAT_H_
