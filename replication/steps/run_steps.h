#ifndef ADDONS_REPLICATION_STEPS_RUN_STEPS_H_
#define ADDONS_REPLICATION_STEPS_RUN_STEPS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "replication/decide/next.h"
#include "replication/session.h"

namespace addons {

/// Steps that end by a patience of their own.
inline bool HasPatience(Step step) {
  return step == Step::kPromote || step == Step::kPromoteByForce ||
         step == Step::kRescue || step == Step::kResumeDemotionCopy;
}

/// The loop of every verb: it looks, asks its table what comes next, and waits
/// or does that one step, until the table answers. Blocks as the verb does. A
/// status that is not OK of any part ends it. `verb` has:
///
///   absl::Status See();                  a look
///   absl::StatusOr<Next> Judge();        the table's word; changes nothing
///   absl::Status Await(const Next&);     of a step that waits
///   absl::Status Act(const Next&);       of any other one; counted in `done`
///   absl::Status Answer(const Next&);    what the call is answered
///   Done done;
///   bool fresh;                          Act() has left a look: none is made
///
/// VerbRun brings the last two.
///
/// A step that is named again and again without effect ends it, too.
template <typename Verb>
absl::Status RunSteps(Verb& verb) {
  constexpr int kMostTries = 10;
  while (true) {
    if (!std::exchange(verb.fresh, false)) {
      ADDONS_RETURN_IF_ERROR(verb.See());
    }
    ADDONS_ASSIGN_OR_RETURN(const Next next, verb.Judge());
    if (next.answers()) return verb.Answer(next);
    if (next.waits()) {
      ADDONS_RETURN_IF_ERROR(verb.Await(next));
    } else if (verb.done.Of(next.step) >= kMostTries &&
               !HasPatience(next.step)) {
      return verb.Answer(Answer(absl::StatusCode::kUnavailable,
                                absl::StrCat("what was done about '", next.row,
                                             "' has no effect; check the "
                                             "cluster's health and repeat the "
                                             "call")));
    } else {
      verb.done.Count(next.step);
      ADDONS_RETURN_IF_ERROR(verb.Act(next));
    }
  }
}

/// What the runs of all verbs have: one call's work with one volume, from the
/// first look to the answer. For one thread.
template <typename Request>
class VerbRun {
 public:
  Done done;           // what this run has done
  bool fresh = false;  // a look after the last step is there

 protected:
  /// `action` as messages tell it: "demote", "enable replication of".
  VerbRun(const char* action, const Request& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session),
        action_(action) {}
  ~VerbRun() = default;

  /// FailedTo() of this verb and volume.
  absl::Status Failed(absl::StatusCode code, absl::string_view reason) const {
    return FailedTo(action_, session_.volume, code, reason);
  }
  /// What the table says, as the call's answer.
  absl::Status Told(const Next& next) const {
    return next.code == absl::StatusCode::kOk ? absl::OkStatus()
                                              : Failed(next.code, next.reason);
  }

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const Request& request_;
  Session& session_;

 private:
  const char* const action_;
};

/// Of a step that is none of the verb's.
inline absl::Status NoSuchStep() {
  return absl::InternalError("the table named a step that the verb has not");
}

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_RUN_STEPS_H_
