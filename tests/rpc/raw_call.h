#ifndef ADDONS_TESTS_RPC_RAW_CALL_H_
#define ADDONS_TESTS_RPC_RAW_CALL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace addons::testing {

struct RawResult {
  grpc::Status status;
  std::string answer;  // the first message
};

/// Sends `request`, bytes that need not be a message, to any method, streaming
/// or not, and takes the first answer. Bounded.
inline RawResult RawCall(const std::shared_ptr<grpc::Channel>& channel,
                         const std::string& method,
                         const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, method, &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  };
  stream->StartCall(nullptr);
  wait();
  const grpc::Slice slice(request);
  stream->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  wait();
  RawResult result;
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  if (wait()) {
    std::vector<grpc::Slice> slices;
    if (answer.Dump(&slices).ok()) {
      for (const grpc::Slice& part : slices) {
        result.answer.append(reinterpret_cast<const char*>(part.begin()),
                             part.size());
      }
    }
  }
  stream->Finish(&result.status, nullptr);
  wait();
  return result;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_RAW_CALL_H_
