#include "cli/commands.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "cli/add_verbs.h"
#include "cli/channel.h"
#include "cli/exit_codes.h"
#include "cli/input_end.h"
#include "cli/program.h"
#include "cli/secrets.h"
#include "cli/verb_help.h"
#include "cli/verb_names.h"
#include "cli/watch.h"

namespace addons {
namespace {

std::string Footer() {
  std::string text = "Exit codes:";
  for (const ExitCode& code : kExitCodes) {
    absl::StrAppend(&text, "\n  ", code.code, ": ", code.meaning);
  }
  return text;
}

OutputFormat FormatOf(const std::string& output) {
  if (output == "json") return OutputFormat::kJson;
  return output == "yaml" ? OutputFormat::kYaml : OutputFormat::kText;
}

/// https://no-color.org.
bool WantsColors() {
  const char* const no =
      std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  return no == nullptr || *no == '\0';
}

Streams StreamsFor(const Options& options, std::istream& in, std::ostream& out,
                   std::ostream& err) {
  Streams streams{in, out, err};
  streams.format = FormatOf(options.output);
  streams.wide = options.output == "wide";
  streams.verbose = options.verbose;
  streams.in_is_terminal = &in == &std::cin && isatty(STDIN_FILENO) == 1;
  streams.out_is_terminal = &out == &std::cout && isatty(STDOUT_FILENO) == 1;
  streams.err_is_terminal = &err == &std::cerr && isatty(STDERR_FILENO) == 1;
  streams.color = streams.out_is_terminal && WantsColors();
  return streams;
}

int RunVerb(const Program::Verb& verb, const Options& options,
            Streams& streams) {
  if (!options.watch.empty()) {
    const absl::StatusOr<double> seconds = ParseSeconds(options.watch);
    if (!seconds.ok() || *seconds < 0.1 || *seconds > 86400) {
      return Fail(
          absl::InvalidArgumentError(
              "--watch takes seconds between 0.1 and 86400, or 90s, 5m"),
          kCliUsage, streams);
    }
    return RunWatched(Milliseconds(*seconds), verb.run, streams);
  }
  const int code = verb.run(streams);
  if (code == 0 && streams.verbose && !streams.trailers.request_id.empty()) {
    streams.err << "request " << streams.trailers.request_id << "\n";
  }
  return code;
}

/// What stands behind one is taken for something else, which would be told
/// first.
std::vector<std::string> UnknownOptions(const CLI::App& app) {
  std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  std::erase_if(unknown, [](const std::string& word) {
    return !absl::StartsWith(word, "--") || word == "--";
  });
  return unknown;
}

}  // namespace

void AddAllVerbs(Program& program) {
  program.app().footer(Footer());
  program.app().set_version_flag("--version", "rbd-addons " ADDONS_VERSION);
  AddStatusVerb(program);
  AddDaemonVerbs(program);
  AddQuestionVerbs(program);
  AddReplicationVerbs(program);
  AddCopyingVerbs(program);
  AddPointVerbs(program);
  AddTestVerbs(program);
  AddSiteVerbs(program);
  AddStorageVerbs(program);
  AddConformanceVerb(program);
  AddHelpVerbs(program);
  LayOutHelp(program.app());
}

int RunCli(const std::vector<std::string>& arguments, std::istream& in,
           std::ostream& out, std::ostream& err) {
  Program program;
  AddAllVerbs(program);
  if (const std::string unknown = DescribeUnknownVerb(program.app(), arguments);
      !unknown.empty()) {
    err << unknown << "\n";
    return kCliUsage;
  }
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (words.empty() && CheckListener(program.options().admin_endpoint).ok()) {
    // Nobody has said how long to wait for a daemon that hangs.
    words = {kStatusVerb, "--timeout=10"};
    err << "`rbd-addons --help` has all verbs; this is `rbd-addons "
        << kStatusVerb << "`\n";
  }
  try {
    // CLI11 takes them last first.
    program.app().parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = UnknownOptions(program.app());
    if (error.get_exit_code() == 0 || unknown.empty()) {
      return program.app().exit(error, out, err) == 0 ? 0 : kCliUsage;
    }
    program.app().exit(CLI::ExtrasError(unknown), out, err);
    return kCliUsage;
  }
  Streams streams = StreamsFor(program.options(), in, out, err);
  const absl::Status taken = TakeSecretsFrom(in, program.options().secrets);
  if (!taken.ok()) return Fail(taken, kCliUsage, streams);
  std::optional<InputEnd> input_end;
  if (program.options().ends_with_input) {
    input_end.emplace(STDIN_FILENO, [] { kill(getpid(), SIGINT); });
  }
  for (const Program::Verb& verb : program.verbs()) {
    if (verb.app->parsed()) return RunVerb(verb, program.options(), streams);
  }
  return kCliUsage;
}

}  // namespace addons
