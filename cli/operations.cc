#include "cli/operations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;

constexpr size_t kMaxCell = 256;
constexpr size_t kColumns = 11;
using Row = std::array<std::string, kColumns>;

std::string StateText(const pb::Operation& operation) {
  switch (operation.state()) {
    case pb::Operation::QUEUED:
      return "queued";
    case pb::Operation::RUNNING:
      return operation.mutating() ? "changing" : "running";
    case pb::Operation::WAITING:
      return "waiting";
    case pb::Operation::STOPPING:
      return "stopping";
    default:
      return "?";
  }
}

std::string AgeText(const pb::Operation& operation) {
  const absl::Duration age = absl::Trunc(
      absl::Milliseconds(operation.age_milliseconds()), absl::Seconds(1));
  return age == absl::ZeroDuration() ? "0s" : absl::FormatDuration(age);
}

std::string ProgressText(const pb::Operation& operation) {
  if (operation.total() == 0) return "-";
  const double share = static_cast<double>(operation.done()) /
                       static_cast<double>(operation.total());
  return absl::StrCat(static_cast<int>(share * 100), "% of ",
                      operation.total());
}

Row RowOf(const pb::Operation& operation) {
  Row row = {absl::StrCat(operation.operation_id()),
             StateText(operation),
             operation.verb(),
             operation.object(),
             AgeText(operation),
             operation.step(),
             ProgressText(operation),
             absl::StrCat(operation.callers()),
             operation.lane(),
             operation.cluster(),
             operation.request_id()};
  for (std::string& cell : row) {
    cell = cell.empty() ? "-" : CleanLine(cell, kMaxCell);
  }
  return row;
}

std::string Aligned(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      widths.at(i) = std::max(widths.at(i), row.at(i).size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < kColumns; ++i) {
      absl::StrAppend(&text, row.at(i),
                      std::string(widths.at(i) - row.at(i).size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");
  }
  return text;
}

}  // namespace

std::string OperationsText(const pb::ListOperationsResponse& list) {
  std::string text;
  if (list.operations().empty()) {
    text = "no operations\n";
  } else {
    std::vector<Row> rows = {{"ID", "STATE", "VERB", "OBJECT", "AGE", "STEP",
                              "PROGRESS", "CALLERS", "LANE", "CLUSTER",
                              "REQUEST"}};
    for (const pb::Operation& operation : list.operations()) {
      rows.push_back(RowOf(operation));
    }
    text = Aligned(rows);
  }
  for (const pb::Lane& lane : list.lanes()) {
    absl::StrAppend(&text, "lane ", CleanLine(lane.name(), kMaxCell), ": ",
                    lane.running(), " of ", lane.workers(), " running, ",
                    lane.waiting(), " waiting, ", lane.queued(), " of ",
                    lane.queue_limit(), " queued\n");
  }
  return text;
}

std::string CancelText(const pb::CancelOperationResponse& cancelled) {
  const pb::Operation& operation = cancelled.operation();
  absl::string_view effect = "was cancelled";
  switch (cancelled.effect()) {
    case pb::CancelOperationResponse::NEVER_STARTS:
      effect = "was queued and will not start";
      break;
    case pb::CancelOperationResponse::STOPS_NOW:
      effect = "stops now; it has changed nothing";
      break;
    case pb::CancelOperationResponse::STOPS_AFTER_CHANGE:
      effect =
          "was asked to stop; it has begun to change something and ends after "
          "that, 'rbd-addons operations' shows it until then";
      break;
    default:
      break;
  }
  return absl::StrCat(
      CleanLine(absl::StrCat(operation.verb(), " of ", operation.object()),
                kMaxCell),
      " ", effect, "\n");
}

}  // namespace addons
