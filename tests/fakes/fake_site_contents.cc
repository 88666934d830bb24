#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ceph/mirror.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/fake_world.h"

namespace addons {
namespace {

using Words = std::map<std::string, std::string>;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// How long the time is that `text` begins with: seconds since 1970, or a date
/// with the time of day. 0: it begins with something else.
size_t LengthOfTime(absl::string_view text) {
  constexpr absl::string_view kDate = "dddd-dd-ddTdd:dd:dd";
  const auto digits = [&](size_t from) {
    size_t end = from;
    while (end < text.size() && IsDigit(text[end])) ++end;
    return end - from;
  };
  const auto ends_at = [&](size_t end) {
    return end == text.size() ||
           !absl::ascii_isalnum(static_cast<unsigned char>(text[end]));
  };
  if (digits(0) == 10 && text[0] == '1' && ends_at(10)) return 10;
  // As librbd's creation time is written: "seconds:1 nanos:2".
  constexpr absl::string_view kNanos = "nanos:";
  if (absl::StartsWith(text, kNanos)) {
    return kNanos.size() + digits(kNanos.size());
  }
  if (text.size() < kDate.size()) return 0;
  for (size_t i = 0; i < kDate.size(); ++i) {
    if (kDate[i] == 'd' ? !IsDigit(text[i]) : kDate[i] != text[i]) return 0;
  }
  size_t length = kDate.size();
  if (length < text.size() && text[length] == '.') length += 1;
  length += digits(length);
  return length < text.size() && text[length] == 'Z' ? length + 1 : length;
}

std::string WithoutTimes(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const bool begins =
        i == 0 || !absl::ascii_isalnum(static_cast<unsigned char>(text[i - 1]));
    const size_t length =
        begins ? LengthOfTime(absl::string_view(text).substr(i)) : 0;
    if (length > 0) {
      result += "<time>";
      i += length;
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string Plain(const std::string& text, const Words& words) {
  return WithoutTimes(absl::StrReplaceAll(text, words));
}

std::string DescribeMirroring(const model::Model& model,
                              const model::Image& image) {
  const MirrorImageInfo info = model.Info(image);
  std::string text(Name(info.state));
  if (info.state == MirrorImageState::kDisabled) return text;
  absl::StrAppend(&text, " ", Name(info.mode),
                  info.primary ? " primary" : " secondary",
                  info.primary && image.read_only() ? ", refuses writes" : "");
  if (const model::Snapshot* const newest = image.newest()) {
    absl::StrAppend(&text, ", newest ", Name(newest->info.kind),
                    newest->info.complete ? "" : " incomplete");
  }
  int incomplete = 0;
  for (const model::Snapshot& snapshot : image.snapshots) {
    incomplete += snapshot.info.complete ? 0 : 1;
  }
  if (incomplete > 0) absl::StrAppend(&text, ", ", incomplete, " incomplete");
  return text;
}

void AddImage(const model::Model& model, const model::Site& site,
              const model::Image& image, const std::string& at,
              const Words& words, Words* result) {
  Words& all = *result;
  all[absl::StrCat(at, " mirroring")] = DescribeMirroring(model, image);
  all[absl::StrCat(at, " data")] =
      absl::StrCat(image.torn() ? "torn" : "whole", " ",
                   image.content.empty() ? 0 : image.content.front());
  all[absl::StrCat(at, " size")] = absl::StrCat(image.size.bytes);
  all[absl::StrCat(at, " objects")] =
      absl::StrCat(image.used_objects, " used, ", image.zero_objects, " zero");
  if (image.parent) all[absl::StrCat(at, " parent")] = "yes";
  if (image.group) all[absl::StrCat(at, " group")] = image.group->name;
  if (image.lock) all[absl::StrCat(at, " lock")] = "held";
  for (const ImageSnapshot& snapshot : image.other_snapshots) {
    all[absl::StrCat(at, " snapshot ", snapshot.name)] = "there";
  }
  for (const auto& [key, value] : image.metadata) {
    all[absl::StrCat(at, " metadata ", key)] = Plain(value, words);
  }
  const std::vector<Watcher> mirrors = model.MirroringWatchers(site);
  size_t others = 0;
  for (const Watcher& watcher : model.Watchers(site, image)) {
    bool mirror = false;
    for (const Watcher& one : mirrors) {
      mirror = mirror || one.client_id == watcher.client_id;
    }
    others += mirror ? 0U : 1U;
  }
  if (others > 0) all[absl::StrCat(at, " watchers")] = absl::StrCat(others);
}

void AddNamespace(const model::Model& model, const model::Site& site,
                  const model::Namespace& space, const std::string& pool,
                  const Words& words, Words* result) {
  Words& all = *result;
  for (const auto& [name, image] : space.images) {
    AddImage(model, site, *image, absl::StrCat("image ", pool, name), words,
             result);
  }
  for (const auto& [object, values] : space.omap) {
    const std::string at = absl::StrCat("object ", pool, Plain(object, words));
    all[at] = "there";
    for (const auto& [key, value] : values) {
      all[absl::StrCat(at, " key ", Plain(key, words))] = Plain(value, words);
    }
  }
  for (const auto& [where, held] : space.locks) {
    if (held.until <= model.now()) continue;
    all[absl::StrCat("lock ", pool, Plain(where.first, words))] = "held";
  }
  for (const auto& [name, members] : space.groups) {
    const std::string at = absl::StrCat("group ", pool, name);
    all[at] = "there";
    for (const auto& [member, complete] : members) {
      all[absl::StrCat(at, " member ", Plain(member.second, words))] =
          complete ? "complete" : "incomplete";
    }
  }
  for (const auto& [name, snapshots] : space.group_snapshots) {
    for (const std::string& snapshot : snapshots) {
      all[absl::StrCat("group ", pool, name, " snapshot ", snapshot)] = "there";
    }
  }
}

void AddBlocklist(const model::Model& model, const model::Site& site,
                  Words* result) {
  const WallTime now = model.wall() + site.clock_skew;
  const auto add = [&](const std::string& key, WallTime until) {
    if (until <= now) return;
    // An hour more or less is how long the run took.
    const auto days =
        std::chrono::duration_cast<std::chrono::hours>(until - now).count() /
        24;
    (*result)[absl::StrCat("blocklist ", key)] = absl::StrCat(days, " days");
  };
  for (const auto& [key, until] : site.blocklist) {
    // "address:port/nonce" is one client: of this process, or an rbd-mirror.
    if (absl::EndsWith(key, ":0/0")) add(key, until);
  }
  for (const auto& [key, until] : site.range_blocklist) {
    add(absl::StrCat("range ", key), until);
  }
}

}  // namespace

Words FakeSite::Contents() const {
  MutexLock lock(world_.mutex_);
  Words words = {{site_.mirror_uuid, "<this site>"}};
  if (site_.peer != nullptr) words[site_.peer->mirror_uuid] = "<peer>";
  for (const auto& [id, pool] : site_.pools) {
    for (const auto& [name, space] : pool.namespaces) {
      for (const auto& [image_name, image] : space.images) {
        words[image->id] = absl::StrCat("<id of ", image_name, ">");
      }
    }
  }
  Words all;
  for (const auto& [id, pool] : site_.pools) {
    for (const auto& [name, space] : pool.namespaces) {
      AddNamespace(world_.model_, site_, space,
                   absl::StrCat(pool.name, "/", name.empty() ? "" : name + "/"),
                   words, &all);
    }
  }
  for (const auto& [level, schedule] : site_.schedules) {
    for (const auto& [minutes, start] : schedule.items) {
      all[absl::StrCat("schedule ", schedule.name, " ", minutes, "m ", start)] =
          "there";
    }
  }
  for (const model::FlattenTask& task : site_.tasks) {
    all[absl::StrCat("task flatten ", task.image_name)] = "there";
  }
  AddBlocklist(world_.model_, site_, &all);
  return all;
}

}  // namespace addons
