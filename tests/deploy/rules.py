"""Alerts and dashboard: promtool accepts and tries the rules, the documentation shows the same,
and every metric in them exists."""

import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import yaml

from objects import CHART, SOURCE, chart, main, run

RULES = CHART / "files" / "rules.yaml"
METRICS = SOURCE / "docs" / "metrics.md"
NAME = re.compile(r"\b(?:rbd_addons|process)_\w+")
ALERTS = SOURCE / "docs" / "alerts.md"


def expressions():
    """Title and expression of each rule and each query of the dashboard."""
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert", rule.get("record")), rule["expr"]
    for panel in json.loads((CHART / "files" / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def with_all(expression, interval="5m"):
    """A query of the dashboard with all of its variables at "All"."""
    return re.sub(r"\$(?!__)\w+", ".*", expression.replace("$__rate_interval", interval))


class Rules(unittest.TestCase):
    def documented(self):
        # "rbd_addons_x{label}" in the first column of a table.
        found = {}
        for line in METRICS.read_text().splitlines():
            if match := re.match(r"\| `((?:rbd_addons|process)_\w+)(?:\{([\w,]+)\})?` \| (\w+)", line):
                found[match[1]] = match[3]
        return found

    def test_the_documentation_shows_the_same_rules(self):
        shown = re.findall(r"^```yaml\n(groups:.*?)^```", METRICS.read_text(), re.M | re.S)
        self.assertEqual(shown, [RULES.read_text()])

    def test_every_metric_exists(self):
        known = self.documented()
        self.assertGreater(len(known), 15)
        for title, expression in expressions():
            for name in NAME.findall(expression):
                plain = re.sub(r"_(bucket|count|sum)$", "", name)
                self.assertIn(plain, known, title)
                if plain != name:
                    self.assertEqual(known[plain], "histogram", title)

    def test_every_rule_has_a_runbook(self):
        sections = dict(re.findall(r"^## (\w+)\n\n(.+?)(?=\n## |\Z)", ALERTS.read_text(), re.M | re.S))
        rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule]
        self.assertEqual({rule["alert"] for rule in rules}, set(sections))
        for rule in rules:
            self.assertEqual(rule["annotations"]["runbook_url"], f"docs/alerts.md#{rule['alert'].lower()}")
            self.assertGreater(len(sections[rule["alert"]]), 150, rule["alert"])

    def test_the_chart_says_where_runbooks_are(self):
        things = chart("metrics.rules.enabled=true", "metrics.rules.runbooks=https://wiki.example/alerts")
        rules = next(t for t in things if t["kind"] == "PrometheusRule")["spec"]["groups"][0]["rules"]
        alerts = [rule for rule in rules if "alert" in rule]
        self.assertEqual({r["annotations"]["runbook_url"] for r in alerts},
                         {f"https://wiki.example/alerts#{r['alert'].lower()}" for r in alerts})

    def test_the_chart_sets_the_rpo(self):
        things = chart("metrics.rules.enabled=true", "metrics.rules.rpo.target=120", "metrics.rules.rpo.objective=0.5")
        text = yaml.safe_dump(next(t for t in things if t["kind"] == "PrometheusRule")["spec"], width=10000)
        self.assertIn("<= bool 120)", text)
        self.assertIn("ratio_avg30d < 0.5", text)
        for default in ("900", "0.99"):
            self.assertNotIn(default, text)
            self.assertIn(default, RULES.read_text())

    def test_the_objects_hold_the_files(self):
        things = {t["kind"]: t for t in chart("metrics.rules.enabled=true", "metrics.dashboard.enabled=true")}
        self.assertEqual(things["PrometheusRule"]["spec"], yaml.safe_load(RULES.read_text()))
        self.assertEqual(json.loads(things["ConfigMap"]["data"]["rbd-addons.json"]),
                         json.loads((CHART / "files" / "dashboard.json").read_text()))
        self.assertEqual(things["ConfigMap"]["metadata"]["labels"]["grafana_dashboard"], "1")

    def test_the_dashboard_shows_what_the_alerts_are_about(self):
        def metrics(expressions):
            return {re.sub(r"_(bucket|count|sum)$", "", name) for e in expressions for name in NAME.findall(e)}
        alerts = metrics(e for title, e in expressions() if title.startswith("RbdAddons"))
        panels = metrics(e for title, e in expressions() if not title.startswith(("RbdAddons", "rbd_addons:")))
        self.assertGreater(len(alerts), 10)
        self.assertLessEqual(alerts, panels)

    def test_every_query_obeys_the_variables_that_it_can(self):
        dashboard = json.loads((CHART / "files" / "dashboard.json").read_text())
        variables = {v["name"]: v for v in dashboard["templating"]["list"]}
        self.assertEqual(list(variables), ["datasource", "job", "instance", "cluster", "pool"])
        for name, variable in variables.items():
            if name != "datasource":
                # The label is there, and each choice narrows those after it.
                metric, label = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variable["query"]["query"]).groups()
                self.assertEqual(label, name)
                self.assertIn(metric, self.documented())
                for used in re.findall(r"\$(\w+)", variable["query"]["query"]):
                    self.assertLess(list(variables).index(used), list(variables).index(name))
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                for metric, labels in re.findall(r"((?:rbd_addons|process)_\w+)\{([^}]*)\}", target["expr"]):
                    needed = {"job", "instance"}
                    if metric.startswith("rbd_addons_replication_"):
                        needed |= {"cluster", "pool"}
                    elif metric.startswith(("rbd_addons_fence", "rbd_addons_blocklisted")):
                        needed |= {"cluster"}
                    self.assertEqual(set(re.findall(r'(\w+)=~"\$\1"', labels)), needed, panel["title"])

    def table(self):
        [panel] = [p for p in json.loads((CHART / "files" / "dashboard.json").read_text())["panels"] if p["type"] == "table"]
        return panel

    def test_the_table_has_a_column_for_each_query(self):
        panel = self.table()
        merge, organize = panel["transformations"]
        self.assertEqual((merge["id"], organize["id"]), ("merge", "organize"))
        self.assertTrue(all(t["instant"] and t["format"] == "table" for t in panel["targets"]))
        values = {f"Value #{t['refId']}" for t in panel["targets"]}
        shown = organize["options"]["renameByName"]
        hidden = {name for name, yes in organize["options"]["excludeByName"].items() if yes}
        self.assertEqual({name for name in {*shown, *hidden} if name.startswith("Value")}, values)
        self.assertFalse(set(shown) & hidden)
        self.assertLessEqual(set(organize["options"]["indexByName"]), set(shown))
        labels = {label for t in panel["targets"] for label in re.search(r"by \(([^)]*)\)", t["expr"])[1].split(", ")}
        self.assertEqual({name for name in shown if not name.startswith("Value")}, labels)
        # What decides about a column names one.
        for override in panel["fieldConfig"]["overrides"]:
            self.assertIn(override["matcher"]["options"], shown.values())
        self.assertIn(panel["options"]["sortBy"][0]["displayName"], shown.values())

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here (package prometheus)")
    def test_the_table_has_a_row_for_each_volume_of_a_site(self):
        """Two replicas have seen a volume, and two sites have it under one name."""
        def label(**more):
            return ", ".join(f'{name}="{value}"' for name, value in more.items())
        values = {"volume_info": 1, "role": 1, "image_health": 2, "last_sync_timestamp_seconds": 40, "schedule_interval_seconds": 300,
                  "lag_ratio": 2.5, "bytes_remaining": 4096, "missed_snapshots": 3}
        series = []
        for job in ("east", "west"):
            for instance in ("a", "b"):
                for name, value in values.items():
                    more = {"volume_name": "pvc-1"} if name == "volume_info" else {}
                    told = label(job=job, instance=instance, cluster="rook-ceph", pool="p", namespace="rook-ceph",
                                 exported_namespace="tenant", image="i", **more)
                    series.append({"series": f"rbd_addons_replication_{name}{{{told}}}", "values": f"{value}x10"})
        tests = []
        for target in self.table()["targets"]:
            name = re.search(r"rbd_addons_replication_(\w+)", target["expr"])[1]
            rows = [{"labels": "{" + label(job=job, cluster="rook-ceph", pool="p", namespace="rook-ceph", exported_namespace="tenant",
                                           image="i", **({"volume_name": "pvc-1"} if name == "volume_info" else {})) + "}",
                     "value": 300 - 40 if name.startswith("last_sync") else values[name]} for job in ("east", "west")]
            tests.append({"expr": with_all(target["expr"]), "eval_time": "5m", "exp_samples": rows})
            # One site alone, when it is chosen.
            tests.append({"expr": with_all(target["expr"].replace("$job", "west")), "eval_time": "5m", "exp_samples": rows[1:]})
        self.assertEqual(len(tests), 2 * len(values))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"evaluation_interval": "1m", "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}]}, file)
            file.flush()
            self.assertIn("SUCCESS", run("promtool", "test", "rules", file.name))

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in json.loads((CHART / "files" / "dashboard.json").read_text())["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here (package prometheus)")
    def test_promtool_accepts_them(self):
        self.assertIn("SUCCESS", run("promtool", "check", "rules", RULES))

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here (package prometheus)")
    def test_they_fire_when_they_should_and_only_then(self):
        with tempfile.TemporaryDirectory() as folder:
            # promtool finds the rules beside the test.
            (Path(folder) / "rules.yaml").write_text(RULES.read_text())
            test = Path(folder) / "rules_cases.yaml"
            test.write_text((SOURCE / "tests" / "deploy" / "rules_cases.yaml").read_text())
            run("promtool", "test", "rules", test)
        cases = yaml.safe_load((SOURCE / "tests" / "deploy" / "rules_cases.yaml").read_text())
        tried = {case["alertname"] for test in cases["tests"] for case in test["alert_rule_test"] if case.get("exp_alerts")}
        self.assertEqual(tried, {name for name, _ in expressions() if name.startswith("RbdAddons")})

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here (package prometheus)")
    def test_promtool_accepts_the_dashboards_queries(self):
        groups = [{"name": "panels", "rules": [
            {"record": f"panel:{i}", "expr": with_all(e)}
            for i, (_, e) in enumerate(expressions())]}]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(yaml.safe_dump({"groups": groups}))
            file.flush()
            self.assertIn("SUCCESS", run("promtool", "check", "rules", file.name))


if __name__ == "__main__":
    main()
