#!/usr/bin/env bash
# Writes the objects of base/ and components/ anew from the Helm chart, so that there is one
# truth. Run it after every change of the chart; a test compares.
#
#   deploy/kustomize/render.sh [FOLDER]    default: the folder of this script
#
# HELM is the program, by default helm. What the chart puts in as it is installed (the
# namespace, and who manages the object) is left to the overlays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here}

# FILE TEMPLATE...: where the objects of the chart's templates go.
files=(
  "base/controller.yaml controller disruption networkpolicy"
  "base/node.yaml node"
  "base/rbac.yaml rbac"
  "components/monitoring/objects.yaml podmonitor prometheusrule dashboard"
  "components/own-config/objects.yaml configmap"
  "components/namespace/objects.yaml namespace"
)

for line in "${files[@]}"; do
  read -r file templates <<<"$line"
  show=()
  for template in $templates; do show+=(--show-only "templates/$template.yaml"); done
  mkdir -p "$into/${file%/*}"
  {
    echo "# Made from the Helm chart by render.sh: change the chart instead."
    "${HELM:-helm}" template rbd-addons "$here/../helm/rbd-addons" --namespace NAMESPACE \
      --kube-version 1.31 --set localImages=true,config.create=true,config.configMap= \
      --set metrics.podMonitor.enabled=true,metrics.rules.enabled=true,metrics.dashboard.enabled=true \
      --set namespace.create=true "${show[@]}" |
      sed -e '/^ *namespace: NAMESPACE$/d' -e 's/, namespace: NAMESPACE}/}/' -e 's/name: NAMESPACE$/name: rbd-addons/' \
        -e '/^ *app.kubernetes.io\/managed-by: /d' -e '/^ *helm.sh\/chart: /d' -e '/^# Source: /d' \
        -e 's/name: rbd-addons-config}/name: ceph-csi-config}/'
  } >"$into/$file"
done
