{{- define "rbd-addons.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* What selects the pods of one part: (list $ "controller"). */ -}}
{{- define "rbd-addons.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- /* All labels of an object of one part. */ -}}
{{- define "rbd-addons.labels" -}}
{{- $root := index . 0 -}}
{{ include "rbd-addons.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: csi-addons
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{- /* "registry/repository:tag" or "...@sha256:...": (list image default-tag). */ -}}
{{- define "rbd-addons.image" -}}
{{- $image := index . 0 -}}
{{- with $image.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 1) }}{{ end -}}
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

{{- /* Flags as environment variables, in the order of their names: (list $ $part). */ -}}
{{- define "rbd-addons.settings" -}}
{{- $root := index . 0 -}}
{{- $flags := dict "drivername" $root.Values.driverName "metricsport" (include "rbd-addons.metricsPort" .) -}}
{{- $flags = mergeOverwrite $flags (deepCopy $root.Values.settings) (deepCopy (index . 1).settings) -}}
{{- range $i, $flag := keys $flags | sortAlpha }}
{{- $value := index $flags $flag }}
{{- if $i }}{{ "\n" }}{{ end -}}
- name: RBD_ADDONS_{{ $flag | upper | replace "-" "_" }}
  value: {{ $value | toString | quote }}
{{- end -}}
{{- end -}}

{{- define "rbd-addons.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http-metrics}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 60
readinessProbe:
  httpGet: {path: /readyz, port: http-metrics}
  periodSeconds: 10
  timeoutSeconds: 5
livenessProbe:
  httpGet: {path: /healthz, port: http-metrics}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{- /* The sidecar alone talks to Kubernetes: (list $ port more-arguments). */ -}}
{{- define "rbd-addons.sidecar" -}}
{{- $root := index . 0 -}}
{{- $sidecar := $root.Values.sidecar -}}
name: csi-addons
image: {{ include "rbd-addons.image" (list $sidecar.image "") | quote }}
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
