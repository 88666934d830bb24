"""A real Prometheus scrapes two real runs, the daemon itself and the daemon on simulated sites: our
rules and the dashboard's queries find what they expose, with the labels that they name."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

from model import CLI, Model, await_it, free_port
from objects import CHART, main
from rules import NAME, RULES, expressions, with_all

DAEMON = os.environ.get("DAEMON")
# What is there only now and then, and by right is not there in a quiet run.
SELDOM = {"rbd_addons_operations_by_stage", "rbd_addons_operation_oldest_by_stage_seconds",
          "rbd_addons_replication_missed_snapshots"}


class Daemon:
    """The program with both parts. Its one cluster is not there: it has called Ceph in vain."""

    def __enter__(self):
        self.place = tempfile.TemporaryDirectory(dir="/tmp")
        folder = Path(self.place.name)
        (folder / "config.json").write_text('[{"clusterID": "gone", "monitors": ["127.0.0.1:1"]}]')
        (folder / "secrets.json").write_text(json.dumps({"userID": "a", "userKey": "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=="}))
        self.url = f"http://127.0.0.1:{free_port()}/metrics"
        endpoint = f"unix://{folder}/s"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(f"{folder}/notify")
            notify.settimeout(120)
            self.process = subprocess.Popen(
                [DAEMON, "--controllerserver", "--nodeserver", "--nodeid=n", f"--csi-addons-endpoint={endpoint}",
                 f"--config-dir={folder}", f"--metricsport={urllib.parse.urlsplit(self.url).port}", "--log-format=json",
                 "--connect-timeout=1s"],
                env={**os.environ, "NOTIFY_SOCKET": f"{folder}/notify"}, stderr=subprocess.PIPE, text=True)
            if notify.recv(64) != b"READY=1":
                raise AssertionError("the daemon does not serve")
        volume = "0001-0004-gone-0000000000000001-5ef79ce1-81e8-439b-8405-35138edf5b89"
        asked = subprocess.run([CLI, "info", volume, "--endpoint", endpoint, "--secrets-file", folder / "secrets.json",
                                "--timeout", "60"], capture_output=True, text=True)
        if asked.returncode == 0:
            raise AssertionError(f"a cluster that is not there answers: {asked.stdout}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.log = self.process.communicate(timeout=120)[1]
        self.place.cleanup()

    def metrics(self):
        with urllib.request.urlopen(self.url, timeout=60) as answer:
            return answer.read().decode()


class Prometheus:
    """Scrapes `urls` each second and evaluates our rules."""

    def __init__(self, folder, urls):
        self.folder = folder
        self.urls = urls
        self.port = free_port()

    def __enter__(self):
        folder = self.folder / "prometheus"
        folder.mkdir()
        (folder / "rules.yaml").write_text(RULES.read_text())
        targets = [urllib.parse.urlsplit(url).netloc for url in self.urls]
        (folder / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": "rbd-addons", "static_configs": [{"targets": targets}]}]}))
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()

    def ask(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 503:  # it listens before it has read its storage
                    return None
                raise AssertionError(f"{parameters}: {error.read().decode()}") from None
        except urllib.error.URLError:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise AssertionError(f"prometheus ended:\n{self.log.read()}") from None
            return None  # it starts

    def query(self, expression):
        data = self.ask("query", query=with_all(expression, "30s"))
        return data["result"] if data else []


@unittest.skipUnless(DAEMON, "DAEMON is not set")
@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not here (package prometheus)")
class Scrape(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def begin(what):
            begun = what.__enter__()
            cls.addClassCleanup(what.__exit__)
            return begun
        cls.model = begin(Model(20))
        # Something of each kind has happened.
        cls.model.cli("promote", cls.model.volumes[4], "--parameter", "schedulingInterval=1m")
        cls.model.cli("fence", "10.9.9.9/32", "--cluster", "site-a", "--yes")
        cls.model.cli("reclaim", cls.model.volumes[5])
        cls.daemon = begin(Daemon())
        await_it("the watch has seen the schedule", lambda: "rbd_addons_replication_newest_snapshot_timestamp_seconds{" in cls.model.metrics())
        cls.prometheus = begin(Prometheus(cls.model.folder, [cls.model.metrics_url, cls.daemon.url]))
        await_it("Prometheus has scraped both some times",
                 lambda: len([s for s in cls.prometheus.query("count_over_time(rbd_addons_build_info[5m])")
                              if float(s["value"][1]) >= 3]) == 2)

    def pages(self):
        return self.model.metrics(), self.daemon.metrics()

    def test_nothing_of_a_scrape_is_refused(self):
        targets = self.prometheus.ask("targets")["activeTargets"]
        self.assertEqual([(t["health"], t["lastError"]) for t in targets], 2 * [("up", "")], targets)
        for page in self.pages():
            lines = [line for line in page.splitlines() if line and not line.startswith("#")]
            self.assertEqual(len({line.rsplit(" ", 1)[0] for line in lines}), len(lines), "two lines of one series")

    def test_every_metric_in_rules_and_dashboard_is_exposed(self):
        page = "".join(self.pages())
        announced = set(re.findall(r"^# TYPE (\w+) ", page, re.M))
        sampled = {re.sub(r"_(bucket|count|sum)$", "", name) if name not in announced else name
                   for name in re.findall(r"^(\w+)[{ ]", page, re.M) if name != "#"}
        used = {re.sub(r"_(bucket|count|sum)$", "", name) for _, e in expressions() for name in NAME.findall(e)}
        self.assertGreater(len(used), 30)
        self.assertLessEqual(used, announced)
        self.assertLessEqual(used - SELDOM, sampled)

    def test_every_query_of_the_dashboard_has_an_answer_with_its_labels(self):
        panels = json.loads((CHART / "files" / "dashboard.json").read_text())["panels"]
        for panel in panels:
            for target in panel["targets"]:
                with self.subTest(panel["title"]):
                    seen = self.prometheus.query(target["expr"])
                    if SELDOM & set(NAME.findall(target["expr"])):
                        continue
                    self.assertTrue(seen, target["expr"])
                    for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
                        # The default namespace is the empty one, which is no label to Prometheus.
                        if label != "namespace":
                            self.assertTrue(all(label in series["metric"] for series in seen), (label, target))

    def test_rules_are_evaluated_and_fire_for_what_is_wrong_only(self):
        def rules():
            groups = self.prometheus.ask("rules")["groups"]
            found = {rule["name"]: rule for group in groups for rule in group["rules"]}
            return found if all(rule["health"] != "unknown" for rule in found.values()) else None
        found = await_it("all rules were evaluated", rules)
        wanted = {rule.get("alert") or rule["record"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
        self.assertEqual(set(found), wanted)
        for name, rule in found.items():
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), name)
        # What the model has in trouble; most of them wait for some minutes more.
        active = {name for name, rule in found.items() if rule.get("state", "inactive") != "inactive"}
        self.assertLessEqual({"RbdAddonsSplitBrain", "RbdAddonsImagesInError", "RbdAddonsFenceExpires"}, active)
        self.assertFalse(active & {"RbdAddonsControllerGone", "RbdAddonsMirrorGone",
                                   "RbdAddonsReplicationUnseen", "RbdAddonsFencesUnseen", "RbdAddonsDescriptorsShort",
                                   "RbdAddonsInternalErrors", "RbdAddonsLaneFull"})

    def test_labels_of_rules_texts_are_there(self):
        rules = self.prometheus.ask("rules")["groups"][0]["rules"]
        for rule in rules:
            for alert in rule.get("alerts", []):
                for text in alert["annotations"].values():
                    # A label that is not there leaves a hole.
                    self.assertNotIn("  ", text)
                    self.assertNotRegex(text, r"(?:^|\s)/|/(?:\s|$)|<no value>")
                    self.assertTrue(text.strip())


if __name__ == "__main__":
    main()
