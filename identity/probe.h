#ifndef ADDONS_IDENTITY_PROBE_H_
#define ADDONS_IDENTITY_PROBE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "identity/readiness.h"
#include "rpc/prompt_server.h"

namespace addons {

/// The Probe of `service`, which has it as a raw method: Readiness's value, or
/// FAILED_PRECONDITION with its error's message, as both specifications want
/// it. Nothing is owned, and all outlive it.
template <typename Request, typename Response, typename Service>
PromptMethod MakeProbe(Service& service, Rpc& rpc, const Readiness& readiness) {
  PromptMethod probe;
  probe.request = [&service](grpc::ServerContext* context,
                             grpc::ByteBuffer* request,
                             PromptMethod::Writer* writer,
                             grpc::ServerCompletionQueue* queue, void* tag) {
    service.RequestProbe(context, request, writer, queue, queue, tag);
  };
  probe.answer = [&rpc, &readiness](grpc::ServerContext& context,
                                    grpc::ByteBuffer& request,
                                    grpc::ByteBuffer* answer) {
    return AnswerPromptly<Request, Response>(
        rpc, context, request, answer, [&readiness](Response& response) {
          const absl::StatusOr<bool> ready = readiness();
          if (!ready.ok()) {
            return absl::FailedPreconditionError(ready.status().message());
          }
          response.mutable_ready()->set_value(*ready);
          return absl::OkStatus();
        });
  };
  return probe;
}

}  // namespace addons

#endif  // ADDONS_IDENTITY_PROBE_H_
