#include "replication/look/manager_presence.h"

#include <algorithm>
#include <utility>

namespace addons {

/// The end of a question, however it comes.
class ManagerPresence::Landing {
 public:
  Landing(ManagerPresence& presence, const Asker& asker,
          std::shared_ptr<Question> question)
      : presence_(presence), asker_(asker), question_(std::move(question)) {}
  ~Landing() {
    const MutexLock lock(presence_.mutex_);
    question_->ended = true;
    presence_.known_[asker_].running = nullptr;
    presence_.changed_.NotifyAll();
  }
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

 private:
  ManagerPresence& presence_;
  const Asker& asker_;
  const std::shared_ptr<Question> question_;
};

absl::Status ManagerPresence::Ask(const Asker& asker, SteadyTime deadline,
                                  absl::FunctionRef<absl::Status()> ask) {
  std::shared_ptr<Question> question;
  {
    const MutexLock lock(mutex_);
    if (Find(asker) != nullptr) {
      absl::Status joined = Join(asker, deadline, &question);
      if (question == nullptr) return joined;
    }
  }
  if (question == nullptr) return ask();
  const SteadyTime asked_at = clock_.Now();
  const Landing landing(*this, asker, question);
  absl::Status answer = ask();
  if (answer.ok()) {
    NoteAnswer(asker, asked_at);
  } else {
    const MutexLock lock(mutex_);
    question->error = answer;
  }
  return answer;
}

absl::Status ManagerPresence::Join(const Asker& asker, SteadyTime deadline,
                                   std::shared_ptr<Question>* question) {
  const SteadyTime came = clock_.Now();
  while (true) {
    Known& known = known_[asker];
    if (known.CountsAt(came)) return absl::OkStatus();
    if (known.running == nullptr) {
      known.running = *question = std::make_shared<Question>();
      return absl::OkStatus();
    }
    const std::shared_ptr<Question> theirs = known.running;
    bool late = false;
    while (!theirs->ended && !known_[asker].CountsAt(came)) {
      if (late) {
        return absl::UnavailableError(
            "another call has asked it, and it has not answered yet");
      }
      late = !changed_.WaitUntil(mutex_, deadline);
    }
    if (!theirs->error.ok()) return theirs->error;
  }
}

void ManagerPresence::NoteAnswer(const Asker& asker, SteadyTime asked_at) {
  const MutexLock lock(mutex_);
  Known* const known = Find(asker);
  if (known == nullptr) return;
  known->answered = std::max(known->answered.value_or(asked_at), asked_at);
  changed_.NotifyAll();
}

ManagerPresence::Known* ManagerPresence::Find(const Asker& asker) {
  if (const auto found = known_.find(asker); found != known_.end()) {
    return &found->second;
  }
  if (known_.size() >= kMostKept) {
    const SteadyTime now = clock_.Now();
    std::erase_if(known_, [now](const auto& entry) {
      return entry.second.running == nullptr && !entry.second.CountsAt(now);
    });
    if (known_.size() >= kMostKept) return nullptr;
  }
  return &known_[asker];
}

}  // namespace addons
