#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace addons {

absl::Status InitLog(absl::string_view level) {
  const std::string name(level);
  if (name != "trace" && name != "debug" && name != "info" && name != "warn" &&
      name != "error") {
    return absl::InvalidArgumentError(
        absl::StrCat("log level '", name,
                     "' is not one of trace, debug, info, warn, error"));
  }
  auto logger = std::make_shared<spdlog::logger>(
      "rbd-addons", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(spdlog::level::from_str(name));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kShown = 1024;
  const bool cut = text.size() > kShown;
  // Within double quotes an apostrophe needs no escape, and messages are full
  // of them.
  std::string escaped = absl::StrReplaceAll(
      absl::CHexEscape(text.substr(0, kShown)), {{"\\'", "'"}});
  const bool plain = !escaped.empty() && escaped.size() == text.size() &&
                     escaped.find_first_of(" =") == std::string::npos;
  if (plain) return escaped;
  return absl::StrCat("\"", escaped, cut ? "...\"" : "\"");
}

}  // namespace addons
