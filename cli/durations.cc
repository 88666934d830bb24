#include "cli/durations.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "rpc/text.h"

namespace addons {
namespace {

constexpr size_t kMostShownDuration = 40;
/// In seconds.
constexpr double kLeastTimeout = 0.001;
constexpr double kMostTimeout = 86400;

}  // namespace

CLI::Validator AsSeconds() {
  return {[](std::string& text) -> std::string {
            const absl::StatusOr<double> seconds = ParseSeconds(text);
            if (!seconds.ok()) {
              return absl::StrCat("'", CleanLine(text, kMostShownDuration),
                                  "' ", seconds.status().message());
            }
            // Whole seconds are also for options that hold no fractions.
            text = *seconds == std::floor(*seconds) && std::abs(*seconds) < 1e15
                       ? absl::StrCat(static_cast<int64_t>(*seconds))
                       : absl::StrCat(*seconds);
            return "";
          },
          ""};
}

void AddTimeoutOption(CLI::App& command, double& seconds,
                      const std::string& text) {
  command.add_option("--timeout", seconds, text)
      ->capture_default_str()
      ->transform(AsSeconds())
      ->check([](const std::string& given) -> std::string {
        double value = 0;
        if (absl::SimpleAtod(given, &value) && value >= kLeastTimeout &&
            value <= kMostTimeout) {
          return "";
        }
        return absl::StrCat("'", CleanLine(given, kMostShownDuration),
                            "' is not between ", kLeastTimeout, " and ",
                            kMostTimeout, " seconds");
      });
}

}  // namespace addons
