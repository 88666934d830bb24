"""Who may do what: privileges of the containers, rights of the sidecars, who reaches which port."""

import re
import unittest

from objects import SOURCE, by_key, chart, container, main, matrix, pod, workloads


def mebibytes(text):
    return int(re.fullmatch(r"(\d+)Mi", text)[1])


class Policy(unittest.TestCase):
    def setUp(self):
        self.things = by_key(chart())
        self.controller = self.things["Deployment", "rbd-addons-controller"]
        self.node = self.things["DaemonSet", "rbd-addons-node"]

    def test_the_controller_is_restricted(self):
        """What the pod security standard "restricted" demands."""
        spec = pod(self.controller)
        for host in ("hostNetwork", "hostPID", "hostIPC"):
            self.assertFalse(spec.get(host, False))
        self.assertEqual(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault")
        self.assertTrue(spec["securityContext"]["runAsNonRoot"])
        self.assertNotEqual(spec["securityContext"]["runAsUser"], 0)
        for volume in spec["volumes"]:
            self.assertTrue({"emptyDir", "configMap", "projected"} & set(volume), volume)
        for one in spec["containers"]:
            context = one["securityContext"]
            self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
            self.assertFalse(context["allowPrivilegeEscalation"])
            self.assertTrue(context["readOnlyRootFilesystem"])
            self.assertFalse(context.get("privileged", False))

    def test_the_node_part_has_exactly_what_trimming_needs(self):
        spec = pod(self.node)
        self.assertEqual((spec["hostNetwork"], spec["hostPID"], spec.get("hostIPC", False)), (True, True, False))
        self.assertEqual({v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v},
                         {"/var/lib/kubelet/plugins", "/var/lib/kubelet/pods"})
        context = container(self.node)["securityContext"]
        self.assertNotIn("privileged", context)
        self.assertEqual(context["capabilities"], {"drop": ["ALL"], "add": ["SYS_ADMIN", "DAC_READ_SEARCH"]})
        self.assertTrue(context["readOnlyRootFilesystem"])
        for mount in container(self.node)["volumeMounts"]:
            self.assertTrue(mount["name"] in ("socket-dir", "admin-socket-dir") or mount["readOnly"], mount)
        sidecar = container(self.node, "csi-addons")
        self.assertTrue(sidecar["securityContext"]["runAsNonRoot"])
        self.assertEqual(sidecar["securityContext"]["capabilities"], {"drop": ["ALL"]})
        self.assertEqual({m["name"] for m in sidecar["volumeMounts"]}, {"socket-dir", "kubernetes-token"})

    def test_the_node_part_is_privileged_only_to_rotate_keys(self):
        node = next(w for w in workloads(chart("node.keyRotation.enabled=true")) if w["kind"] == "DaemonSet")
        daemon = container(node)
        self.assertTrue(daemon["securityContext"]["privileged"])
        self.assertTrue(daemon["securityContext"]["readOnlyRootFilesystem"])
        self.assertIn("--key-rotation", daemon["args"])
        volumes = {v["name"]: v for v in pod(node)["volumes"]}
        mounts = {m["mountPath"]: m for m in daemon["volumeMounts"]}
        self.assertEqual(volumes[mounts["/dev"]["name"]]["hostPath"]["path"], "/dev")
        # libcryptsetup makes its lock files there.
        self.assertIn("emptyDir", volumes[mounts["/run/cryptsetup"]["name"]])
        kms = mounts[next(a.split("=", 1)[1] for a in daemon["args"] if a.startswith("--kms-config-dir="))]
        self.assertTrue(kms["readOnly"])
        self.assertTrue(volumes[kms["name"]]["configMap"]["optional"])
        sidecar = container(node, "csi-addons")
        self.assertFalse(sidecar["securityContext"].get("privileged", False))
        self.assertEqual({m["name"] for m in sidecar["volumeMounts"]}, {"socket-dir", "kubernetes-token"})

    def test_memory_is_asked_for_as_it_was_measured(self):
        page = (SOURCE / "docs" / "performance.md").read_text().split("## Memory")[1]
        told = dict((name, (request, limit)) for name, request, limit
                    in re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \|$", page, re.M))
        asked = {}
        for name, thing in (("controller", self.controller), ("node", self.node)):
            resources = container(thing)["resources"]
            asked[name] = resources["requests"]["memory"], resources["limits"]["memory"]
        self.assertEqual(asked, told)
        idle, work, failover, abuse = (int(re.search(rf"^\| {state}.* \| (\d+) \|$", page, re.M)[1])
                                       for state in ("idle", "ordinary work", "a site's failover", "connections that ask"))
        for request, _ in asked.values():
            self.assertGreaterEqual(mebibytes(request), work)
        self.assertGreaterEqual(mebibytes(asked["controller"][0]), max(2 * work, failover))
        # What the tests of abuse let pass does not get the controller killed.
        bounds = re.findall(r"ExpectPeak\(.*?, (\d+) \* kMiB\)", (SOURCE / "tests" / "rpc" / "abuse_test.cc").read_text())
        self.assertEqual(max(map(int, bounds)), abuse)
        self.assertGreaterEqual(mebibytes(asked["controller"][1]), idle + abuse)

    def test_the_sidecar_may_use_the_nodes_socket(self):
        group = pod(self.node)["securityContext"]["fsGroup"]
        self.assertIn(f"--socket-group={group}", container(self.node)["args"])
        self.assertIn("--socket-mode=0660", container(self.node)["args"])
        self.assertEqual(container(self.node, "csi-addons")["securityContext"]["runAsGroup"], group)
        # In the controller both are one user, and nobody else.
        self.assertEqual(container(self.controller, "csi-addons")["securityContext"]["runAsUser"],
                         pod(self.controller)["securityContext"]["runAsUser"])

    def test_the_daemon_has_no_token(self):
        for _, things in matrix():
            for workload in workloads(things):
                self.assertFalse(pod(workload)["automountServiceAccountToken"])
                self.assertNotIn("kubernetes-token", {m["name"] for m in container(workload)["volumeMounts"]})
            for thing in things:
                if thing["kind"] == "ServiceAccount":
                    self.assertFalse(thing["automountServiceAccountToken"])

    def rights(self, kind, name):
        return {(group, resource): set(rule["verbs"]) for rule in self.things[kind, name]["rules"]
                for group in rule["apiGroups"] for resource in rule["resources"]}

    def test_rights_are_those_that_the_sidecar_uses(self):
        notes = {"get", "list", "watch", "create", "update", "delete"}
        self.assertEqual(self.rights("Role", "rbd-addons-controller"), {
            ("csiaddons.openshift.io", "csiaddonsnodes"): notes, ("coordination.k8s.io", "leases"): notes,
            ("", "pods"): {"get"}, ("apps", "replicasets"): {"get"}, ("apps", "deployments/finalizers"): {"update"},
            ("", "events"): {"create", "patch"}})
        self.assertEqual(self.rights("Role", "rbd-addons-node"), {
            ("csiaddons.openshift.io", "csiaddonsnodes"): notes, ("", "pods"): {"get"},
            ("apps", "daemonsets/finalizers"): {"update"}})
        for part in ("controller", "node"):
            self.assertEqual(self.rights("ClusterRole", f"rbd-addons-{part}"), {
                ("", "persistentvolumes"): {"get"}, ("", "secrets"): {"get"},
                ("authentication.k8s.io", "tokenreviews"): {"create"}})

    def test_secrets_can_be_limited_to_namespaces(self):
        things = chart("rbac.secretNamespaces[0]=rook-ceph", "rbac.secretNamespaces[1]=tenant")
        readers = [t for t in things if t["kind"] in ("Role", "ClusterRole")
                   and any("secrets" in rule["resources"] for rule in t["rules"])]
        self.assertEqual({(t["kind"], t["metadata"]["namespace"]) for t in readers},
                         {("Role", "rook-ceph"), ("Role", "tenant")})

    def test_every_binding_is_for_an_account_that_a_pod_uses(self):
        for settings, things in matrix():
            with self.subTest(settings):
                accounts = {t["metadata"]["name"] for t in things if t["kind"] == "ServiceAccount"}
                if "controller.serviceAccount.create=false" in settings:
                    self.assertNotIn("there", accounts)
                    accounts.add("there")
                self.assertEqual(accounts, {pod(w)["serviceAccountName"] for w in workloads(things)})
                roles = {(t["kind"], t["metadata"]["name"]) for t in things}
                for thing in things:
                    if thing["kind"].endswith("Binding"):
                        self.assertIn((thing["roleRef"]["kind"], thing["roleRef"]["name"]), roles)
                        self.assertEqual({s["namespace"] for s in thing["subjects"]}, {"ceph-csi"})
                        self.assertLessEqual({s["name"] for s in thing["subjects"]}, accounts)

    def test_without_rbac_nobody_is_given_rights(self):
        things = by_key(chart("rbac.create=false", "rbac.secretNamespaces[0]=a"))
        self.assertFalse({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} & {kind for kind, _ in things})
        self.assertIn(("ServiceAccount", "rbd-addons-controller"), things)

    def test_the_pod_of_the_test_is_restricted_and_nobody_takes_it_for_a_part(self):
        things = by_key(chart("test.secret=csi-rbd-secret", "metrics.serviceMonitor.enabled=true", tests=True))
        test = things["Pod", "rbd-addons-test"]
        spec = test["spec"]
        self.assertFalse(spec["automountServiceAccountToken"])
        self.assertNotIn("serviceAccountName", spec)
        self.assertEqual(spec["securityContext"], pod(self.controller)["securityContext"])
        for one in spec["initContainers"] + spec["containers"]:
            self.assertEqual(one["securityContext"], container(self.controller)["securityContext"])
            self.assertNotIn("ports", one)
        for thing in things.values():
            for selector in (thing["spec"].get("selector", {}).get("matchLabels"),
                             thing["spec"].get("podSelector", {}).get("matchLabels")) if "spec" in thing else ():
                if selector:
                    self.assertFalse(selector.items() <= test["metadata"]["labels"].items(), thing["kind"])
        # The key reaches the one container that needs it, and no argument.
        holders = [one["name"] for one in spec["initContainers"] + spec["containers"]
                   if any("secretKeyRef" in e.get("valueFrom", {}) for e in one.get("env", []))]
        self.assertEqual(holders, ["doctor"])

    def test_only_the_manager_reaches_the_sidecar(self):
        spec = self.things["NetworkPolicy", "rbd-addons-controller"]["spec"]
        self.assertEqual(spec["podSelector"]["matchLabels"], self.controller["spec"]["selector"]["matchLabels"])
        [sidecar] = [r for r in spec["ingress"] if r["ports"][0]["port"] == 9070]
        self.assertEqual(sidecar["from"], [{"namespaceSelector": {}, "podSelector": {"matchLabels": {
            "app.kubernetes.io/name": "csi-addons", "control-plane": "controller-manager"}}}])

    def test_the_namespace_tells_what_its_pods_may(self):
        level = "pod-security.kubernetes.io/enforce"
        both = by_key(chart("namespace.create=true"))["Namespace", "ceph-csi"]
        self.assertEqual(both["metadata"]["labels"][level], "privileged")
        one = by_key(chart("namespace.create=true", "node.enabled=false"))["Namespace", "ceph-csi"]
        self.assertEqual(one["metadata"]["labels"][level], "restricted")

    def test_replicas_stand_apart_and_are_not_taken_away_together(self):
        # Two on one node share a CSIAddonsNode, and the operator finds neither again.
        self.assertEqual({c["topologyKey"]: c["whenUnsatisfiable"]
                          for c in pod(self.controller)["topologySpreadConstraints"]},
                         {"kubernetes.io/hostname": "DoNotSchedule",
                          "topology.kubernetes.io/zone": "ScheduleAnyway"})
        budget = self.things["PodDisruptionBudget", "rbd-addons-controller"]["spec"]
        self.assertEqual(budget["selector"], self.controller["spec"]["selector"])
        self.assertEqual(budget["maxUnavailable"], 1)
        self.assertEqual((pod(self.controller)["priorityClassName"], pod(self.node)["priorityClassName"]),
                         ("system-cluster-critical", "system-node-critical"))


if __name__ == "__main__":
    main()
