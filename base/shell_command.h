#ifndef ADDONS_BASE_SHELL_COMMAND_H_
#define ADDONS_BASE_SHELL_COMMAND_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace addons {

/// `word` as a shell takes it for one word with this text, whatever it holds.
std::string ShellWord(absl::string_view word);

/// "first second ...", each of `words` a ShellWord().
std::string ShellCommand(const std::vector<std::string>& words);

/// A rados command on a pool and namespace ("": the default one).
std::string RadosCommand(const std::string& pool,
                         const std::string& rados_namespace,
                         const std::vector<std::string>& words);

}  // namespace addons

#endif  // ADDONS_BASE_SHELL_COMMAND_H_
