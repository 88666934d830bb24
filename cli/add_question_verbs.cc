#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "cli/add_verbs.h"
#include "cli/adopt.h"
#include "cli/audit.h"
#include "cli/doctor.h"
#include "cli/durations.h"
#include "cli/gather.h"
#include "cli/history.h"
#include "cli/inspection.h"
#include "cli/rescue.h"

namespace addons {
namespace {

void AddAdopt(Program& program) {
  const auto command = std::make_shared<AdoptCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "adopt",
      "Make volumes known on this site that are mirrored here and were never "
      "restored in Kubernetes: write their entries into ceph-csi's journal. "
      "Without --yes it only shows them");
  CLI::Option& images =
      *sub.add_option("image", command->images,
                      "Mirrored images, as POOL/IMAGE or POOL/NAMESPACE/IMAGE");
  CLI::Option& pool =
      *sub.add_option("--pool", command->pool,
                      "Name of a pool: all its mirrored images instead")
           ->excludes(&images);
  sub.add_option("--rados-namespace", command->rados_namespace,
                 "With --pool: the RADOS namespace")
      ->needs(&pool);
  sub.add_option("--cluster", command->cluster,
                 "Their cluster in config.json, where that has several");
  sub.add_option("--pv-name", command->volume_name,
                 "Of one image: the name of its PersistentVolume, in place of "
                 "what the image tells")
      ->needs(&images);
  sub.add_option("--owner", command->owner,
                 "Of one image: the namespace of its claim, likewise")
      ->needs(&images);
  CLI::Option& kms =
      *sub.add_option("--kms", command->kms_id,
                      "Of encrypted images that do not tell it: the id of "
                      "their KMS (encryptionKMSID)");
  sub.add_option("--encryption-type", command->encryption_type,
                 "With --kms: how they are encrypted; block is the default. "
                 "file counts for each image that is named: none shows it")
      ->needs(&kms)
      ->check(CLI::IsMember({"block", "file"}));
  sub.add_flag("--yes", command->yes, "Write what is shown otherwise");
  AddAdminVerb(program, sub, command, &RunAdopt);
}

void AddAudit(Program& program) {
  const auto command = std::make_shared<AuditCommand>();
  Options& options = program.options();
  CLI::App& sub = *program.app().add_subcommand(
      "audit", "Look for what is wrong although every status says otherwise");
  sub.add_option("what", command->kind, "What to look at")
      ->capture_default_str()
      ->check(CLI::IsMember(AuditKinds()));
  sub.add_option("--pool", command->pool, "Name of the pool")->required();
  sub.add_option("--cluster", command->cluster,
                 "Its cluster in config.json, where that has several");
  sub.add_option("--fence-ends-within", command->fence_ends_within,
                 "Name fences that end within so many seconds, or 90s, 48h")
      ->capture_default_str()
      ->transform(AsSeconds())
      ->check(CLI::Range(1U, 315360000U));
  CLI::Option& repair = *sub.add_flag(
      "--repair", command->repair,
      "Show what the daemon may repair of it, ask, and have it done; the rest "
      "stays a command for a person");
  sub.add_flag("--yes", command->yes, "With --repair: do not ask")
      ->needs(&repair);
  AddUserOptions(sub, options.secrets);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  program.AddVerb(sub, [&options, command](Streams& streams) {
    AimAtAdminSocket(options, *command);
    return RunAudit(*command, streams);
  });
}

void AddExplain(Program& program) {
  const auto command = std::make_shared<ExplainCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "explain",
      "Show all that this site knows of a volume or volume group, and what "
      "promote, demote and resync would answer now");
  sub.add_option("id", command->id, kVolumeText)->required();
  AddVolumePlaceOptions(sub, program.options(),
                        sub.add_flag("--group", command->group,
                                     "It is the id of a volume group"));
  AddClassParameters(sub, command->parameters);
  AddAdminVerb(program, sub, command, &RunExplain, &IdOfVolume,
               Program::MayBeWatched::kYes);
}

void AddDoctor(Program& program) {
  const auto command = std::make_shared<DoctorCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "doctor",
      "Look through the installation: files, limits, clusters, capabilities, "
      "mirroring. Ends with 0 when nothing is wrong, or with 9");
  CLI::Option& before = *sub.add_flag(
      "--before-handover", command->before_handover,
      "Also what has to be true before this daemon takes over from another "
      "server");
  sub.add_option("--confirmed", command->confirmed,
                 "ID of a check that only a person can make, and has; repeat "
                 "it for more")
      ->needs(&before)
      ->type_name("ID")
      ->allow_extra_args(false);
  sub.add_flag("--all", command->all, "Print what is in order, too");
  AddAdminVerb(program, sub, command, &RunDoctor);
}

void AddGather(Program& program) {
  const auto command = std::make_shared<GatherCommand>();
  Options& options = program.options();
  CLI::App& sub = *program.app().add_subcommand(
      "gather",
      "Write all that helps somebody who helps from afar into one tar: "
      "versions, configuration, doctor, status, explanations, operations, "
      "history, audit and metrics, without keys. Ends with 9 when not all "
      "could be had; its index says why");
  sub.add_option("-o,--output", command->output,
                 "The file; - is standard output; without it "
                 "rbd-addons-gather-TIME.tar in this folder");
  sub.add_flag("--force", command->replace, "Replace a file that is there");
  CLI::Option& admin = *sub.add_option(
      "--from-admin", command->from_admin,
      "Socket for administrators of the other site's daemon: ask it, too");
  sub.add_option("--from-secrets-file", command->from_secrets.file,
                 "As --secrets-file, for that daemon")
      ->needs(&admin);
  AddUserOptions(sub, options.secrets);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  AddInputEndOption(sub, options);
  program.AddPlainVerb(sub, [&options, command](Streams& streams) {
    AimAtAdminSocket(options, *command);
    return RunGather(*command, streams);
  });
}

void AddHistory(Program& program) {
  const auto command = std::make_shared<HistoryCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "history",
      "Show what happened to a volume, a volume group or a pool: calls with "
      "their answers, and changes of roles");
  CLI::Option& id = *sub.add_option("id", command->id, kVolumeText);
  CLI::Option& pool = *sub.add_option("--pool", command->pool,
                                      "Name of a pool: all of it instead")
                           ->excludes(&id);
  sub.add_flag("--group", command->group, "It is the id of a volume group")
      ->needs(&id);
  sub.add_option("--cluster", command->cluster,
                 "With --pool: its cluster in config.json, where that has "
                 "several")
      ->needs(&pool);
  sub.add_option("--since", command->since,
                 "90s, 2h, 3d, or a time such as 2026-11-20T03:00:00Z")
      ->check([](const std::string& text) {
        return std::string(ReadSince(text, absl::Now()).status().message());
      });
  sub.add_option("--limit", command->limit, "How many of the newest are shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 2000));
  AddAdminVerb(
      program, sub, command, &RunHistory,
      [](HistoryCommand& asked) {
        return asked.id.empty() ? std::vector<std::string*>()
                                : IdOfVolume(asked);
      },
      Program::MayBeWatched::kYes);
}

void AddCheckFailover(Program& program) {
  const auto command = std::make_shared<CheckFailoverCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "check-failover",
      "Say whether volumes and volume groups could be promoted on this site "
      "now, and what a forced promotion would lose");
  CLI::Option& ids = *sub.add_option("id", command->ids, kVolumeText);
  CLI::Option& groups = *sub.add_option("--group", command->groups,
                                        "Id of a volume group; may be repeated")
                             ->allow_extra_args(false);
  CLI::Option& pool =
      *sub.add_option("--pool", command->pool,
                      "Name of a pool: all its mirrored images instead")
           ->excludes(&ids)
           ->excludes(&groups);
  sub.add_flag("--all", command->all,
               "All mirrored images of this site instead")
      ->excludes(&ids)
      ->excludes(&groups)
      ->excludes(&pool);
  sub.add_option("--cluster", command->cluster,
                 "With --pool or --all: only this cluster of config.json")
      ->excludes(&ids)
      ->excludes(&groups);
  CLI::Option& planned =
      *sub.add_flag("--planned", command->planned,
                    "Exit with 0 only when all would be promoted planned");
  sub.add_flag("--force", command->forced,
               "Exit with 0 only when all would be promoted by force")
      ->excludes(&planned);
  AddClassParameters(sub, command->parameters);
  AddAdminVerb(program, sub, command, &RunCheckFailover, &IdsOf,
               Program::MayBeWatched::kYes);
}

void AddRescue(Program& program) {
  const auto command = std::make_shared<RescueCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "rescue",
      "Show how far a forced promotion in the middle of a copy is, and decide "
      "what becomes of an image that was written to meanwhile");
  sub.add_option("id", command->id, kVolumeText)->required();
  CLI::Option& keep =
      *sub.add_flag("--keep", command->keep,
                    "Keep what is in the image, drop the saved state");
  sub.add_flag("--restore", command->restore,
               "Write the saved state over what is in the image")
      ->excludes(&keep);
  AddYes(sub, command->yes, "either");
  AddVolumePlaceOptions(sub, program.options());
  AddAdminVerb(program, sub, command, &RunRescue, &IdOfVolume);
}

}  // namespace

void AddQuestionVerbs(Program& program) {
  AddAdopt(program);
  AddAudit(program);
  AddCheckFailover(program);
  AddExplain(program);
  AddDoctor(program);
  AddGather(program);
  AddHistory(program);
  AddRescue(program);
}

}  // namespace addons
