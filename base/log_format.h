#ifndef ADDONS_BASE_LOG_FORMAT_H_
#define ADDONS_BASE_LOG_FORMAT_H_

namespace addons {

enum class LogFormat {
  kText,  // time level message key=value ...
  kJson,  // as JsonLogLine() says
};

}  // namespace addons

#endif  // ADDONS_BASE_LOG_FORMAT_H_
