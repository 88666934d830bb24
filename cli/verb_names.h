#ifndef ADDONS_CLI_VERB_NAMES_H_
#define ADDONS_CLI_VERB_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}  // namespace CLI

namespace addons {

/// How many letters of `a` have to be put in, left out, replaced, or swapped
/// with the next one, to make `b` of it.
size_t LettersBetween(absl::string_view a, absl::string_view b);

/// The one of `names` that is meant by `misspelt`; empty: none is near.
std::string NearestName(absl::string_view misspelt,
                        const std::vector<std::string>& names);

/// What is said of the first word of `arguments` (the program's name first)
/// that stands where a verb has to stand and is none: "unknown verb 'promte';
/// did you mean 'promote'?". Empty: there is no such word.
std::string DescribeUnknownVerb(const CLI::App& app,
                                const std::vector<std::string>& arguments);

}  // namespace addons

#endif  // ADDONS_CLI_VERB_NAMES_H_
