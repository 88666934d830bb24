#include "rpc/status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "rpc/text.h"

namespace addons {
namespace {

constexpr size_t kMaxMessageBytes = 2048;

constexpr bool Same(absl::StatusCode ours, grpc::StatusCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(Same(absl::StatusCode::kOk, grpc::OK));
static_assert(Same(absl::StatusCode::kCancelled, grpc::CANCELLED));
static_assert(Same(absl::StatusCode::kUnknown, grpc::UNKNOWN));
static_assert(Same(absl::StatusCode::kInvalidArgument, grpc::INVALID_ARGUMENT));
static_assert(Same(absl::StatusCode::kDeadlineExceeded,
                   grpc::DEADLINE_EXCEEDED));
static_assert(Same(absl::StatusCode::kNotFound, grpc::NOT_FOUND));
static_assert(Same(absl::StatusCode::kAlreadyExists, grpc::ALREADY_EXISTS));
static_assert(Same(absl::StatusCode::kPermissionDenied,
                   grpc::PERMISSION_DENIED));
static_assert(Same(absl::StatusCode::kResourceExhausted,
                   grpc::RESOURCE_EXHAUSTED));
static_assert(Same(absl::StatusCode::kFailedPrecondition,
                   grpc::FAILED_PRECONDITION));
static_assert(Same(absl::StatusCode::kAborted, grpc::ABORTED));
static_assert(Same(absl::StatusCode::kOutOfRange, grpc::OUT_OF_RANGE));
static_assert(Same(absl::StatusCode::kUnimplemented, grpc::UNIMPLEMENTED));
static_assert(Same(absl::StatusCode::kInternal, grpc::INTERNAL));
static_assert(Same(absl::StatusCode::kUnavailable, grpc::UNAVAILABLE));
static_assert(Same(absl::StatusCode::kDataLoss, grpc::DATA_LOSS));
static_assert(Same(absl::StatusCode::kUnauthenticated, grpc::UNAUTHENTICATED));

}  // namespace

grpc::Status ToGrpc(const absl::Status& status, absl::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  std::string message = CleanLine(status.message(), kMaxMessageBytes);
  if (message.empty()) message = "no reason was given";
  return {static_cast<grpc::StatusCode>(status.code()),
          absl::StrCat(message, " (request ", request_id, ")")};
}

}  // namespace addons
