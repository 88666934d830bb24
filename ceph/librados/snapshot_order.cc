#include "ceph/librados/snapshot_order.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/secret.h"

namespace addons {
namespace {

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr std::array<const char*, 4> kStages = {"connected", "locking",
                                                "released", "ended"};

}  // namespace

std::string OrderText(const SnapshotOrder& order) {
  nlohmann::json images = nlohmann::json::array();
  for (const PlacedImage& image : order.images) {
    images.push_back({{"pool", image.pool_id},
                      {"namespace", image.rados_namespace},
                      {"name", image.name.text()},
                      {"id", image.id}});
  }
  return AsciiJsonText(
      nlohmann::json{{"cluster", order.target.cluster_id.text()},
                     {"monitors", order.target.monitors},
                     {"user", order.user->id},
                     {"key", order.user->key.Reveal()},
                     {"connect", order.timeouts.connect.count()},
                     {"mon", order.timeouts.mon.count()},
                     {"osd_read", order.timeouts.osd_read.count()},
                     {"images", std::move(images)},
                     {"snapshot", order.snapshot},
                     {"transient", order.lock == LockMode::kTransient},
                     {"lock_patience", order.lock_patience.count()}});
}

std::optional<SnapshotOrder> ParseOrder(absl::string_view text) {
  const nlohmann::json json = ParseJson(text);
  if (!json.is_object()) return std::nullopt;
  try {
    SnapshotOrder order;
    order.target.cluster_id = ClusterId(json.at("cluster").get<std::string>());
    order.target.monitors = json.at("monitors").get<std::vector<std::string>>();
    order.user = MakeCephUser(json.at("user").get<std::string>(),
                              Secret(json.at("key").get<std::string>()));
    using std::chrono::seconds;
    order.timeouts = {seconds(json.at("connect").get<int64_t>()),
                      seconds(json.at("mon").get<int64_t>()),
                      seconds(json.at("osd_read").get<int64_t>())};
    for (const nlohmann::json& image : json.at("images")) {
      order.images.push_back({image.at("pool").get<int64_t>(),
                              image.at("namespace").get<std::string>(),
                              ImageName(image.at("name").get<std::string>()),
                              image.at("id").get<std::string>()});
    }
    order.snapshot = json.at("snapshot").get<std::string>();
    order.lock = json.at("transient").get<bool>() ? LockMode::kTransient
                                                  : LockMode::kExclusive;
    order.lock_patience =
        std::chrono::milliseconds(json.at("lock_patience").get<int64_t>());
    return order;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string ReportText(const SnapshotReport& report) {
  return AsciiJsonText(
      nlohmann::json{{"stage", kStages[static_cast<size_t>(report.stage)]},
                     {"client", report.client},
                     {"clean", report.clean},
                     {"code", static_cast<int>(report.status.code())},
                     {"message", std::string(report.status.message())}});
}

std::optional<SnapshotReport> ParseReport(absl::string_view text) {
  JsonFields fields(text);
  SnapshotReport report;
  const std::string stage = fields.Text("stage");
  const auto* const found = std::find(kStages.begin(), kStages.end(), stage);
  report.client = fields.Text("client");
  report.clean = fields.Flag("clean");
  const std::string message = fields.Text("message");
  const auto code = static_cast<int>(fields.Number("code", 16));
  if (found == kStages.end() || !fields.wrong().empty()) return std::nullopt;
  report.stage = static_cast<SnapshotReport::Stage>(found - kStages.begin());
  report.status = absl::Status(static_cast<absl::StatusCode>(code), message);
  return report;
}

std::optional<std::string> LineReader::Next(SteadyTime until) {
  while (true) {
    const size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (read_.size() > kLongestLine) return std::nullopt;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd ready{fd_, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(left.count()));
    if (polled < 0 && errno != EINTR) return std::nullopt;
    if (polled <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t n = read(fd_, buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return std::nullopt;
    if (n > 0) read_.append(buffer.data(), static_cast<size_t>(n));
  }
}

bool WriteLine(int fd, absl::string_view text) {
  std::string line = absl::StrCat(text, "\n");
  absl::string_view left = line;
  while (!left.empty()) {
    const ssize_t n = write(fd, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    left.remove_prefix(static_cast<size_t>(n));
  }
  WipeString(line);  // an order has the key
  return left.empty();
}

}  // namespace addons
