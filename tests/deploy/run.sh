#!/usr/bin/env bash
# Runs one of the tests here with a Python that has what they need; 77 (skipped) without.
set -euo pipefail
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import yaml, jsonschema' 2>/dev/null; then
    exec "$python" -B "$(dirname "$0")/$1.py"
  fi
done
echo "skipped: no python3 with yaml and jsonschema (packages python3-yaml, python3-jsonschema)" >&2
exit 77
