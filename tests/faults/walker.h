#ifndef ADDONS_TESTS_FAULTS_WALKER_H_
#define ADDONS_TESTS_FAULTS_WALKER_H_

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/faults/rig.h"

namespace addons::testing {

/// What random walks have in common: two sites, calls with faults in their
/// middle, and the story of all that happened. At its end it is appended to the
/// file that RBD_ADDONS_WALK_STORIES names: two builds that behave alike tell
/// the same stories.
class Walker {
 public:
  explicit Walker(unsigned long seed) : random_(seed), seed_(seed) {
    rig_.KeepLooking();
  }
  ~Walker();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  const std::vector<std::string>& wrong() const { return wrong_; }
  std::string story() const;
  /// How many calls met their fault.
  int struck() const { return struck_; }

 protected:
  size_t Pick(size_t count);
  void Note(const std::string& text);
  void Wrong(const std::string& text);

  std::optional<Fault> AnyFault();
  /// At which call of `site` it happens: any, or, for those of which it
  /// depends, rather librbd's promotion.
  Position AnyPosition(FakeSite& site, const Fault& fault);
  /// One call of a verb ("Promote", "Promote by force", "Demote", "Resync",
  /// "Resync by force", "Enable", "Disable"), in whose middle `fault` happens.
  /// The process that dies of it is started again.
  absl::Status Call(FakeSite& site, const std::string& verb,
                    const Fault* fault);
  /// As an operator repeats it, the second half of the time without faults;
  /// false: never OK.
  bool Until(const std::function<absl::Status()>& call);

  /// No faults from now on.
  void BeCalm() { calm_ = true; }
  /// Told of each call of Ceph in the middle of Call().
  void OnCephCall(
      std::function<void(absl::string_view site, absl::string_view call)>
          hook) {
    on_ceph_call_ = std::move(hook);
  }

  std::mt19937_64 random_;
  Rig rig_;
  bool group_ = false;  // the verbs are those of the group

 private:
  absl::Status Make(FakeSite& site, const std::string& verb);

  std::function<void(absl::string_view, absl::string_view)> on_ceph_call_;
  const unsigned long seed_;
  int struck_ = 0;
  bool calm_ = false;  // no faults now
  std::vector<std::string> story_;
  std::vector<std::string> wrong_;
};

/// Calls `walk` with so many seeds as RBD_ADDONS_WALKS says (`otherwise`
/// without it), from RBD_ADDONS_WALK_SEED on (which is printed), until a test
/// has failed. Returns how many there are.
unsigned long TakeWalks(unsigned long otherwise,
                        const std::function<void(unsigned long seed)>& walk);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_WALKER_H_
