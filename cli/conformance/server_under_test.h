#ifndef ADDONS_CLI_CONFORMANCE_SERVER_UNDER_TEST_H_
#define ADDONS_CLI_CONFORMANCE_SERVER_UNDER_TEST_H_

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace addons {

/// What one call ended with.
struct Reply {
  absl::Status status;
  std::string details;  // of gRPC's status; nothing belongs there
  std::unique_ptr<google::protobuf::Message> answer;  // never null
  std::chrono::milliseconds took{0};

  bool ok() const { return status.ok(); }
  /// Of `answer`, which has to be of this type.
  template <typename Message>
  const Message& As() const {
    return static_cast<const Message&>(*answer);
  }
};

/// The secrets of a call.
enum class Secrets { kGiven, kWrong, kNone };

/// A CSI-Addons server of which nothing is known but its socket. Calls block
/// for at most `timeout`. Thread-safe.
class ServerUnderTest {
 public:
  using Json = nlohmann::json;

  ServerUnderTest(std::shared_ptr<grpc::Channel> channel,
                  std::chrono::milliseconds timeout,
                  std::map<std::string, std::string> secrets);

  /// Calls "package.Service/Method" with the fields of `request`, and with the
  /// secrets where the method takes them.
  Reply Call(const std::string& method, const Json& request = Json::object(),
             Secrets secrets = Secrets::kGiven) const;
  /// The same until it is answered otherwise than "again, later" (UNAVAILABLE,
  /// ABORTED, DEADLINE_EXCEEDED), as the operator does, within the timeout.
  Reply CallPatiently(const std::string& method, const Json& request) const;
  /// The same call by so many callers at once.
  std::vector<Reply> CallAtOnce(size_t callers, const std::string& method,
                                const Json& request = Json::object()) const;
  /// Sends bytes that need not be a message.
  Reply CallBytes(const std::string& method, const std::string& bytes) const;
  /// As Call() by one who waits for so long only: until a deadline, or until
  /// the call is cancelled.
  Reply CallBriefly(const std::string& method, const Json& request,
                    std::chrono::milliseconds deadline) const;
  Reply CallAndCancel(const std::string& method, const Json& request,
                      std::chrono::milliseconds after) const;

  bool has_secrets() const { return !secrets_.empty(); }
  /// The first text so far that held the value of a secret, with the value
  /// taken out; empty: none did.
  std::string leak() const;

 private:
  class Running;

  std::string Bytes(const std::string& method, const Json& request,
                    Secrets secrets) const;
  Reply Send(const std::string& method, const std::string& bytes,
             std::chrono::milliseconds deadline,
             std::chrono::milliseconds cancel_after) const;
  Reply Ended(const std::string& method, Running& running) const;
  /// Notes a secret that the reply tells, and takes it out of its message.
  void HideSecrets(const std::string& method, Reply& reply) const;

  const std::shared_ptr<grpc::Channel> channel_;
  const std::chrono::milliseconds timeout_;
  const std::map<std::string, std::string> secrets_;
  mutable std::mutex mutex_;
  mutable std::string leak_;
};

/// "UNAVAILABLE: no monitor answers", in one line.
std::string Shown(const Reply& reply);

}  // namespace addons

#endif  // ADDONS_CLI_CONFORMANCE_SERVER_UNDER_TEST_H_
