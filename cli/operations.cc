#include "cli/operations.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/quoted_part.h"
#include "cli/aligned_table.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

constexpr size_t kMaxCell = 256;

std::string StateText(const admin_pb::Operation& operation) {
  switch (operation.state()) {
    case admin_pb::Operation::QUEUED:
      return "queued";
    case admin_pb::Operation::RUNNING:
      if (operation.stuck()) return "stuck";
      return operation.mutating() ? "changing" : "running";
    case admin_pb::Operation::WAITING:
      return "waiting";
    case admin_pb::Operation::STOPPING:
      return "stopping";
    default:
      return "?";
  }
}

std::string TimeText(int64_t milliseconds) {
  const absl::Duration time =
      absl::Trunc(absl::Milliseconds(milliseconds), absl::Seconds(1));
  return time == absl::ZeroDuration() ? "0s" : absl::FormatDuration(time);
}

std::string ProgressText(const admin_pb::Operation& operation) {
  if (operation.total() == 0) return "-";
  const double share = static_cast<double>(operation.done()) /
                       static_cast<double>(operation.total());
  return absl::StrCat(static_cast<int>(share * 100), "% of ",
                      operation.total());
}

std::string ObjectText(const admin_pb::Operation& operation) {
  return operation.name().empty()
             ? operation.object()
             : WithQuotedPart(operation.object(), operation.name());
}

std::vector<std::string> RowOf(const admin_pb::Operation& operation,
                               bool wide) {
  std::vector<std::string> row = {
      absl::StrCat(operation.operation_id()),
      StateText(operation),
      operation.verb(),
      ObjectText(operation),
      TimeText(operation.age_milliseconds()),
      operation.stuck()
          ? absl::StrCat(operation.step(), " (the same for ",
                         TimeText(operation.idle_milliseconds()), ")")
          : operation.step(),
      ProgressText(operation),
      absl::StrCat(operation.callers()),
      operation.lane(),
      operation.cluster(),
      operation.request_id()};
  if (wide) row.emplace_back(QuotedPart(operation.object()));
  return row;
}

}  // namespace

std::string OperationsText(const admin_pb::ListOperationsResponse& list,
                           bool wide) {
  std::string text;
  if (list.operations().empty()) {
    text = "no operations\n";
  } else {
    std::vector<std::vector<std::string>> rows = {
        {"ID", "STATE", "VERB", "OBJECT", "AGE", "STEP", "PROGRESS", "CALLERS",
         "LANE", "CLUSTER", "REQUEST"}};
    if (wide) rows[0].emplace_back("OBJECT ID");
    for (const admin_pb::Operation& operation : list.operations()) {
      rows.push_back(RowOf(operation, wide));
    }
    text = AlignedTable(std::move(rows));
  }
  for (const admin_pb::Lane& lane : list.lanes()) {
    absl::StrAppend(&text, "lane ", CleanLine(lane.name(), kMaxCell), ": ",
                    lane.running(), " of ", lane.workers(), " running, ",
                    lane.waiting(), " waiting, ", lane.queued(), " of ",
                    lane.queue_limit(), " queued\n");
  }
  return text;
}

std::string OperationText(const admin_pb::Operation& operation) {
  return CleanLine(
      absl::StrCat(operation.verb(), " of ", ObjectText(operation)), kMaxCell);
}

std::string CancelText(const admin_pb::CancelOperationResponse& cancelled) {
  absl::string_view effect = "was cancelled";
  switch (cancelled.effect()) {
    case admin_pb::CancelOperationResponse::NEVER_STARTS:
      effect = "was queued and will not start";
      break;
    case admin_pb::CancelOperationResponse::STOPS_NOW:
      effect = "stops now; it has changed nothing";
      break;
    case admin_pb::CancelOperationResponse::STOPS_AFTER_CHANGE:
      effect =
          "was asked to stop; it has begun to change something and ends after "
          "that, 'rbd-addons operations' shows it until then";
      break;
    default:
      break;
  }
  return absl::StrCat(OperationText(cancelled.operation()), " ", effect, "\n");
}

}  // namespace addons
