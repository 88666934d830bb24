"""Every object is one that the Kubernetes API knows, field by field."""

import json
import shutil
import subprocess
import unittest

from objects import SOURCE, TOOLS, by_key, chart, main, matrix

MODULES = TOOLS / "node_modules"


@unittest.skipUnless(shutil.which("node") and (MODULES / "kubernetes-models").exists(),
                     "node or the models of Kubernetes are not here (scripts/test.sh deploy takes them from npm)")
class Schema(unittest.TestCase):
    def complaints(self, things):
        done = subprocess.run(["node", SOURCE / "tests" / "deploy" / "schema.mjs", MODULES],
                              input=json.dumps(things), capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_every_object_fits_the_api(self):
        unique = {json.dumps(thing, sort_keys=True): thing for _, things in matrix() for thing in things}
        for thing in chart("test.secret=s", "commonLabels.a=b", tests=True):
            unique[json.dumps(thing, sort_keys=True)] = thing
        self.assertGreater(len(unique), 30)
        self.assertEqual(self.complaints(list(unique.values())), [])

    def test_mistakes_are_seen(self):
        things = by_key(chart())
        deployment = things["Deployment", "rbd-addons-controller"]
        deployment["spec"]["replicas"] = "2"
        self.assertIn("replicas", "".join(self.complaints([deployment])))
        node = things["DaemonSet", "rbd-addons-node"]
        node["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
        self.assertIn("livenesProbe", "".join(self.complaints([node])))

    def test_monitoring_objects_are_seen_too(self):
        rule = next(thing for thing in chart("metrics.rules.enabled=true") if thing["kind"] == "PrometheusRule")
        rule["spec"]["groups"][0]["rules"][0]["expression"] = "1"
        self.assertIn("expression", "".join(self.complaints([rule])))


if __name__ == "__main__":
    main()
