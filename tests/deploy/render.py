"""Chart and kustomize: one truth, and every combination of settings gives objects."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from objects import (CHART, MATRIX, OVERLAYS, SOURCE, by_key, chart, container, helm, installed_by_anybody,
                     key, main, matrix, overlay, pod, run, workloads)


class Render(unittest.TestCase):
    maxDiff = None

    def assert_equal_objects(self, helms, kustomizes):
        ours = by_key([installed_by_anybody(thing) for thing in helms])
        theirs = by_key([installed_by_anybody(thing) for thing in kustomizes])
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, thing in ours.items():
            self.assertEqual(thing, theirs[name])

    def test_what_kustomize_has_is_made_from_the_chart(self):
        kustomize = SOURCE / "deploy" / "kustomize"
        with tempfile.TemporaryDirectory() as folder:
            run(kustomize / "render.sh", folder, env={**os.environ, "HELM": helm()})
            made = sorted(path.relative_to(folder) for path in Path(folder).rglob("*.yaml"))
            self.assertGreater(len(made), 4)
            for path in made:
                self.assertEqual((Path(folder) / path).read_text(), (kustomize / path).read_text(),
                                 f"{path} is not what the chart makes: run deploy/kustomize/render.sh")

    def test_the_overlays_are_the_charts_sets_of_values(self):
        for name, namespace in (("ceph-csi", "ceph-csi"), ("rook", "rook-ceph")):
            with self.subTest(name):
                values = SOURCE / "deploy" / "helm" / f"values-{name}.yaml"
                self.assert_equal_objects(chart(values, namespace=namespace), overlay(OVERLAYS / name))

    def test_with_all_components_too(self):
        folder = SOURCE / "tests" / "deploy" / "everything"
        self.assert_equal_objects(chart(folder / "values.yaml", namespace="addons"), overlay(folder))

    def test_every_combination_renders(self):
        for settings, things in matrix():
            with self.subTest(settings):
                by_key(things)  # no two of one name
                for thing in things:
                    if thing["kind"] not in ("ClusterRole", "ClusterRoleBinding", "Namespace"):
                        self.assertIn("namespace", thing["metadata"], key(thing))

    def test_settings_arrive(self):
        things = by_key(chart(*MATRIX[18]))
        controller = {e["name"]: e.get("value") for e in container(things["Deployment", "rbd-addons-controller"])["env"]}
        node = {e["name"]: e.get("value") for e in container(things["DaemonSet", "rbd-addons-node"])["env"]}
        self.assertEqual(controller["RBD_ADDONS_SETTLE_TIME"], "2m")
        self.assertEqual(controller["RBD_ADDONS_CONTROL_WORKERS"], "64")
        self.assertEqual(controller["RBD_ADDONS_TAKEOVER_TIME"], "5m")
        self.assertEqual(controller["RBD_ADDONS_FORCE_WITHOUT_LOCAL_MIRROR"], "true")
        self.assertEqual(controller["RBD_ADDONS_WATCH_INTERVAL"], "2m")
        self.assertNotIn("RBD_ADDONS_TAKEOVER_TIME", node)
        self.assertEqual((controller["RBD_ADDONS_LOG_LEVEL"], node["RBD_ADDONS_LOG_LEVEL"]), ("info", "debug"))

    def test_the_parts_of_one_host_have_a_port_each(self):
        def ports(*arguments):
            things = by_key(chart(*arguments))
            found = []
            for name in (("Deployment", "rbd-addons-controller"), ("DaemonSet", "rbd-addons-node")):
                daemon = container(things[name])
                told = {e["name"]: e.get("value") for e in daemon["env"]}["RBD_ADDONS_METRICSPORT"]
                self.assertEqual([told], [str(p["containerPort"]) for p in daemon["ports"]
                                          if p["name"] == "http-metrics"])
                found.append(int(told))
            return found
        self.assertEqual(ports(), [9641, 9641])
        self.assertEqual(ports("controller.hostNetwork=true"), [9642, 9641])
        self.assertEqual(ports("controller.hostNetwork=true", "controller.metricsPort=9700"), [9700, 9641])
        self.assertEqual(ports("controller.hostNetwork=true", "metrics.port=9000"), [9001, 9000])

    def test_images_are_plain_names_until_a_registry_is_given(self):
        plain = {c["image"] for w in workloads(chart()) for c in pod(w)["containers"]}
        version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
        self.assertEqual(plain, {f"rbd-addons:{version}", "csiaddons/k8s-sidecar:v0.14.0"})
        given = {c["image"] for w in workloads(chart(*MATRIX[17])) for c in pod(w)["containers"]}
        self.assertEqual(given, {"registry.example:5000/a/rbd-addons@sha256:" + 64 * "0", "csiaddons/k8s-sidecar:v1"})

    def test_wrong_values_are_refused(self):
        for wrong in ("drivername=x", "driverName=-x", "controller.replicas=0", "controller.replicaCount=2",
                      "metrics.port=70000", "kubeletDir=relative", "image.digest=latest", "settings.Bad_Name=1",
                      "settings.metricsport=9700", "controller.settings.drivername=x", "node.settings.nodeid=x",
                      "settings.config-dir=/x", "controller.metricsPort=0",
                      "networkPolicy.managerFrom=null", "config.create=true,config.clusters[0].clusterID=a",
                      "sidecar.extraArgs[0]=word", "rbac.secretNamespaces[0]=No_Namespace"):
            with self.subTest(wrong), self.assertRaises(AssertionError):
                chart(wrong)

    def test_the_chart_has_no_lint(self):
        self.assertIn("0 chart(s) failed", run(helm(), "lint", "--strict", CHART))

    def test_a_release_of_another_name_stands_beside_it(self):
        first, second = by_key(chart()), by_key(chart(release="second"))
        self.assertFalse(set(first) & set(second))
        selectors = [w["spec"]["selector"]["matchLabels"] for w in workloads(first.values()) + workloads(second.values())]
        self.assertEqual(len({tuple(sorted(s.items())) for s in selectors}), 4)

    @unittest.skipUnless(shutil.which("yamllint"), "yamllint is not here")
    def test_the_files_are_tidy(self):
        done = subprocess.run(["yamllint", "-d", "{extends: relaxed, rules: {line-length: disable}}",
                               SOURCE / "deploy" / "kustomize", SOURCE / "deploy" / "samples",
                               CHART / "values.yaml", CHART / "files"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
