#ifndef ADDONS_TESTS_INTEGRATION_DOCTOR_BED_H_
#define ADDONS_TESTS_INTEGRATION_DOCTOR_BED_H_

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"

namespace addons::testing {

/// Base of the suites that ask doctor on real clusters.
class DoctorBed : public TwoSitesTest {
 protected:
  using json = nlohmann::json;

  /// The pool itself, without its namespaces, as a finding calls it.
  static constexpr char kPlace[] = "pool 'replicapool'";

  /// What doctor has found.
  struct Found {
    json all;

    /// Of the first finding with this id whose object has this text; "" where
    /// there is none.
    std::string Of(const std::string& id, const char* field,
                   const std::string& object = "") const {
      for (const json& finding : all.value("findings", json::array())) {
        if (finding.value("id", "") == id &&
            absl::StrContains(finding.value("object", ""), object)) {
          return finding.value(field, "");
        }
      }
      return "";
    }
    /// "OK", "PROBLEM" and so on.
    std::string Verdict(const std::string& id,
                        const std::string& object = "") const {
      return Of(id, "verdict", object);
    }
    std::string Seen(const std::string& id,
                     const std::string& object = "") const {
      return Of(id, "seen", object);
    }
    std::string Remedy(const std::string& id,
                       const std::string& object = "") const {
      return Of(id, "remedy", object);
    }
  };

  static std::string SecretsOf(const std::string& site) {
    return Bed().Path(absl::StrCat(site, "/secrets.json"));
  }
  static CliResult Ask(const std::string& site,
                       std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--secrets-file", SecretsOf(site)});
    return RbdAddons(Daemon(site), std::move(arguments));
  }
  static Found Diagnose(const DaemonProcess& daemon, const std::string& secrets,
                        std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"doctor", "--json", "--secrets-file", secrets});
    const CliResult result = RbdAddons(daemon, std::move(more));
    Found found{ParseJson(result.out)};
    if (!found.all.is_object()) {
      ADD_FAILURE() << result.out << result.err;
      found.all = json::object();
    }
    return found;
  }
  static Found Diagnose(const std::string& site,
                        std::vector<std::string> more = {}) {
    return Diagnose(Daemon(site), SecretsOf(site), std::move(more));
  }

  /// Runs a remedy that is a command of rbd, rados or ceph, as it stands there,
  /// as administrator of the site.
  static void RunRemedy(const std::string& site, const std::string& command) {
    const std::string conf = Bed().Path(absl::StrCat(site, "/ceph.conf"));
    // NOLINTNEXTLINE(concurrency-mt-unsafe, cert-env33-c)
    EXPECT_EQ(std::system(absl::StrCat("export CEPH_CONF='", conf, "'; { ",
                                       command, "; } </dev/null >&2")
                              .c_str()),
              0)
        << command;
  }
  static void WriteFile(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_DOCTOR_BED_H_
