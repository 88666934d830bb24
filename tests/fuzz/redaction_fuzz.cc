// Requests with secrets: no text that is made of them shows one, and none is
// left in a request that was served.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "csi/csi.pb.h"
#include "rpc/method.h"
#include "rpc/redact.h"
#include "rpc/status.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/request_input.h"

namespace addons::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kSentinel[] = "SENTINELdoNotShow";
/// Looked for, so that also a part that is shown is found.
constexpr char kPartOfIt[] = "SENTINEL";

/// By its name, as people name secrets.
bool NamedAsSecret(std::string name) {
  absl::AsciiStrToLower(&name);
  for (const char* ending : {"key", "token", "passphrase", "password", "secret",
                             "secrets", "credential", "credentials"}) {
    if (absl::EndsWith(name, ending)) return true;
  }
  return false;
}

bool MarkedSecret(const FieldDescriptor& field) {
  return field.options().GetExtension(csi::v1::csi_secret);
}

/// Makes every value that is secret the sentinel; true: there is one in a field
/// that is marked as secret.
bool PlaceSentinels(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  bool marked = false;
  for (const FieldDescriptor* const field : fields) {
    const bool secret = MarkedSecret(*field) || NamedAsSecret(field->name());
    marked |= MarkedSecret(*field);
    if (field->is_map()) {
      const FieldDescriptor* const key = field->message_type()->map_key();
      const FieldDescriptor* const value = field->message_type()->map_value();
      for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
        Message* const entry =
            reflection.MutableRepeatedMessage(message, field, i);
        const Reflection& of = *entry->GetReflection();
        if (secret || NamedAsSecret(of.GetString(*entry, key))) {
          of.SetString(entry, value, kSentinel);
        }
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
               !field->is_repeated()) {
      if (secret) reflection.SetString(message, field, kSentinel);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        PlaceSentinels(reflection.MutableMessage(message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
        PlaceSentinels(reflection.MutableRepeatedMessage(message, field, i));
      }
    }
  }
  return marked;
}

void CheckHidden(absl::string_view text, absl::string_view where) {
  CheckThat(!absl::StrContains(text, kPartOfIt),
            absl::StrCat("no secret in ", where), text);
}

void CheckRequest(Message* request) {
  const bool marked = PlaceSentinels(request);
  CheckThat(HoldsSecrets(*request) == marked, "marked secrets are known");
  const std::string shown = Redacted(*request);
  CheckHidden(shown, "a redacted message");
  CheckThat(std::all_of(shown.begin(), shown.end(),
                        [](char c) { return c >= ' ' && c <= '~'; }),
            "a redacted message is one line of ASCII", shown);
  CheckHidden(ObjectOfRequest(*request), "the name of a request's object");
  const absl::Status valid = ValidateRequest(*request);
  if (!valid.ok()) {
    CheckError(valid, absl::StatusCode::kInvalidArgument);
    CheckHidden(valid.message(), "what is wrong with a request");
  }
  RedactInPlace(*request);
  CheckHidden(request->SerializePartialAsString(),
              "a request that was redacted");
  CheckThat(Redacted(*request) == shown,
            "redacting twice shows what redacting once does", shown);
}

/// What any text becomes on its way to a caller.
void CheckText(absl::string_view text) {
  for (const size_t limit : {size_t{3}, size_t{16}, size_t{64}, size_t{2048}}) {
    const std::string line = CleanLine(text, limit);
    if (!line.empty()) CheckLine(line, limit);
    CheckThat(line.empty() == text.empty(), "something remains of a text");
    CheckThat(CleanLine(line, limit) == line, "a clean line is clean", line);
  }
  const grpc::Status status = ToGrpc(absl::InternalError(text), "0123456789ab");
  CheckLine(status.error_message(), 4096);
  CheckThat(status.error_details().empty(), "there are no details");
  if (text.empty()) return;
  const Rune rune = FirstRune(text);
  CheckThat(
      rune.size >= 1 && rune.size <= text.size() &&
          (rune.valid == IsUtf8(text.substr(0, rune.size)) || rune.size == 1),
      "a character is well-formed", text.substr(0, 8));
}

}  // namespace
}  // namespace addons::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  return addons::testing::MutateRequest(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::CheckText(addons::testing::TextOf(data, size));
  const auto input =
      addons::testing::RequestInput::Read(addons::testing::TextOf(data, size));
  if (!input.has_value()) return -1;
  if (const auto request = input->Message()) {
    // A fuzzer sees what is looked for, and writes it where nothing is secret.
    if (absl::StrContains(request->SerializePartialAsString(),
                          addons::testing::kPartOfIt)) {
      return -1;
    }
    addons::testing::CheckRequest(request.get());
  }
  return 0;
}
