"""The manifests fit the daemon: each flag and variable exists, each path is mounted, each key
of a ConfigMap is read, ports and probes are those that are served. DAEMON is the program."""

import json
import os
import re
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import jsonschema

from objects import CHART, OVERLAYS, SOURCE, chart, container, main, matrix, overlay, pod, run, workloads

DAEMON = os.environ.get("DAEMON")
CLI = os.environ.get("CLI")
# Those of the sidecar of kubernetes-csi-addons, v0.12 to v0.14 and later, that may stand in a manifest.
SIDECAR = {"timeout", "csi-addons-address", "node-id", "stagingpath", "controller-port", "pod", "namespace", "pod-uid",
           "leader-election-namespace", "leader-election-lease-duration", "leader-election-renew-deadline",
           "leader-election-retry-period", "enable-auth"}


def flags():
    return set(re.findall(r"^  --([a-z0-9-]+)", run(DAEMON, "--help"), re.M))


def variable(flag):
    return "RBD_ADDONS_" + flag.upper().replace("-", "_")


@unittest.skipUnless(DAEMON, "DAEMON is not set")
class Manifests(unittest.TestCase):
    def each(self):
        for _, things in matrix():
            for workload in workloads(things):
                yield workload, things

    def test_every_flag_exists(self):
        known, seen = flags(), set()
        for workload, _ in self.each():
            daemon = container(workload)
            for argument in daemon["args"]:
                flag = re.match(r"--([a-z0-9-]+)(=|$)", argument)
                self.assertTrue(flag, argument)
                seen.add(flag[1])
            variables = {e["name"] for e in daemon["env"]}
            self.assertLessEqual({v for v in variables if v.startswith("RBD_ADDONS_")}, set(map(variable, known)))
            # What an argument refers to is there.
            for name in re.findall(r"\$\((\w+)\)", " ".join(daemon["args"])):
                self.assertIn(name, variables)
        self.assertGreater(len(seen), 4)
        self.assertLessEqual(seen, known)

    def test_every_flag_of_the_sidecar_exists(self):
        seen = set()
        for workload, things in self.each():
            sidecar = container(workload, "csi-addons")
            # sidecar.extraArgs are the user's.
            own = [a for a in sidecar["args"] if a != "-v=5"]
            seen |= {re.match(r"--([a-z-]+)=", argument)[1] for argument in own}
            variables = {e["name"] for e in sidecar["env"]}
            self.assertLessEqual(set(re.findall(r"\$\((\w+)\)", " ".join(own))), variables)
        self.assertLessEqual(seen, SIDECAR)
        self.assertGreater(len(seen), 8)

    def refused(self, *settings):
        """What the daemon says of settings; one wrong flag more makes it start nothing."""
        given = [f"--{flag}={str(value).lower() if isinstance(value, bool) else value}" for flag, value in settings]
        done = subprocess.run([DAEMON, *given, "--nodeid=" + 257 * "x"], env={}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        return [line for line in done.stderr.splitlines() if "--nodeid" not in line]

    def test_every_flag_can_be_set(self):
        """The schema knows each flag that is not the chart's own, and what the daemon takes."""
        schema = json.loads((CHART / "values.schema.json").read_text())
        for part in (schema, schema["properties"]["controller"], schema["properties"]["node"]):
            self.assertEqual(part["properties"]["settings"], {"$ref": "#/definitions/settings"})
        known = schema["definitions"]["settings"]["properties"]
        own = {"drivername", "metricsport", "nodeserver", "controllerserver", "nodeid", "csi-addons-endpoint", "admin-endpoint",
               "socket-mode", "socket-group", "config-dir", "key-rotation", "kms-config-dir",
               "watch-user"}
        self.assertEqual(set(known) | own, flags() - {"version", "help"})
        self.assertFalse(set(known) & own)
        tried = 0
        for flag, told in known.items():
            with self.subTest(flag):
                right = [True, False] if told.get("type") == "boolean" else list(told.get("enum", []))
                wrong = ["maybe", 2] if told.get("type") == "boolean" else [word + "x" for word in right]
                if told.get("type") == "integer":
                    right, wrong = [told["minimum"], told["maximum"]], [told["minimum"] - 1, told["maximum"] + 1, "x"]
                elif "number" in told.get("type", ""):
                    right, wrong = ["90s", "3m0.5s", "1h", 90, "90.5"], ["x", "90x", 604801, "-1s"]
                    if least := told["minimum"]:
                        wrong += [least - 1, f"{least - 1}.9s"]
                    # These two have more to go by: the settle time, and 0.
                    if flag not in ("takeover-time", "watch-interval"):
                        right += [least, f"{least}500ms"]
                for value in right:
                    jsonschema.validate(value, told)
                    self.assertEqual(self.refused((flag, value)), [], value)
                for value in wrong:
                    self.assertEqual(len(self.refused((flag, value))), 1, value)
                    tried += 1
        self.assertGreater(tried, 60)
        [workload] = [w for w in workloads(chart("settings.force-without-local-mirror=false", "node.enabled=false",
                                                 "settings.history-events=0"))]
        given = {e["name"]: e.get("value") for e in container(workload)["env"]}
        self.assertEqual((given["RBD_ADDONS_FORCE_WITHOUT_LOCAL_MIRROR"], given["RBD_ADDONS_HISTORY_EVENTS"]), ("false", "0"))

    def test_the_daemon_takes_them_all(self):
        for workload in workloads(overlay(OVERLAYS / "rook")) + workloads(chart()):
            daemon = container(workload)
            given = {e["name"]: e.get("value", "x") for e in daemon["env"]}
            given["POD_IP"] = "10.0.0.1"
            arguments = [re.sub(r"\$\((\w+)\)", lambda m: given[m[1]], a) for a in daemon["args"]]
            # A wrong one more makes it say all that is wrong, and start nothing.
            done = subprocess.run([DAEMON, *arguments, "--log-level=none"], env=given, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_paths_of_flags_are_mounted(self):
        for workload, _ in self.each():
            daemon, sidecar = container(workload), container(workload, "csi-addons")
            mounts = {m["mountPath"]: m for m in daemon["volumeMounts"]}
            arguments = dict(a.split("=", 1) for a in daemon["args"] if "=" in a)
            endpoint = arguments["--csi-addons-endpoint"]
            self.assertIn("--csi-addons-address=" + endpoint, sidecar["args"])
            folder = os.path.dirname(endpoint.removeprefix("unix://"))
            self.assertFalse(mounts[folder].get("readOnly", False))
            self.assertIn((mounts[folder]["name"], folder),
                          {(m["name"], m["mountPath"]) for m in sidecar["volumeMounts"]})
            # The sidecar alone calls what is at the one socket, and never sees the other.
            admin = mounts[os.path.dirname(arguments["--admin-endpoint"].removeprefix("unix://"))]
            self.assertFalse(admin.get("readOnly", False))
            self.assertNotIn(admin["name"], {m["name"] for m in sidecar["volumeMounts"]})
            self.assertIn(arguments["--config-dir"], mounts)
            volumes = {v["name"] for v in pod(workload)["volumes"]}
            for one in (daemon, sidecar):
                self.assertLessEqual({m["name"] for m in one["volumeMounts"]}, volumes)

    def test_a_node_sees_the_kubelets_mounts_at_their_own_paths(self):
        for settings in ([], ["kubeletDir=/var/snap/kubelet"]):
            workload = next(w for w in workloads(chart(*settings)) if w["kind"] == "DaemonSet")
            root = "/var/snap/kubelet" if settings else "/var/lib/kubelet"
            paths = {v["name"]: v["hostPath"]["path"] for v in pod(workload)["volumes"] if "hostPath" in v}
            self.assertEqual(set(paths.values()), {root + "/plugins", root + "/pods"})
            for mount in container(workload)["volumeMounts"]:
                if mount["name"] in paths:
                    self.assertEqual(mount["mountPath"], paths[mount["name"]])
                    self.assertEqual(mount["mountPropagation"], "HostToContainer")
            self.assertIn(f"--stagingpath={root}/plugins/kubernetes.io/csi/", container(workload, "csi-addons")["args"])

    def test_probes_and_scrapes_meet_the_port(self):
        for workload, things in self.each():
            daemon = container(workload)
            ports = {p["name"]: p["containerPort"] for p in daemon["ports"]}
            served = {e["name"]: e.get("value") for e in daemon["env"]}
            self.assertEqual(str(ports["http-metrics"]), served["RBD_ADDONS_METRICSPORT"])
            self.assertIn("POD_IP", served)  # what the daemon listens at
            [name] = [e for e in daemon["env"] if e["name"] == "POD_NAME"]
            self.assertEqual(name["valueFrom"], {"fieldRef": {"fieldPath": "metadata.name"}})
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                self.assertEqual(daemon[probe]["httpGet"]["port"], "http-metrics")
            for thing in things:
                if thing["kind"] == "PodMonitor":
                    self.assertEqual(thing["spec"]["podMetricsEndpoints"][0]["port"], "http-metrics")
                if thing["kind"] == "NetworkPolicy":
                    open_ports = {p["port"] for rule in thing["spec"]["ingress"] for p in rule["ports"]}
                    sidecar = container(next(w for w in workloads(things) if w["kind"] == "Deployment"), "csi-addons")
                    self.assertIn(sidecar["ports"][0]["containerPort"], open_ports)
                    self.assertLessEqual(open_ports, {sidecar["ports"][0]["containerPort"], ports["http-metrics"]})

    def test_the_test_of_the_chart_asks_a_daemon(self):
        """With the daemon and its command line in place of containers."""
        def steps(*arguments, **more):
            pods = [t for t in chart(*arguments, tests=True, **more) if t["kind"] == "Pod"]
            return [pods[0]["spec"]["initContainers"] + pods[0]["spec"]["containers"] for _ in pods]
        self.assertEqual(steps(kubernetes="1.28"), [])
        self.assertEqual(steps("controller.enabled=false"), [])
        [[_, only]] = steps()
        self.assertEqual(only["command"], ["/usr/bin/rbd-addons", "probe"])
        [[daemon, probe, doctor]] = steps("test.secret=s", "controller.hostNetwork=true",
                                          "controller.extraArgs[0]=--log-format=json")
        self.assertEqual(daemon["restartPolicy"], "Always")
        self.assertIn("--log-format=json", daemon["args"])
        given = {e["name"]: e.get("value", "127.0.0.1") for e in daemon["env"]}
        self.assertEqual(given["RBD_ADDONS_METRICSPORT"], "0")
        [place] = [m["mountPath"] for m in daemon["volumeMounts"] if m["name"] == "socket-dir"]
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            def here(words):
                return [w.replace("/etc/ceph-csi-config", folder).replace(place, folder) for w in words]
            def ask(step, **more):
                words = step if isinstance(step, list) else step["command"]
                self.assertEqual(words[0], "/usr/bin/rbd-addons")
                keys = {"RBD_ADDONS_USER_ID": "a", "RBD_ADDONS_USER_KEY": "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=="}
                wanted = {e["name"] for e in step["env"]} if isinstance(step, dict) and "env" in step else set()
                # The defaults name the folder that the daemon is told.
                socket_option = ["--admin-endpoint", f"unix://{folder}/admin.sock"]
                if words[1] == "probe":
                    socket_option = ["--endpoint", f"unix://{folder}/csi-addons.sock"]
                return subprocess.run([CLI, *words[1:], *socket_option], capture_output=True, text=True, timeout=60,
                                      env={name: keys[name] for name in wanted})
            with subprocess.Popen([DAEMON, *here(daemon["args"])], env=given, stderr=subprocess.DEVNULL) as process:
                try:
                    startup = daemon["startupProbe"]["exec"]["command"]
                    for _ in range(daemon["startupProbe"]["failureThreshold"]):
                        if ask(startup).returncode == 0:
                            break
                        time.sleep(daemon["startupProbe"]["periodSeconds"])
                    self.assertEqual(ask(startup).returncode, 0)
                    self.assertEqual(ask(probe).returncode, 9)
                    (Path(folder) / "config.json").write_text("[]")
                    self.assertEqual(ask(probe).returncode, 0)
                    done = ask(doctor)
                    self.assertEqual(done.returncode, 9)
                    self.assertIn("config.json has no cluster", done.stdout)
                finally:
                    process.terminate()
        helped = run(CLI, "--help")
        for path in ("csi-addons.sock", "admin.sock"):
            self.assertIn(f"unix://{place}/{path}", helped)

    def test_there_is_time_to_stop(self):
        grace = int(re.search(r"shutdown-grace=VALUE\n.*\(default (\d+)s\)", run(DAEMON, "--help"))[1])
        for workload, _ in self.each():
            self.assertGreaterEqual(pod(workload)["terminationGracePeriodSeconds"], grace + 10)

    @unittest.skipUnless(CLI, "CLI is not set")
    def test_each_part_offers_what_the_operator_looks_for_there(self):
        wanted = {
            "Deployment": {"CONTROLLER_SERVICE", "OFFLINE", "NETWORK_FENCE", "VOLUME_REPLICATION", "VOLUME_GROUP",
                           "GET_REPLICATION_DESTINATION_INFO"},
            "DaemonSet": {"NODE_SERVICE", "ONLINE", "GET_CLIENTS_TO_FENCE"}}
        rotating = [w for w in workloads(chart("config.create=true", "node.keyRotation.enabled=true"))
                    if w["kind"] == "DaemonSet"]
        for workload in workloads(chart("config.create=true", "metrics.port=9641")) + rotating:
            daemon = container(workload)
            rotates = "--key-rotation" in daemon["args"]
            self.assertEqual(rotates, workload in rotating)
            with tempfile.TemporaryDirectory(dir="/tmp") as folder:
                (Path(folder) / "config.json").write_text("[]")
                arguments = [a.replace("/etc/ceph-csi-config", folder).replace("/csi/", folder + "/").replace("/run/rbd-addons/", folder + "/").replace("$(NODE_ID)", "n")
                             for a in daemon["args"] if not a.startswith("--socket-")]
                with subprocess.Popen([DAEMON, *arguments], stderr=subprocess.DEVNULL) as process:
                    try:
                        answer = ""
                        for _ in range(100):
                            done = subprocess.run([CLI, "call", "identity.Identity/GetCapabilities", "--endpoint",
                                                   f"unix://{folder}/csi-addons.sock"], capture_output=True, text=True)
                            if done.returncode == 0:
                                answer = done.stdout
                                break
                            time.sleep(0.1)
                        offered = set(re.findall(r'"type": *"(\w+)"', answer))
                    finally:
                        process.terminate()
                self.assertLessEqual(wanted[workload["kind"]], offered)
                # A node that led would compete for the lease; a rotation that is not served counts as done.
                others = wanted["DaemonSet" if workload["kind"] == "Deployment" else "Deployment"]
                self.assertFalse(offered & others)
                self.assertEqual("ENCRYPTIONKEYROTATION" in offered, rotates)

    def test_sites_of_the_chart_start_a_daemon(self):
        """What the chart writes into its own ConfigMap is what the daemon reads, and the probes
        are served where the manifests look for them."""
        things = chart("config.create=true", "config.clusters[0].clusterID=a",
                       "config.clusters[0].monitors[0]=127.0.0.1:1")
        data = next(t for t in things if t["kind"] == "ConfigMap")["data"]
        self.assertEqual(json.loads(data["config.json"])[0]["clusterID"], "a")
        daemon = container(next(w for w in workloads(things) if w["kind"] == "Deployment"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            arguments = [a.replace("/etc/ceph-csi-config", folder).replace("/csi/", folder + "/").replace("/run/rbd-addons/", folder + "/") for a in daemon["args"]]
            variables = {e["name"]: e.get("value", "127.0.0.1") for e in daemon["env"]}
            variables["RBD_ADDONS_METRICSPORT"] = str(port)
            variables["POD_NAME"] = "rbd-addons-controller-x"
            # As systemd hears it: no test waits for a time.
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                notify.bind(folder + "/notify")
                notify.settimeout(60)
                variables["NOTIFY_SOCKET"] = folder + "/notify"
                with subprocess.Popen([DAEMON, *arguments], env=variables, stderr=subprocess.PIPE, text=True) as process:
                    try:
                        self.assertEqual(notify.recv(64), b"READY=1")
                        url = f"http://127.0.0.1:{port}"
                        live, ready = (daemon[p]["httpGet"]["path"] for p in ("livenessProbe", "readinessProbe"))
                        self.assertEqual(urllib.request.urlopen(url + live, timeout=20).status, 200)
                        with urllib.request.urlopen(url + "/status.json", timeout=20) as page:
                            self.assertEqual(json.load(page)["host"], "rbd-addons-controller-x")
                        with self.assertRaises(urllib.error.HTTPError) as refused:
                            urllib.request.urlopen(url + ready, timeout=20)
                        self.assertEqual(refused.exception.code, 503)
                        refused.exception.close()
                        for name, text in data.items():
                            (Path(folder) / name).write_text(text)
                        self.assertEqual(urllib.request.urlopen(url + ready, timeout=20).status, 200)
                    finally:
                        process.terminate()
                        log = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, log)

    def test_the_files_are_the_keys_that_the_daemon_reads(self):
        code = (SOURCE / "volume" / "cluster_config.h").read_text()
        data = next(t for t in chart("config.create=true") if t["kind"] == "ConfigMap")["data"]
        self.assertEqual(set(data), {"config.json", "cluster-mapping.json"})
        for name in data:
            self.assertIn(f'[] = "{name}";', code)


if __name__ == "__main__":
    main()
