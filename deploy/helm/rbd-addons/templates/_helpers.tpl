{{- /* Every setting that has a value in values.yaml, but for what can be taken away: single keys
of settings, labels, requests and limits, and seLinuxOptions. A test compares. */ -}}
{{- define "rbd-addons.needed" -}}
driverName kubeletDir
image image.repository image.pullPolicy
sidecar sidecar.image sidecar.image.repository sidecar.image.tag sidecar.image.pullPolicy sidecar.enableAuth sidecar.resources
config settings
probes
probes.startup probes.startup.periodSeconds probes.startup.timeoutSeconds probes.startup.failureThreshold
probes.readiness probes.readiness.periodSeconds probes.readiness.timeoutSeconds
probes.liveness probes.liveness.periodSeconds probes.liveness.timeoutSeconds probes.liveness.failureThreshold
controller controller.enabled controller.replicas controller.serviceAccount controller.serviceAccount.create
controller.port controller.resources controller.priorityClassName controller.maxUnavailable controller.topologySpreadConstraints
controller.leaderElection controller.leaderElection.leaseDuration controller.leaderElection.renewDeadline controller.leaderElection.retryPeriod
node node.enabled node.serviceAccount node.serviceAccount.create
node.port node.resources node.priorityClassName node.maxUnavailable node.tolerations
node.keyRotation node.keyRotation.kmsConfigMap
metrics metrics.port
metrics.podMonitor metrics.podMonitor.interval metrics.serviceMonitor metrics.serviceMonitor.interval
metrics.rules metrics.rules.rpo metrics.rules.rpo.target metrics.rules.rpo.objective metrics.dashboard metrics.dashboard.labels
networkPolicy networkPolicy.enabled networkPolicy.managerFrom networkPolicy.metricsFrom
rbac rbac.create cephUser cephUser.services watchUser namespace test
{{- end -}}

{{- /* Each template begins with it. Helm takes away what is null in the user's values, with all
the chart has there, before it asks the schema: "node:", and nothing below it but comments. */ -}}
{{- define "rbd-addons.check" -}}
{{- $empty := list -}}
{{- range $path := regexFindAll "[^ \n]+" (include "rbd-addons.needed" .) -1 -}}
{{- $at := $.Values -}}
{{- $block := "" -}}
{{- range $name := splitList "." $path -}}
{{- if not (has $block $empty) -}}
{{- $block = trimPrefix "." (printf "%s.%s" $block $name) -}}
{{- $at = index $at $name -}}
{{- if kindIs "invalid" $at -}}
{{- $empty = append $empty $block | uniq -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $empty -}}
{{- fail (printf "empty in the values: %s. Helm takes the chart's defaults away with it: leave the line out to have them, or give a value ([] for an empty list)" (join ", " .)) -}}
{{- end -}}
{{- include "rbd-addons.checkSettings" . -}}
{{- end -}}

{{- /* A duration as the daemon reads it, in seconds: "90s", "1m30s", or a number. */ -}}
{{- define "rbd-addons.seconds" -}}
{{- $seconds := 0.0 -}}
{{- $units := dict "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 0.001 "" 1.0 -}}
{{- range regexFindAll "[0-9.]+[a-z]*" (toString .) -1 -}}
{{- $seconds = addf $seconds (mulf (regexFind "[0-9.]+" . | float64) (get $units (regexFind "[a-z]*$" .))) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{- /* What the daemon would refuse and the schema cannot: the pods would start again and again. */ -}}
{{- define "rbd-addons.checkSettings" -}}
{{- $least := dict "settle-time" 60 "takeover-time" 60 "max-wait" 1 "watchdog" 1 "connect-timeout" 1 "monitor-timeout" 1 "read-timeout" 1 -}}
{{- range $name := list "settings" "controller.settings" "node.settings" -}}
{{- $settings := eq $name "settings" | ternary $.Values.settings (index $.Values (splitList "." $name | first)).settings | default dict -}}
{{- range $flag, $seconds := $least -}}
{{- if and (hasKey $settings $flag) (lt (include "rbd-addons.seconds" (get $settings $flag) | float64) (float64 $seconds)) -}}
{{- fail (printf "%s.%s is %v: it must be at least %ds" $name $flag (get $settings $flag) $seconds) -}}
{{- end -}}
{{- end -}}
{{- $path := get $settings "metricspath" | default "/metrics" -}}
{{- if and (ne $path "/metrics") (or $.Values.metrics.podMonitor.enabled $.Values.metrics.serviceMonitor.enabled) -}}
{{- fail (printf "%s.metricspath is %s: the chart's monitors ask for /metrics; leave it out, or use a monitor of your own" $name $path) -}}
{{- end -}}
{{- $watch := include "rbd-addons.seconds" (get $settings "watch-interval") | float64 -}}
{{- if and (gt $watch 0.0) (lt $watch 5.0) -}}
{{- fail (printf "%s.watch-interval is %v: it must be 0 or at least 5s" $name (get $settings "watch-interval")) -}}
{{- end -}}
{{- end -}}
{{- range $part := list "controller" "node" -}}
{{- $settings := merge (dict) ((index $.Values $part).settings | default dict) ($.Values.settings | default dict) -}}
{{- if hasKey $settings "takeover-time" -}}
{{- $settle := get $settings "settle-time" | default "90s" -}}
{{- if lt (include "rbd-addons.seconds" (get $settings "takeover-time") | float64) (include "rbd-addons.seconds" $settle | float64) -}}
{{- fail (printf "takeover-time of the %s is %v: it must be at least the settle-time, %v" $part (get $settings "takeover-time") $settle) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "rbd-addons.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{- define "rbd-addons.fullname" -}}
{{- $name := include "rbd-addons.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Of the user that Rook makes for the watch. */ -}}
{{- define "rbd-addons.watchUser" -}}
{{- .Values.watchUser.name | default (printf "%s-watch" (include "rbd-addons.fullname" .)) -}}
{{- end -}}

{{- /* The Secret of the user that the controller watches with; empty: there is none. */ -}}
{{- define "rbd-addons.watchSecret" -}}
{{- if .Values.watchUser.secret -}}
{{- if .Values.watchUser.create -}}
{{- fail "watchUser.secret and watchUser.create are both set: Rook makes a Secret of its own" -}}
{{- end -}}
{{- .Values.watchUser.secret -}}
{{- else if .Values.watchUser.create -}}
{{- printf "rook-ceph-client-%s" (include "rbd-addons.watchUser" .) -}}
{{- end -}}
{{- end -}}

{{- /* What selects the pods of one part: (list $ "controller"). */ -}}
{{- define "rbd-addons.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "rbd-addons.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- /* All labels of an object of one part, with the user's: (list $ part), or
(list $ part more), of which more wins. */ -}}
{{- define "rbd-addons.labels" -}}
{{- $root := index . 0 -}}
{{- $more := deepCopy ($root.Values.commonLabels | default dict) -}}
{{- if gt (len .) 2 -}}
{{- $more = mergeOverwrite $more (index . 2 | default dict) -}}
{{- end -}}
{{ include "rbd-addons.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: csi-addons
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- with $more }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The account of a part: (list $ part). */ -}}
{{- define "rbd-addons.serviceAccount" -}}
{{- $root := index . 0 -}}
{{- $account := (index $root.Values (index . 1)).serviceAccount -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- printf "%s-%s" (include "rbd-addons.fullname" $root) (index . 1) -}}
{{- else -}}
{{- fail (printf "%s.serviceAccount.create is false: %s.serviceAccount.name must say which account is there already" (index . 1) (index . 1)) -}}
{{- end -}}
{{- end -}}

{{- /* "registry/repository:tag" or "...@sha256:...": (list $ image default-tag setting). No
registry is built in, and the one that a node falls back to has neither image. */ -}}
{{- define "rbd-addons.image" -}}
{{- $image := index . 1 -}}
{{- $host := regexMatch "^([^/]*[.][^/]*|localhost)/" $image.repository -}}
{{- if not (or $image.registry $host (index . 0).Values.localImages) -}}
{{- fail (printf "%s.registry is empty: set it to where your images are (docs/install.md, \"The image\"), or localImages=true where each node has them by these names" (index . 3)) -}}
{{- end -}}
{{- with $image.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 2) }}{{ end -}}
{{- end -}}

{{- define "rbd-addons.configMap" -}}
{{- if .Values.config.configMap -}}
{{- .Values.config.configMap -}}
{{- else if .Values.config.create -}}
{{- include "rbd-addons.fullname" . }}-config
{{- else -}}
ceph-csi-config
{{- end -}}
{{- end -}}

{{- /* Of metrics and probes: (list $ $part). The node part has the host's network. */ -}}
{{- define "rbd-addons.metricsPort" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- if $part.metricsPort -}}
{{- $part.metricsPort -}}
{{- else if and $part.hostNetwork $root.Values.node.enabled -}}
{{- add $root.Values.metrics.port 1 -}}
{{- else -}}
{{- $root.Values.metrics.port -}}
{{- end -}}
{{- end -}}

{{- /* Flags as environment variables, in the order of their names, and what the user adds:
(list $ $part), or (list $ $part flags) with flags that win. */ -}}
{{- define "rbd-addons.settings" -}}
{{- $root := index . 0 -}}
{{- $flags := dict "drivername" $root.Values.driverName "metricsport" (include "rbd-addons.metricsPort" .) -}}
{{- $flags = mergeOverwrite $flags (deepCopy $root.Values.settings) (deepCopy ((index . 1).settings | default dict)) -}}
{{- if gt (len .) 2 -}}
{{- $flags = mergeOverwrite $flags (index . 2) -}}
{{- end -}}
{{- range $i, $flag := keys $flags | sortAlpha }}
{{- $value := index $flags $flag }}
{{- if $i }}{{ "\n" }}{{ end -}}
- name: RBD_ADDONS_{{ $flag | upper | replace "-" "_" }}
  value: {{ $value | toString | quote }}
{{- end -}}
{{- range (index . 1).extraEnv }}
{{- $flag := trimPrefix "RBD_ADDONS_" .name | lower | replace "_" "-" }}
{{- if and (hasPrefix "RBD_ADDONS_" .name) (hasKey $flags $flag) }}
{{- fail (printf "extraEnv: %s is what settings.%s says; set one of them" .name $flag) }}
{{- end }}
{{ list . | toYaml }}
{{- end }}
{{- end -}}

{{- define "rbd-addons.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http-metrics}
  {{- toYaml .Values.probes.startup | nindent 2 }}
readinessProbe:
  httpGet: {path: /readyz, port: http-metrics}
  {{- toYaml .Values.probes.readiness | nindent 2 }}
livenessProbe:
  httpGet: {path: /healthz, port: http-metrics}
  {{- toYaml .Values.probes.liveness | nindent 2 }}
{{- end -}}

{{- /* The sidecar alone talks to Kubernetes: (list $ port more-arguments). */ -}}
{{- define "rbd-addons.sidecar" -}}
{{- $root := index . 0 -}}
{{- $sidecar := $root.Values.sidecar -}}
name: csi-addons
image: {{ include "rbd-addons.image" (list $root $sidecar.image "" "sidecar.image") | quote }}
imagePullPolicy: {{ $sidecar.image.pullPolicy }}
args:
  - --csi-addons-address=unix:///csi/csi-addons.sock
  - --controller-port={{ index . 1 }}
  - --node-id=$(NODE_ID)
  - --pod=$(POD_NAME)
  - --pod-uid=$(POD_UID)
  - --namespace=$(POD_NAMESPACE)
  - --enable-auth={{ $sidecar.enableAuth }}
  {{- range index . 2 }}
  - {{ . }}
  {{- end }}
  {{- range $sidecar.extraArgs }}
  - {{ . | quote }}
  {{- end }}
env:
  - name: NODE_ID
    valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_UID
    valueFrom: {fieldRef: {fieldPath: metadata.uid}}
  - name: POD_NAMESPACE
    valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
ports:
  - {name: csi-addons, containerPort: {{ index . 1 }}, protocol: TCP}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
resources: {{- toYaml $sidecar.resources | nindent 2 }}
volumeMounts:
  - {name: socket-dir, mountPath: /csi}
  - {name: kubernetes-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end -}}

{{- /* The daemon has no token: it never talks to Kubernetes. */ -}}
{{- define "rbd-addons.volumes" -}}
- name: socket-dir
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
# The sidecar must not see it: who calls as the sidecar is no administrator.
- name: admin-socket-dir
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: ceph-csi-config
  configMap: {name: {{ include "rbd-addons.configMap" . }}}
- name: kubernetes-token
  projected:
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3607}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
      - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
{{- end -}}

{{- /* A command of the test, at the default sockets: (list $ image verb). */ -}}
{{- define "rbd-addons.testStep" -}}
image: {{ index . 1 | quote }}
imagePullPolicy: {{ (index . 0).Values.image.pullPolicy }}
command: [/usr/bin/rbd-addons, {{ index . 2 }}]
securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
resources: {requests: {cpu: 10m, memory: 32Mi}}
volumeMounts:
  - {name: socket-dir, mountPath: /run/rbd-addons}
{{- end -}}
