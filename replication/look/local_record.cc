#include "replication/look/local_record.h"

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/json.h"

namespace addons {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

constexpr char kRecordVersion[] = "version";
constexpr char kImage[] = "image";
constexpr char kGlobal[] = "global";
constexpr char kDemotion[] = "demotion";
constexpr char kStep[] = "step";
constexpr char kHeard[] = "heard";
constexpr char kToldNobody[] = "told_nobody";
constexpr char kTerm[] = "term";
constexpr char kSnapshot[] = "snapshot";
constexpr char kSince[] = "since";
constexpr char kPromotedFrom[] = "promoted_from";
constexpr char kRestored[] = "restored";
constexpr char kName[] = "name";
constexpr char kPoint[] = "point";
constexpr char kFirstCopy[] = "first_copy_awaited";
constexpr char kSchedule[] = "schedule";
constexpr char kPause[] = "pause";
constexpr char kSchedules[] = "schedules";

constexpr char kDemoted[] = "demoted";
constexpr char kTakenBack[] = "taken back";
constexpr char kGivenBack[] = "given back";

constexpr char kPausing[] = "pausing";
constexpr char kPaused[] = "paused";
constexpr char kResuming[] = "resuming";

OwnDemotionMark Unclear() {
  OwnDemotionMark mark;
  mark.unclear = true;
  return mark;
}

const char* Name(OwnDemotionStep step) {
  switch (step) {
    case OwnDemotionStep::kTakenBack:
      return kTakenBack;
    case OwnDemotionStep::kGivenBack:
      return kGivenBack;
    case OwnDemotionStep::kDemoted:
      break;
  }
  return kDemoted;
}

std::optional<OwnDemotionStep> ParseStep(absl::string_view text) {
  for (const OwnDemotionStep step :
       {OwnDemotionStep::kDemoted, OwnDemotionStep::kTakenBack,
        OwnDemotionStep::kGivenBack}) {
    if (text == Name(step)) return step;
  }
  return std::nullopt;
}

OwnDemotionMark ParseDemotion(const json& value) {
  if (!value.is_object()) return Unclear();
  const json step = value.value(kStep, json());
  const json heard = value.value(kHeard, json());
  const json told_nobody = value.value(kToldNobody, json(false));
  const auto known = step.is_string() ? ParseStep(step.get<std::string>())
                                      : std::optional<OwnDemotionStep>();
  if (!known.has_value() || !told_nobody.is_boolean() ||
      !(heard.is_null() || heard.is_number_integer())) {
    return Unclear();
  }
  OwnDemotionMark mark;
  mark.step = *known;
  if (heard.is_number_integer()) mark.heard = heard.get<int64_t>();
  mark.told_nobody = told_nobody.get<bool>();
  return mark;
}

std::optional<TermNote> ParseTerm(const json& value) {
  if (!value.is_object()) return std::nullopt;
  const json snapshot = value.value(kSnapshot, json());
  const json since = value.value(kSince, json());
  if (!snapshot.is_number_unsigned() || !since.is_number_integer()) {
    return std::nullopt;
  }
  return TermNote{snapshot.get<uint64_t>(), since.get<int64_t>()};
}

const char* Name(PauseStep step) {
  switch (step) {
    case PauseStep::kPausing:
      return kPausing;
    case PauseStep::kResuming:
      return kResuming;
    case PauseStep::kPaused:
      break;
  }
  return kPaused;
}

/// A step that this version does not know counts as paused: a person sees that,
/// and `resume` puts back what is kept.
std::optional<SchedulePause> ParsePause(const json& value) {
  if (!value.is_object()) return std::nullopt;
  const json step = value.value(kStep, json());
  const json since = value.value(kSince, json());
  const json schedules = value.value(kSchedules, json());
  SchedulePause pause;
  pause.step = PauseStep::kPaused;
  for (const PauseStep known : {PauseStep::kPausing, PauseStep::kResuming}) {
    if (step == Name(known)) pause.step = known;
  }
  if (since.is_number_integer()) pause.since = since.get<int64_t>();
  if (schedules.is_array()) pause.schedules = JsonText(schedules);
  return pause;
}

std::optional<RestoredPoint> ParseRestored(const json& value) {
  if (!value.is_object()) return std::nullopt;
  const json name = value.value(kName, json());
  const json point = value.value(kPoint, json());
  const json snapshot = value.value(kSnapshot, json());
  if (!name.is_string() || !point.is_number_unsigned() ||
      !snapshot.is_number_unsigned()) {
    return std::nullopt;
  }
  return RestoredPoint{name.get<std::string>(), point.get<uint64_t>(),
                       snapshot.get<uint64_t>()};
}

LocalRecord ParseRecord(const std::string& text, const std::string& image_id,
                        const std::string& global_id) {
  LocalRecord record;
  const json value = ParseJson(text);
  if (!value.is_object() || !value.contains(kImage)) {
    record.demotion = Unclear();
    return record;
  }
  if (value[kImage] != image_id ||
      (value.contains(kGlobal) && value[kGlobal] != global_id)) {
    return record;
  }
  if (value.value(kRecordVersion, json()) != kVersion) {
    record.demotion = Unclear();
    return record;
  }
  if (value.contains(kDemotion)) {
    record.demotion = ParseDemotion(value[kDemotion]);
  }
  record.term = ParseTerm(value.value(kTerm, json()));
  if (const json from = value.value(kPromotedFrom, json());
      from.is_number_unsigned()) {
    record.promoted_from = from.get<uint64_t>();
  }
  record.restored = ParseRestored(value.value(kRestored, json()));
  record.first_copy_awaited = value.value(kFirstCopy, json()) == true;
  if (const json schedule = value.value(kSchedule, json());
      schedule.is_object()) {
    record.schedule = JsonText(schedule);
  }
  record.pause = ParsePause(value.value(kPause, json()));
  return record;
}

// --- the notes of version 0.1

std::optional<OwnDemotionMark> FormerDemotion(const std::string& value,
                                              const std::string& image_id) {
  constexpr absl::string_view kOfImage = ", image ";
  constexpr absl::string_view kHeardAt = ", peers heard at ";
  const size_t found = value.rfind(std::string(kOfImage));
  if (found != std::string::npos &&
      value.substr(found + kOfImage.size()) != image_id) {
    return std::nullopt;
  }
  absl::string_view text = absl::string_view(value).substr(0, found);
  OwnDemotionMark mark;
  if (const size_t heard = text.find(kHeardAt);
      heard != absl::string_view::npos) {
    int64_t at = 0;
    if (!absl::SimpleAtoi(text.substr(heard + kHeardAt.size()), &at)) {
      return Unclear();
    }
    mark.heard = at;
    text = text.substr(0, heard);
  }
  mark.told_nobody = absl::ConsumeSuffix(&text, ", nobody told");
  const auto step = ParseStep(text);
  if (!step.has_value()) return Unclear();
  mark.step = *step;
  return mark;
}

/// What a note with the id of its image says of this one; null: nothing.
json OfThisImage(const std::string& text, const std::string& image_id) {
  json value = ParseJson(text);
  if (!value.is_object() || value.value(kImage, json()) != image_id) {
    return nullptr;
  }
  return value;
}

LocalRecord ReadFormer(const std::map<std::string, std::string>& metadata,
                       const std::string& image_id,
                       const std::string& global_id) {
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  LocalRecord record;
  if (const std::string mark = text(kOwnDemotionKey); !mark.empty()) {
    record.demotion = FormerDemotion(mark, image_id);
  }
  record.term = ParseTerm(OfThisImage(text(kPrimaryTermKey), image_id));
  if (const json from = OfThisImage(text(kPromotedFromKey), image_id);
      from.is_object() && from.value(kDemotion, json()).is_number_unsigned()) {
    record.promoted_from = from[kDemotion].get<uint64_t>();
  }
  record.first_copy_awaited = text(kFirstCopyKey) == image_id;
  if (json schedule = ParseJson(text(kScheduleKey));
      schedule.is_object() &&
      schedule.value("global_id", json()) == global_id) {
    schedule.erase("global_id");
    record.schedule = JsonText(schedule);
  }
  return record;
}

}  // namespace

std::string FormatLocalRecord(const LocalRecord& record,
                              const std::string& image_id,
                              const std::string& global_id) {
  json value = {{kRecordVersion, kVersion}, {kImage, image_id}};
  if (!global_id.empty()) value[kGlobal] = global_id;
  if (record.demotion.has_value()) {
    json demotion = {{kStep, Name(record.demotion->step)}};
    if (record.demotion->heard.has_value()) {
      demotion[kHeard] = *record.demotion->heard;
    }
    if (record.demotion->told_nobody) demotion[kToldNobody] = true;
    value[kDemotion] = std::move(demotion);
  }
  if (record.term.has_value()) {
    value[kTerm] = {{kSnapshot, record.term->snapshot},
                    {kSince, record.term->since}};
  }
  if (record.promoted_from.has_value()) {
    value[kPromotedFrom] = *record.promoted_from;
  }
  if (record.restored.has_value()) {
    value[kRestored] = {{kName, record.restored->name},
                        {kPoint, record.restored->point},
                        {kSnapshot, record.restored->snapshot}};
  }
  if (record.first_copy_awaited) value[kFirstCopy] = true;
  if (!record.schedule.empty()) value[kSchedule] = ParseJson(record.schedule);
  if (record.pause.has_value()) {
    value[kPause] = {{kStep, Name(record.pause->step)},
                     {kSince, record.pause->since},
                     {kSchedules, ParseJson(record.pause->schedules)}};
  }
  return JsonText(value);
}

LocalRecord ReadLocalRecord(const std::map<std::string, std::string>& metadata,
                            const std::string& image_id,
                            const std::string& global_id) {
  const auto found = metadata.find(kLocalRecordKey);
  return found == metadata.end()
             ? ReadFormer(metadata, image_id, global_id)
             : ParseRecord(found->second, image_id, global_id);
}

}  // namespace addons
