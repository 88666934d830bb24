#ifndef ADDONS_TESTS_FUZZ_REQUEST_INPUT_H_
#define ADDONS_TESTS_FUZZ_REQUEST_INPUT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace addons::testing {

/// The input of a target that takes requests: a method, and bytes that need not
/// be a message. Written as one of
///   text <package>.<Service>/<Method>
///   <fields, as protobuf's text format has them>
/// which is what people write into a corpus, and
///   wire <package>.<Service>/<Method>
///   <bytes>
/// which is what a fuzzer makes of it.
struct RequestInput {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string bytes;

  /// nullopt: neither of the two.
  static std::optional<RequestInput> Read(absl::string_view input);
  std::string Written() const;
  /// "<package>.<Service>/<Method>".
  std::string MethodName() const;
  /// The bytes as a message of the method; nullptr: they are none.
  std::unique_ptr<google::protobuf::Message> Message() const;
};

/// Every method of every service that the daemon knows of.
const std::vector<const google::protobuf::MethodDescriptor*>& AllMethods();

/// A custom mutator: another method, other bytes, or another value in one of
/// the fields.
size_t MutateRequest(uint8_t* data, size_t size, size_t max_size,
                     unsigned seed);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FUZZ_REQUEST_INPUT_H_
