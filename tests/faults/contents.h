#ifndef ADDONS_TESTS_FAULTS_CONTENTS_H_
#define ADDONS_TESTS_FAULTS_CONTENTS_H_

#include <map>
#include <string>

#include "tests/faults/rig.h"

namespace addons::testing {

/// What is there, key by key: FakeSite::Contents() with the site's name before
/// each key.
using Contents = std::map<std::string, std::string>;

/// The id of a group that was made in this run is random: without it.
std::string WithoutGroup(const Rig& rig, const std::string& text);

Contents ContentsOf(const Rig& rig, const FakeSite& site);

/// librbd's lock of a client that died stays until another one wants it (what
/// that client watches does not), and so does the empty object of its lease:
/// ADR 16 says until the volume is changed again.
void DropTracesOfTheDead(Contents* contents);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_CONTENTS_H_
