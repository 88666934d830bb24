#include "tests/fuzz/request_input.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi/csi.pb.h"
#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "fence/fence.pb.h"
#include "identity/identity.pb.h"
#include "rbdaddons/admin.pb.h"
#include "reclaimspace/reclaimspace.pb.h"
#include "replication/replication.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::Reflection;
using Proto = google::protobuf::Message;
using Engine = std::minstd_rand;

std::string NameOf(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->full_name(), "/", method.name());
}

size_t Below(Engine& engine, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(engine);
}

std::unique_ptr<Proto> NewRequest(const MethodDescriptor& method) {
  auto* const factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<Proto>(
      factory->GetPrototype(method.input_type())->New());
}

/// Does not say why a text cannot be read.
class Silent final : public google::protobuf::io::ErrorCollector {
  void AddError(int /*line*/, int /*column*/,
                const std::string& /*message*/) override {}
};

bool ReadText(absl::string_view text, Proto* message) {
  google::protobuf::TextFormat::Parser parser;
  Silent silent;
  parser.RecordErrorsTo(&silent);
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  return parser.Parse(&stream, message);
}

/// A value of a message that can be changed: a field, or one element of it.
struct Place {
  Proto* message;
  const FieldDescriptor* field;
  int index;  // -1: the field is not repeated
};

void AddPlaces(Proto* message, std::vector<Place>* places) {
  const Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->field(i);
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (!nested) {
        places->push_back({message, field, -1});
      } else if (reflection.HasField(*message, field)) {
        AddPlaces(reflection.MutableMessage(message, field), places);
      }
      continue;
    }
    for (int k = 0; k < reflection.FieldSize(*message, field); ++k) {
      if (nested) {
        AddPlaces(reflection.MutableRepeatedMessage(message, field, k), places);
      } else {
        places->push_back({message, field, k});
      }
    }
  }
}

std::string MutatedText(std::string text) {
  constexpr size_t kMore = 64;
  std::vector<uint8_t> buffer(text.size() + kMore);
  std::copy(text.begin(), text.end(), buffer.begin());
  const size_t size =
      LLVMFuzzerMutate(buffer.data(), text.size(), buffer.size());
  return std::string(TextOf(buffer.data(), size));
}

int64_t InterestingNumber(Engine& engine) {
  static constexpr std::array<int64_t, 8> kNumbers = {
      0,
      1,
      -1,
      2,
      std::numeric_limits<int32_t>::max(),
      1 << 20,
      std::numeric_limits<int64_t>::max(),
      std::numeric_limits<int64_t>::min()};
  return kNumbers.at(Below(engine, kNumbers.size()));
}

void ChangeText(const Place& place, Engine& engine,
                const std::vector<Place>& places) {
  const Reflection& reflection = *place.message->GetReflection();
  const auto text_at = [](const Place& at) {
    const Reflection& of = *at.message->GetReflection();
    return at.index < 0 ? of.GetString(*at.message, at.field)
                        : of.GetRepeatedString(*at.message, at.field, at.index);
  };
  // What stands elsewhere in the request, or something else.
  const Place& other = places[Below(engine, places.size())];
  const bool borrow =
      other.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
      Below(engine, 4) == 0;
  std::string text = borrow ? text_at(other) : MutatedText(text_at(place));
  if (place.index < 0) {
    reflection.SetString(place.message, place.field, std::move(text));
  } else {
    reflection.SetRepeatedString(place.message, place.field, place.index,
                                 std::move(text));
  }
}

/// Sets one value. What is neither text nor number is left to changes of bytes.
void ChangePlace(const Place& place, Engine& engine,
                 const std::vector<Place>& places) {
  const Reflection& reflection = *place.message->GetReflection();
  if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    ChangeText(place, engine, places);
    return;
  }
  if (place.index >= 0) return;
  const int64_t number = InterestingNumber(engine);
  switch (place.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection.SetBool(place.message, place.field,
                         !reflection.GetBool(*place.message, place.field));
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      reflection.SetInt32(place.message, place.field,
                          static_cast<int32_t>(number));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection.SetInt64(place.message, place.field, number);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection.SetUInt64(place.message, place.field,
                           static_cast<uint64_t>(number));
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection.SetEnumValue(place.message, place.field,
                              static_cast<int>(number));
      break;
    default:
      break;
  }
}

void ChangeMessage(Proto* message, Engine& engine) {
  std::vector<Place> places;
  AddPlaces(message, &places);
  if (places.empty()) return;
  ChangePlace(places[Below(engine, places.size())], engine, places);
}

}  // namespace

const std::vector<const MethodDescriptor*>& AllMethods() {
  static const auto* const all = [] {
    // It would complain of each text that is not UTF-8.
    google::protobuf::SetLogHandler(nullptr);
    auto* const methods = new std::vector<const MethodDescriptor*>;
    for (const auto* file :
         {csi::v1::Volume::descriptor()->file(),
          encryptionkeyrotation::EncryptionKeyRotateRequest::descriptor()
              ->file(),
          fence::CIDR::descriptor()->file(),
          identity::ProbeRequest::descriptor()->file(),
          rbdaddons::admin::v1::Operation::descriptor()->file(),
          reclaimspace::StorageConsumption::descriptor()->file(),
          replication::ReplicationSource::descriptor()->file(),
          volumegroup::VolumeGroup::descriptor()->file()}) {
      for (int i = 0; i < file->service_count(); ++i) {
        for (int k = 0; k < file->service(i)->method_count(); ++k) {
          methods->push_back(file->service(i)->method(k));
        }
      }
    }
    return methods;
  }();
  return *all;
}

std::optional<RequestInput> RequestInput::Read(absl::string_view input) {
  const auto [line, rest] = SplitInput(input, "\n");
  const auto [form, name] = SplitInput(line, " ");
  const auto& methods = AllMethods();
  const auto method = std::find_if(
      methods.begin(), methods.end(),
      [&name = name](const auto* m) { return NameOf(*m) == name; });
  if (method == methods.end()) return std::nullopt;
  if (form == "wire") return RequestInput{*method, rest};
  const std::unique_ptr<Proto> request = NewRequest(**method);
  if (form != "text" || !ReadText(rest, request.get())) return std::nullopt;
  return RequestInput{*method, request->SerializePartialAsString()};
}

std::string RequestInput::MethodName() const { return NameOf(*method); }

std::string RequestInput::Written() const {
  return absl::StrCat("wire ", MethodName(), "\n", bytes);
}

std::unique_ptr<Proto> RequestInput::Message() const {
  std::unique_ptr<Proto> request = NewRequest(*method);
  if (!request->ParseFromString(bytes)) return nullptr;
  return request;
}

size_t MutateRequest(uint8_t* data, size_t size, size_t max_size,
                     unsigned seed) {
  Engine engine(seed);
  const auto put = [&](const std::string& text) {
    const size_t length = std::min(text.size(), max_size);
    std::copy_n(text.begin(), length, data);
    return length;
  };
  auto input = RequestInput::Read(TextOf(data, size));
  if (!input.has_value()) {
    const auto& methods = AllMethods();
    input = RequestInput{methods[Below(engine, methods.size())], ""};
    return put(input->Written());
  }
  switch (Below(engine, 8)) {
    case 0:  // the same for another method
      input->method = AllMethods()[Below(engine, AllMethods().size())];
      break;
    case 1:
    case 2:
      input->bytes = MutatedText(input->bytes);
      break;
    default:
      if (const auto request = input->Message()) {
        ChangeMessage(request.get(), engine);
        input->bytes = request->SerializePartialAsString();
      } else {
        input->bytes = MutatedText(input->bytes);
      }
  }
  return put(input->Written());
}

}  // namespace addons::testing
