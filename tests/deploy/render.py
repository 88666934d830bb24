"""Chart and kustomize: one truth, and every combination of settings gives objects."""

import os
import re
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

    def images(self, *arguments, **more):
        return {c["image"] for w in workloads(chart(*arguments, **more)) for c in pod(w)["containers"]}

    def test_images_are_plain_names_where_the_nodes_have_them(self):
        version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
        self.assertEqual(self.images(), {f"rbd-addons:{version}", "csiaddons/k8s-sidecar:v0.14.0"})
        self.assertEqual(self.images(*MATRIX[17]), {"registry.example:5000/a/rbd-addons@sha256:" + 64 * "0",
                                                    "csiaddons/k8s-sidecar:v1"})

    def test_without_a_registry_nothing_is_rendered(self):
        ours, sidecar = "image.registry=registry.example:5000", "sidecar.image.registry=10.0.0.1:5000/mirror"
        for given, missing in (([], "image.registry"), ([sidecar], "image.registry"), ([ours], "sidecar.image.registry"),
                               ([sidecar, "image.repository=storage/rbd-addons"], "image.registry")):
            with self.subTest(given), self.assertRaisesRegex(AssertionError, rf": {missing} is empty: .*localImages"):
                chart(*given, local=False)
        self.assertEqual(self.images(ours, sidecar, "image.tag=v1", local=False),
                         {"registry.example:5000/rbd-addons:v1", "10.0.0.1:5000/mirror/csiaddons/k8s-sidecar:v0.14.0"})
        # A host may stand in the repository, too.
        self.assertEqual(self.images("image.repository=registry.example/rbd-addons", "image.tag=v1",
                                     "sidecar.image.repository=localhost/sidecar", local=False),
                         {"registry.example/rbd-addons:v1", "localhost/sidecar:v0.14.0"})

    def test_another_name_is_everywhere(self):
        things = chart("nameOverride=addons", "metrics.podMonitor.enabled=true", release="r", tests=True)
        for thing in things:
            if thing["metadata"]["name"] != "ceph-csi":
                self.assertRegex(thing["metadata"]["name"], "^r-addons(-|$)")
            self.assertEqual(thing["metadata"]["labels"]["app.kubernetes.io/name"], "addons")
        for workload in workloads(things):
            labels = workload["spec"]["template"]["metadata"]["labels"]
            self.assertLessEqual(workload["spec"]["selector"]["matchLabels"].items(), labels.items())
        monitor = by_key(things)["PodMonitor", "r-addons"]
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), labels.items())

    def test_labels_of_the_user_are_on_every_object_and_pod(self):
        things = chart("commonLabels.team=storage", "namespace.create=true", "config.create=true", "test.secret=s",
                       "metrics.rules.enabled=true", "metrics.dashboard.enabled=true", "node.podLabels.team=node",
                       "metrics.serviceMonitor.enabled=true", "rbac.secretNamespaces[0]=a", tests=True)
        self.assertGreater(len({thing["kind"] for thing in things}), 13)
        for thing in things:
            self.assertEqual(thing["metadata"]["labels"]["team"], "storage", key(thing))
        pods = {w["kind"]: w["spec"]["template"]["metadata"]["labels"] for w in workloads(things)}
        self.assertEqual((pods["Deployment"]["team"], pods["DaemonSet"]["team"]), ("storage", "node"))
        # They may change; selectors may not.
        for workload in workloads(things):
            self.assertNotIn("team", workload["spec"]["selector"]["matchLabels"])

    def test_what_is_added_to_a_part_is_there_only(self):
        row = next(row for row in MATRIX if "node.extraArgs[0]=--core-dumps" in row)
        volumes = next(row for row in MATRIX if "controller.extraVolumes[0].name=keys" in row)
        things = by_key(chart(*row, *volumes))
        controller, node = things["Deployment", "rbd-addons-controller"], things["DaemonSet", "rbd-addons-node"]
        self.assertIn("--log-format=json", container(controller)["args"])
        self.assertNotIn("--log-format=json", container(node)["args"])
        self.assertIn("--core-dumps", container(node)["args"])
        self.assertIn({"name": "CEPH_ARGS", "value": "--debug-rbd=5"}, container(controller)["env"])
        self.assertIn({"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}, container(node)["env"])
        self.assertNotIn("CEPH_ARGS", {e["name"] for e in container(node)["env"]})
        for thing, name, source in ((controller, "keys", {"secret": {"secretName": "ceph-keys"}}),
                                    (node, "conf", {"configMap": {"name": "ceph-conf"}})):
            self.assertIn({"name": name, **source}, pod(thing)["volumes"])
            self.assertIn({"name": name, "mountPath": "/etc/ceph"}, container(thing)["volumeMounts"])
            self.assertNotIn(name, {m["name"] for m in container(thing, "csi-addons")["volumeMounts"]})

    def test_probes_can_be_more_patient(self):
        things = by_key(chart("probes.startup.failureThreshold=300", "probes.liveness.periodSeconds=60"))
        for name in (("Deployment", "rbd-addons-controller"), ("DaemonSet", "rbd-addons-node")):
            daemon = container(things[name])
            self.assertEqual(daemon["startupProbe"], {"httpGet": {"path": "/healthz", "port": "http-metrics"},
                                                      "periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 300})
            self.assertEqual((daemon["livenessProbe"]["periodSeconds"], daemon["livenessProbe"]["failureThreshold"]), (60, 3))
            self.assertEqual(daemon["readinessProbe"]["httpGet"]["path"], "/readyz")

    def test_replicas_are_spread_as_is_said_and_over_nodes_in_any_case(self):
        def spread(*arguments):
            controller = by_key(chart(*arguments))["Deployment", "rbd-addons-controller"]
            found = pod(controller)["topologySpreadConstraints"]
            self.assertEqual((found[0]["topologyKey"], found[0]["whenUnsatisfiable"]),
                             ("kubernetes.io/hostname", "DoNotSchedule"))
            return controller["spec"]["selector"], found[1:]
        selector, [zone] = spread()
        self.assertEqual(zone, {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector})
        rack = next(row for row in MATRIX if "controller.topologySpreadConstraints[0].topologyKey=rack" in row)
        self.assertEqual(spread(*rack)[1], [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
                                             "labelSelector": {"matchLabels": {**selector["matchLabels"], "a": "b"}}}])
        self.assertEqual(spread("controller.topologySpreadConstraints=null")[1], [])

    def test_a_service_monitor_finds_both_parts(self):
        self.assertFalse({"Service", "ServiceMonitor"} & {thing["kind"] for thing in chart()})
        things = by_key(chart("metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.labels.release=p"))
        monitor, service = things["ServiceMonitor", "rbd-addons"], things["Service", "rbd-addons-metrics"]
        self.assertEqual(monitor["metadata"]["labels"]["release"], "p")
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        [port] = service["spec"]["ports"]
        self.assertEqual(monitor["spec"]["endpoints"], [{"port": port["name"], "interval": "30s"}])
        self.assertEqual(service["spec"]["clusterIP"], "None")
        for workload in workloads(things.values()):
            labels = workload["spec"]["template"]["metadata"]["labels"]
            self.assertLessEqual(service["spec"]["selector"].items(), labels.items())
            self.assertIn(port["targetPort"], {p["name"] for p in container(workload)["ports"]})

    def test_the_page_of_the_chart_has_every_setting(self):
        page = (CHART / "README.md").read_text()
        told = dict(re.findall(r"^\| `([\w.]+)` \| `([^`]*)` \|", page, re.M))
        whole = {"settings", "labels", "resources", "seLinuxOptions", "startup", "readiness", "liveness"}
        def leaves(values, path=()):
            for name, value in values.items():
                # A map whose keys are the user's is one setting.
                if isinstance(value, dict) and value and name not in whole:
                    yield from leaves(value, (*path, name))
                else:
                    yield ".".join((*path, name)), value
        settings = dict(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
        self.assertEqual(sorted(told), sorted(settings))
        for name, value in settings.items():
            if told[name] != "see values.yaml":
                self.assertEqual(yaml.safe_load(told[name]), value, name)

    def test_wrong_values_are_refused(self):
        for wrong in ("drivername=x", "driverName=-x", "controller.replicas=0", "controller.replicaCount=2",
                      "metrics.port=70000", "kubeletDir=relative", "image.digest=latest", "settings.Bad_Name=1",
                      "settings.metricsport=9700", "controller.settings.drivername=x", "node.settings.nodeid=x",
                      "settings.config-dir=/x", "controller.metricsPort=0",
                      "networkPolicy.managerFrom=null", "config.create=true,config.clusters[0].clusterID=a",
                      "sidecar.extraArgs[0]=word", "rbac.secretNamespaces[0]=No_Namespace", "nameOverride=Not_A_Name",
                      "commonLabels.app\\.kubernetes\\.io/name=x", "controller.extraArgs[0]=word",
                      "controller.extraArgs[0]=--config-dir=/x", "node.extraArgs[0]=--nodeid", "controller.extraEnv[0].value=x",
                      "node.extraEnv[0].name=NODE_ID", "controller.extraEnv[0].name=RBD_ADDONS_METRICSPORT",
                      "controller.extraEnv[0].name=RBD_ADDONS_LOG_LEVEL", "controller.extraVolumes[0].name=socket-dir",
                      "node.extraVolumes[0].secret.secretName=x", "controller.extraVolumeMounts[0].name=x",
                      "controller.extraVolumeMounts[0].name=kubernetes-token,controller.extraVolumeMounts[0].mountPath=/x",
                      "controller.serviceAccount.create=false", "node.serviceAccount.name=Not_A_Name",
                      "controller.serviceAccount.name=one,node.serviceAccount.name=one", "probes.startup.httpGet=x",
                      "probes.liveness.successThreshold=2", "probes.readiness.periodSeconds=0",
                      "controller.topologySpreadConstraints[0].maxSkew=1",
                      "controller.topologySpreadConstraints[0].topologyKey=kubernetes.io/hostname,"
                      "controller.topologySpreadConstraints[0].maxSkew=1,"
                      "controller.topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
                      "metrics.podMonitor.enabled=true,metrics.serviceMonitor.enabled=true", "test.secret=Not_A_Name",
                      "rbac.create=maybe", "localImages=maybe"):
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
