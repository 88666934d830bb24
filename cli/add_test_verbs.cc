#include <array>
#include <memory>
#include <string>

#include "cli/add_verbs.h"
#include "cli/durations.h"
#include "cli/points.h"
#include "cli/test_failover.h"

namespace addons {
namespace {

struct TestVerbTexts {
  TestVerb verb;
  const char* name;
  const char* text;
};

constexpr std::array<TestVerbTexts, 4> kTestVerbs = {{
    {TestVerb::kStart, "start",
     "Copy a point of volumes that is whole on this site into volumes of their "
     "own, and prove them on the way"},
    {TestVerb::kList, "list", "Show the test failovers of this site"},
    {TestVerb::kManifest, "manifest",
     "Print the PersistentVolumes and claims of tests, for kubectl apply"},
    {TestVerb::kStop, "stop", "Remove the tests of volumes"},
}};

void AddManifestOptions(CLI::App& sub, TestCommand& command) {
  sub.add_option("--claim-namespace", command.space,
                 "The namespace of the claims")
      ->required();
  sub.add_option("--secret", command.secret,
                 "NAMESPACE/NAME of the Secret with which the driver's nodes "
                 "mount (node-stage-secret of the StorageClass)")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& text) {
            const size_t slash = text.find('/');
            const bool is_name = slash != std::string::npos && slash > 0 &&
                                 slash + 1 < text.size() &&
                                 text.find('/', slash + 1) == std::string::npos;
            return is_name ? std::string() : "it is not NAMESPACE/NAME";
          },
          "NAMESPACE/NAME"));
  sub.add_option("--claim", command.claim,
                 "Of one volume: the name of its claim");
  sub.add_option("--fs-type", command.fs_type,
                 "The filesystem of the volumes, as their StorageClass says");
  sub.add_flag("--block", command.block,
               "They are devices, and no filesystems");
}

void Add(const TestVerbTexts& verb, CLI::App& parent, Program& program) {
  const auto command = std::make_shared<TestCommand>();
  const auto timeout_seconds = std::make_shared<double>(kLongReadSeconds);
  command->verb = verb.verb;
  Options& options = program.options();
  CLI::App& sub = *parent.add_subcommand(verb.name, verb.text);
  if (verb.verb == TestVerb::kList) {
    sub.add_option("--cluster", command->cluster,
                   "Only this cluster of config.json");
  } else {
    sub.add_option("id", command->ids, kVolumeText)->required();
    AddVolumePlaceOptions(sub, options);
  }
  if (verb.verb == TestVerb::kStart) {
    AddPointToAwait(sub, command->point);
    AddReadingRate(sub, command->mebibytes_per_second);
  }
  if (verb.verb == TestVerb::kManifest) AddManifestOptions(sub, *command);
  AddUserOptions(sub, options.secrets);
  AddSocketOptions(sub, options, Sockets::kAdmin);
  AddTimeoutOption(sub, *timeout_seconds, kWaitText);
  program.AddVerb(sub, [&program, command, timeout_seconds](Streams& streams) {
    AimAtAdminSocket(program.options(), *command);
    const int code = program.FindIds(PointersTo(command->ids), streams);
    if (code != 0) return code;
    command->timeout = Milliseconds(*timeout_seconds);
    return RunTestFailover(*command, streams);
  });
}

}  // namespace

void AddTestVerbs(Program& program) {
  CLI::App& test = *program.app().add_subcommand(
      "test", "Test failovers: try an application with a point of its volumes");
  test.require_subcommand(1);
  for (const TestVerbTexts& verb : kTestVerbs) Add(verb, test, program);
}

}  // namespace addons
