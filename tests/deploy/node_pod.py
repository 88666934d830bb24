#!/usr/bin/env python3
"""Starts the daemon of a node as its DaemonSet says: in the root file system of the image,
with the flags, the variables, the user, the groups, the capabilities and the folders of the
manifest, and the host's processes and network, as far as that goes without a container
runtime (no seccomp profile).

  node_pod.py ROOT VOLUMES [--without CAPABILITY] [FLAG...]

ROOT: of the image. VOLUMES: a folder that has one for each emptyDir and ConfigMap, by its
name. FLAG: more flags of the daemon. To be called as root in a mount namespace of its own,
which the mounts are made in, and in which mounts of the host arrive."""
import ctypes
import os
import pathlib
import subprocess
import sys

import yaml

MANIFEST = pathlib.Path(__file__).parents[2] / "deploy/kustomize/base/node.yaml"
# linux/capability.h; of others a manifest has no need.
CAPABILITIES = {"DAC_READ_SEARCH": 2, "SYS_ADMIN": 21}
LAST_CAPABILITY = int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text())
PR_CAPBSET_DROP = 24
# What the kubelet would put into variables.
FIELDS = {"spec.nodeName": "node-1", "status.podIP": "127.0.0.1", "metadata.name": "rbd-addons-node-x"}


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def mount_folders(root, volumes, pod, container):
    """The image is read-only; what is mounted in it is what the manifest says."""
    mount("--bind", root, root)
    kinds = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = []
    for wanted in container["volumeMounts"]:
        kind = kinds[wanted["name"]]
        source = kind["hostPath"]["path"] if "hostPath" in kind else volumes / wanted["name"]
        target = pathlib.Path(f"{root}{wanted['mountPath']}")
        target.mkdir(parents=True, exist_ok=True)
        mounts.append((source, target, wanted))
    for source, target, wanted in mounts:
        mount("--rbind", source, target)
        arrives = wanted.get("mountPropagation") in ("HostToContainer", "Bidirectional")
        mount("--make-rslave" if arrives else "--make-rprivate", target)
        if wanted.get("readOnly"):
            mount("-o", "remount,bind,ro", target)
    assert pod["hostPID"], "without it /proc would be another"
    mount("--bind", "/proc", root / "proc")
    mount("-t", "sysfs", "-o", "ro", "sysfs", root / "sys")
    if container["securityContext"]["readOnlyRootFilesystem"]:
        mount("-o", "remount,bind,ro", root)


def drop_capabilities(kept):
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"capability {number}")


def main():
    root, volumes, *flags = sys.argv[1:]
    without = None
    if flags[:1] == ["--without"]:
        without = flags[1]
        flags = flags[2:]
    document = next(d for d in yaml.safe_load_all(MANIFEST.read_text()) if d["kind"] == "DaemonSet")
    pod = document["spec"]["template"]["spec"]
    container = next(c for c in pod["containers"] if c["name"] == "rbd-addonsd")
    security = container["securityContext"]

    environment = {"PATH": "/usr/sbin:/usr/bin"}
    for variable in container["env"]:
        environment[variable["name"]] = variable["value"] if "value" in variable else (
            FIELDS[variable["valueFrom"]["fieldRef"]["fieldPath"]])
    arguments = []
    for argument in container["args"]:
        for name, value in environment.items():
            argument = argument.replace(f"$({name})", value)
        arguments.append(argument)

    mount_folders(pathlib.Path(root), pathlib.Path(volumes), pod, container)
    assert security["capabilities"]["drop"] == ["ALL"]
    kept = set(security["capabilities"]["add"]) - {without}
    os.chroot(root)
    os.chdir("/")
    drop_capabilities({CAPABILITIES[name] for name in kept})
    os.setgroups([pod["securityContext"]["fsGroup"]])
    os.setresgid(*[security["runAsGroup"]] * 3)
    os.setresuid(*[security["runAsUser"]] * 3)
    # What it may is what the kernel gives root at this moment: all that was not dropped.
    os.execve("/usr/sbin/rbd-addonsd", ["rbd-addonsd", *arguments, *flags], environment)


main()
