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
            yield rule["alert"], rule["expr"]
    for panel in json.loads((CHART / "files" / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


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
        rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
        self.assertEqual({rule["alert"] for rule in rules}, set(sections))
        for rule in rules:
            self.assertEqual(rule["annotations"]["runbook_url"], f"docs/alerts.md#{rule['alert'].lower()}")
            self.assertGreater(len(sections[rule["alert"]]), 150, rule["alert"])

    def test_the_chart_says_where_runbooks_are(self):
        things = chart("metrics.rules.enabled=true", "metrics.rules.runbooks=https://wiki.example/alerts")
        rules = next(t for t in things if t["kind"] == "PrometheusRule")["spec"]["groups"][0]["rules"]
        self.assertEqual({r["annotations"]["runbook_url"] for r in rules},
                         {f"https://wiki.example/alerts#{r['alert'].lower()}" for r in rules})

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
        panels = metrics(e for title, e in expressions() if not title.startswith("RbdAddons"))
        self.assertGreater(len(alerts), 10)
        self.assertLessEqual(alerts, panels)

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
            {"record": f"panel:{i}", "expr": e.replace("$__rate_interval", "5m").replace("$instance", ".*")}
            for i, (_, e) in enumerate(expressions())]}]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(yaml.safe_dump({"groups": groups}))
            file.flush()
            self.assertIn("SUCCESS", run("promtool", "check", "rules", file.name))


if __name__ == "__main__":
    main()
