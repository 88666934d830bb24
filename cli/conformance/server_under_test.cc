#include "cli/conformance/server_under_test.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/call.h"
#include "cli/methods.h"
#include "cli/streams.h"

namespace addons {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kNever{0};
constexpr milliseconds kBetweenTries{250};
// Shorter values are names, not keys.
constexpr size_t kKeyBytes = 16;

const MethodDescriptor& Find(const std::string& method) {
  return **FindMethod(method);  // the cases name methods that exist
}

bool ComesLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsDeadlineExceeded(status);
}

/// Another key of the same form.
std::string WrongKey(std::string key) {
  if (key.size() < kKeyBytes) return key;
  for (char& letter : key) {
    letter = absl::ascii_islower(static_cast<unsigned char>(letter))
                 ? absl::ascii_toupper(static_cast<unsigned char>(letter))
                 : absl::ascii_tolower(static_cast<unsigned char>(letter));
  }
  return key;
}

}  // namespace

/// One call that was begun; its end is an event of the queue, with this as its
/// tag.
class ServerUnderTest::Running {
 public:
  Running(const std::shared_ptr<grpc::Channel>& channel,
          const MethodDescriptor& method, const std::string& bytes,
          milliseconds deadline, grpc::CompletionQueue& queue)
      : method_(method), stub_(channel), began_(steady_clock::now()) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    const grpc::Slice slice(bytes);
    call_ =
        stub_.PrepareUnaryCall(&context_, absl::StrCat("/", MethodName(method)),
                               grpc::ByteBuffer(&slice, 1), &queue);
    call_->StartCall();
    call_->Finish(&answer_, &status_, this);
  }

  void Cancel() { context_.TryCancel(); }

  /// After its event.
  Reply Take() {
    Reply reply;
    reply.answer = NewMessage(*method_.output_type());
    reply.took =
        std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_);
    reply.status = {static_cast<absl::StatusCode>(status_.error_code()),
                    status_.error_message()};
    reply.details = status_.error_details();
    if (status_.ok()) {
      grpc::ProtoBufferReader reader(&answer_);
      if (!reply.answer->ParseFromZeroCopyStream(&reader)) {
        reply.status = absl::DataLossError("the answer cannot be read");
      }
    }
    return reply;
  }

 private:
  const MethodDescriptor& method_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
  const steady_clock::time_point began_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
};

ServerUnderTest::ServerUnderTest(std::shared_ptr<grpc::Channel> channel,
                                 milliseconds timeout,
                                 std::map<std::string, std::string> secrets)
    : channel_(std::move(channel)),
      timeout_(timeout),
      secrets_(std::move(secrets)) {}

std::string ServerUnderTest::Bytes(const std::string& method,
                                   const Json& request, Secrets secrets) const {
  const MethodDescriptor& descriptor = Find(method);
  const std::unique_ptr<Message> message = NewMessage(*descriptor.input_type());
  Json filled = request;
  if (secrets != Secrets::kNone && !secrets_.empty() &&
      descriptor.input_type()->FindFieldByName("secrets") != nullptr) {
    for (const auto& [key, value] : secrets_) {
      filled["secrets"][key] =
          secrets == Secrets::kWrong ? WrongKey(value) : value;
    }
  }
  // The cases' own fields; a mistake there is seen as a case that fails.
  if (!google::protobuf::util::JsonStringToMessage(JsonText(filled),
                                                   message.get())
           .ok()) {
    message->Clear();
  }
  return message->SerializeAsString();
}

Reply ServerUnderTest::Send(const std::string& method, const std::string& bytes,
                            milliseconds deadline,
                            milliseconds cancel_after) const {
  grpc::CompletionQueue queue;
  Running running(channel_, Find(method), bytes, deadline, queue);
  void* tag = nullptr;
  bool ok = false;
  bool ended = false;
  if (cancel_after != kNever) {
    ended = queue.AsyncNext(&tag, &ok,
                            std::chrono::system_clock::now() + cancel_after) ==
            grpc::CompletionQueue::GOT_EVENT;
    running.Cancel();
  }
  if (!ended) queue.Next(&tag, &ok);  // at the deadline at the latest
  return Ended(method, running);
}

Reply ServerUnderTest::Ended(const std::string& method,
                             Running& running) const {
  Reply reply = running.Take();
  HideSecrets(method, reply);
  return reply;
}

Reply ServerUnderTest::Call(const std::string& method, const Json& request,
                            Secrets secrets) const {
  return Send(method, Bytes(method, request, secrets), timeout_, kNever);
}

Reply ServerUnderTest::CallPatiently(const std::string& method,
                                     const Json& request) const {
  const auto until = steady_clock::now() + timeout_;
  while (true) {
    Reply reply = Call(method, request);
    if (!ComesLater(reply.status) || steady_clock::now() > until) return reply;
    RealClock().SleepFor(kBetweenTries, {});
  }
}

std::vector<Reply> ServerUnderTest::CallAtOnce(size_t callers,
                                               const std::string& method,
                                               const Json& request) const {
  const std::string bytes = Bytes(method, request, Secrets::kGiven);
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Running>> calls;
  calls.reserve(callers);
  for (size_t i = 0; i < callers; ++i) {
    calls.push_back(std::make_unique<Running>(channel_, Find(method), bytes,
                                              timeout_, queue));
  }
  std::vector<Reply> replies;
  replies.reserve(callers);
  for (size_t i = 0; i < callers; ++i) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);  // at the deadline at the latest
    replies.push_back(Ended(method, *static_cast<Running*>(tag)));
  }
  return replies;
}

Reply ServerUnderTest::CallBytes(const std::string& method,
                                 const std::string& bytes) const {
  return Send(method, bytes, timeout_, kNever);
}

Reply ServerUnderTest::CallBriefly(const std::string& method,
                                   const Json& request,
                                   milliseconds deadline) const {
  return Send(method, Bytes(method, request, Secrets::kGiven), deadline,
              kNever);
}

Reply ServerUnderTest::CallAndCancel(const std::string& method,
                                     const Json& request,
                                     milliseconds after) const {
  return Send(method, Bytes(method, request, Secrets::kGiven), timeout_, after);
}

void ServerUnderTest::HideSecrets(const std::string& method,
                                  Reply& reply) const {
  const std::string told = absl::StrCat(reply.status.message(), reply.details,
                                        reply.answer->SerializeAsString());
  for (const auto& [name, value] : secrets_) {
    if (value.size() < kKeyBytes) continue;
    for (const std::string& key : {value, WrongKey(value)}) {
      if (told.find(key) == std::string::npos) continue;
      reply.status = absl::Status(
          reply.status.code(),
          absl::StrReplaceAll(reply.status.message(), {{key, "***"}}));
      const std::lock_guard lock(mutex_);
      if (leak_.empty()) {
        leak_ = absl::StrCat(method, " tells '", name,
                             "': ", reply.status.message());
      }
    }
  }
}

std::string ServerUnderTest::leak() const {
  const std::lock_guard lock(mutex_);
  return leak_;
}

std::string Shown(const Reply& reply) {
  return reply.ok() ? "OK" : ErrorLine(reply.status);
}

}  // namespace addons
