"""Chart and kustomize: one truth, and every combination of settings gives objects."""

import itertools
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


VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
# What is one setting, whose keys are the user's: any of them may be taken away.
MAPS = ("settings", "labels", "requests", "limits", "seLinuxOptions")


def blocks_and_values(values, path=()):
    """(path, value) of everything that stands in a values file, but for the user's own keys."""
    for name, value in values.items():
        yield ".".join((*path, name)), value
        if isinstance(value, dict) and name not in MAPS:
            yield from blocks_and_values(value, (*path, name))


def refused(*arguments):
    """What Helm says of values that it does not take, in one line."""
    try:
        chart(*arguments)
    except AssertionError as error:
        [line] = [line for line in str(error).splitlines() if line.startswith(("Error: execution error", "- "))]
        return re.sub(r"^Error: execution error at \(.*?\): |^- ", "", line)
    return None


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
        things = chart("commonLabels.team=storage", "namespace.create=true", "cephUser.create=true", "cephUser.pools[0]=p", "config.create=true", "test.secret=s",
                       "metrics.rules.enabled=true", "metrics.dashboard.enabled=true", "node.podLabels.team=node",
                       "metrics.serviceMonitor.enabled=true", "rbac.secretNamespaces[0]=a", tests=True)
        self.assertGreater(len({thing["kind"] for thing in things}), 14)
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
        self.assertEqual(spread("controller.topologySpreadConstraints=[]")[1], [])

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

    def test_rook_makes_the_user_that_the_script_makes(self):
        self.assertFalse([thing for thing in chart() if thing["kind"] == "CephClient"])
        services = ("replication", "groups", "fencing", "reclaim")
        tried = 0
        for pools in ([], ["replicapool"], ["a/tenant", "data"]):
            for chosen in (subset for size in range(1, 5) for subset in itertools.combinations(services, size)):
                words = [word for pool in pools for word in ("--pool", pool)]
                script = subprocess.run([SOURCE / "deploy" / "ceph" / "create-user.sh", *words, "--for", ",".join(chosen),
                                         "--format", "none", "client.fencer"], capture_output=True, text=True)
                settings = ["cephUser.create=true", "cephUser.name=fencer", f"cephUser.services={{{','.join(chosen)}}}"]
                settings += [f"cephUser.pools[{i}]={pool}" for i, pool in enumerate(pools)]
                with self.subTest(pools=pools, services=chosen):
                    if script.returncode:
                        self.assertRegex(refused(*settings), "^cephUser.pools is empty: ")
                        continue
                    [told] = [line for line in script.stderr.splitlines() if line.startswith("client.fencer: ")]
                    client = by_key(chart(*settings))["CephClient", "fencer"]
                    self.assertEqual(client["spec"]["caps"], dict(re.findall(r"(\w+) '([^']*)'", told)))
                    tried += 1
        self.assertEqual(tried, 31)
        client = by_key(chart("cephUser.create=true", "cephUser.pools[0]=p", release="r", namespace="rook-ceph"))["CephClient", "r-rbd-addons"]
        self.assertEqual((client["apiVersion"], client["metadata"]["namespace"], set(client["spec"])),
                         ("ceph.rook.io/v1", "rook-ceph", {"caps"}))
        for wrong in ("cephUser.name=admin", "cephUser.name=client.Upper", "cephUser.pools[0]=a b", "cephUser.services[0]=all"):
            with self.subTest(wrong):
                self.assertIsNotNone(refused("cephUser.create=true", "cephUser.pools[0]=p", wrong))

    def test_the_controller_watches_with_a_user_of_its_own(self):
        def parts(*settings):
            things = chart(*settings)
            return things, container(by_key(things)["Deployment", "rbd-addons-controller"]), by_key(things)["DaemonSet", "rbd-addons-node"]
        things, daemon, _ = parts()
        self.assertNotIn("watch-user", str(things))
        for settings, secret in ((["watchUser.secret=reader"], "reader"),
                                 (["watchUser.create=true", "watchUser.pools[0]=p"], "rook-ceph-client-rbd-addons-watch")):
            things, daemon, node = parts(*settings)
            self.assertIn("--watch-user=/etc/rbd-addons/watch-user", daemon["args"])
            pod = by_key(things)["Deployment", "rbd-addons-controller"]["spec"]["template"]["spec"]
            [volume] = [v for v in pod["volumes"] if v["name"] == "watch-user"]
            # Who is promoted does not wait for a Secret that only the watch needs.
            self.assertEqual((volume["secret"]["secretName"], volume["secret"]["optional"]), (secret, True))
            [mount] = [m for m in daemon["volumeMounts"] if m["name"] == "watch-user"]
            self.assertEqual((mount["mountPath"], mount["readOnly"]), ("/etc/rbd-addons/watch-user", True))
            self.assertNotIn("watch-user", str(node))
        for pools in (["replicapool"], ["a/tenant", "data"]):
            words = [word for pool in pools for word in ("--pool", pool)]
            script = subprocess.run([SOURCE / "deploy" / "ceph" / "create-user.sh", *words, "--for", "watch", "--format", "none", "client.r"],
                                    capture_output=True, text=True)
            [told] = [line for line in script.stderr.splitlines() if line.startswith("client.r: ")]
            things = chart("watchUser.create=true", "watchUser.name=r", *[f"watchUser.pools[{i}]={pool}" for i, pool in enumerate(pools)])
            caps = by_key(things)["CephClient", "r"]["spec"]["caps"]
            self.assertEqual(caps, dict(re.findall(r"(\w+) '([^']*)'", told)))
            # Nothing of it may change anything.
            self.assertEqual(caps.pop("mon"), "allow r")
            for text in caps.values():
                self.assertTrue(all(part.startswith("profile rbd-read-only") for part in text.split(", ")), text)
        for wrong in (["watchUser.create=true"], ["watchUser.create=true", "watchUser.pools[0]=p", "watchUser.secret=s"],
                      ["watchUser.secret=A B"]):
            with self.subTest(wrong):
                self.assertIsNotNone(refused(*wrong))

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
        settings = dict(leaves(VALUES))
        self.assertEqual(sorted(told), sorted(settings))
        for name, value in settings.items():
            if told[name] != "see values.yaml":
                self.assertEqual(yaml.safe_load(told[name]), value, name)

    def test_wrong_values_are_refused(self):
        for wrong in ("drivername=x", "driverName=-x", "controller.replicas=0", "controller.replicaCount=2",
                      "metrics.port=70000", "kubeletDir=relative", "image.digest=latest", "settings.Bad_Name=1",
                      "settings.metricsport=9700", "controller.settings.drivername=x", "node.settings.nodeid=x",
                      "settings.config-dir=/x", "controller.metricsPort=0",
                      "networkPolicy.managerFrom=[]", "config.create=true,config.clusters[0].clusterID=a",
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
                      "rbac.create=maybe", "localImages=maybe", "node.keyRotation=true",
                      "node.keyRotation.kmsConfigMap=", "node.settings.key-rotation=true",
                      "node.extraArgs[0]=--kms-config-dir=/x"):
            with self.subTest(wrong), self.assertRaises(AssertionError):
                chart(wrong)

    def test_an_empty_block_takes_no_default_away(self):
        """Helm removes what is null in the user's values, with the chart's own values of it. Where these
        say something, that is refused; where they are empty, nothing changes."""
        removable = {path for path, _ in blocks_and_values(VALUES) if path.split(".")[-1] in ("requests", "limits", "seLinuxOptions")}
        self.assertEqual(len(removable), 6)
        plain, tried = chart(), set()
        with tempfile.TemporaryDirectory() as folder:
            for path, value in blocks_and_values(VALUES):
                if path in removable:
                    continue
                # As a values file has it when all lines of a block are comments.
                file = Path(folder) / "values.yaml"
                *above, last = path.split(".")
                lines = [f"{'  ' * depth}{name}:" for depth, name in enumerate(above)]
                file.write_text("\n".join([*lines, f"{'  ' * len(above)}{last}:", "# comment", ""]))
                with self.subTest(path):
                    if value in ("", None, False) or value == [] or value == {}:
                        self.assertEqual(chart(file), plain)
                    else:
                        self.assertEqual(refused(file), f"empty in the values: {path}. Helm takes the chart's defaults away with it: "
                                         "leave the line out to have them, or give a value ([] for an empty list)")
                    tried.add(path)
        for block in ("metrics", "controller", "node", "rbac", "test", "settings", "probes", "config", "sidecar",
                      "networkPolicy", "namespace", "commonLabels", "image"):
            self.assertIn(block, tried)
        # All that is empty is named, and a block with its parts once; so by whoever is asked first.
        self.assertRegex(refused("node=null", "metrics.port=null", "probes.startup=null"),
                         "^empty in the values: probes.startup, node, metrics.port[.] ")
        for template in sorted((CHART / "templates").rglob("*")):
            if template.suffix in (".yaml", ".txt"):
                self.assertEqual(template.read_text().splitlines()[0], '{{- include "rbd-addons.check" . -}}', template.name)

    def test_what_is_a_map_of_the_users_loses_single_keys(self):
        things = by_key(chart("node.resources.limits=null", "controller.resources.limits.memory=null", "settings.log-level=null",
                              "node.seLinuxOptions=null", "metrics.dashboard.enabled=true", "metrics.dashboard.labels.grafana_dashboard=null"))
        node = things["DaemonSet", "rbd-addons-node"]
        self.assertEqual(container(node)["resources"], {"requests": VALUES["node"]["resources"]["requests"]})
        self.assertNotIn("seLinuxOptions", pod(node)["securityContext"])
        self.assertNotIn("RBD_ADDONS_LOG_LEVEL", {e["name"] for e in container(node)["env"]})
        self.assertNotIn("grafana_dashboard", things["ConfigMap", "rbd-addons-dashboard"]["metadata"]["labels"])

    def test_settings_that_the_daemon_refuses_reach_no_pod(self):
        for wrong, complaint in (
                ("settings.settle-time=5", "settings.settle-time: Must be greater than or equal to 60"),
                ("settings.settle-time=59s", "settings.settle-time is 59s: it must be at least 60s"),
                ("node.settings.settle-time=59999ms", "node.settings.settle-time is 59999ms: it must be at least 60s"),
                ("settings.watchdog=0.5s", "settings.watchdog is 0.5s: it must be at least 1s"),
                ("controller.settings.watch-interval=4s", "controller.settings.watch-interval is 4s: it must be 0 or at least 5s"),
                ("settings.takeover-time=80s", "takeover-time of the controller is 80s: it must be at least the settle-time, 90s"),
                ("settings.takeover-time=3m,node.settings.settle-time=1h",
                 "takeover-time of the node is 3m: it must be at least the settle-time, 1h"),
                ("node.settings.metricspath=/m,metrics.podMonitor.enabled=true",
                 "node.settings.metricspath is /m: the chart's monitors ask for /metrics; leave it out, or use a monitor of your own"),
                ("settings.settle-tme=90s", "settings: Additional property settle-tme is not allowed"),
                ("controller.settings.nodeid=n", "controller.settings: Additional property nodeid is not allowed"),
                ("settings.control-workers=many", "settings.control-workers: Invalid type. Expected: integer, given: string"),
                ("settings.history-events=100001", "settings.history-events: Must be less than or equal to 100000"),
                ("settings.enable-fencing=1", "settings.enable-fencing: Invalid type. Expected: boolean, given: integer"),
                ("settings.log-level=loud", 'settings.log-level: settings.log-level must be one of the following: '
                                            '"trace", "debug", "info", "warn", "error"')):
            with self.subTest(wrong):
                self.assertEqual(refused(wrong), complaint)
        self.assertRegex(refused("settings.settle-time=90x"), "^settings.settle-time: Does not match pattern ")
        for right in ("settings.settle-time=1m", "settings.settle-time=60", "settings.settle-time=60000ms", "settings.watch-interval=0", "settings.metricspath=/m",
                      "settings.watch-interval=5s", "settings.settle-time=1h30m,settings.takeover-time=90m", "settings.watchdog=1.5s"):
            with self.subTest(right):
                self.assertIsNone(refused(right))

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
