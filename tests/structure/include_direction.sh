#!/usr/bin/env bash
# A folder is a layer: checks that includes point downwards only, and that the headers
# of Ceph, gRPC and protobuf stay where they belong. Prints each offence.
set -euo pipefail
cd "$1"

# Who may include whom. "replication_service" stands for files named *_service.* and *_service_*.
declare -A allowed=(
  [base]="base"
  [ceph]="ceph base"
  [ceph/librados]="ceph/librados ceph base"
  [node]="node base"
  [volume]="volume ceph base"
  [operation]="operation base"
  [rpc]="rpc base"
  [identity]="identity rpc base"
  [admin_service]="admin operation rpc base"
  [networkfence]="networkfence operation volume ceph base"
  [networkfence_service]="networkfence operation volume ceph base rpc"
  [replication]="replication operation volume ceph base"
  [replication_service]="replication operation volume ceph base rpc"
  [reclaimspace]="reclaimspace operation node volume ceph base"
  [reclaimspace_service]="reclaimspace operation node volume ceph base rpc"
  [server]="server admin identity networkfence reclaimspace volumegroup replication operation volume ceph/librados ceph rpc base"
  [volumegroup]="volumegroup replication operation volume ceph base"
  [volumegroup_service]="volumegroup replication operation volume ceph base rpc"
  [cli]="cli rpc base"
)

offences=0
offend() {
  printf '%s\n' "$*" >&2
  offences=$((offences + 1))
}

layer_of() { # FILE
  case $1 in
    ceph/librados/*) echo ceph/librados ;;
    identity/* | server/* | cli/*) echo "${1%%/*}" ;;
    */*_service.h | */*_service.cc | */*_service_*.h | */*_service_*.cc) echo "${1%%/*}_service" ;;
    *) echo "${1%%/*}" ;;
  esac
}

checked=0
while IFS= read -r file; do
  layer=$(layer_of "$file")
  [[ ${allowed[$layer]:-} ]] || { offend "$file: the folder has no row in this test"; continue; }
  checked=$((checked + 1))
  while IFS= read -r include; do
    case $include in
      *.pb.h)
        [[ $layer == *_service || $layer =~ ^(rpc|identity|server|cli)$ ]] ||
          offend "$file: generated code ($include) belongs to services, rpc, server and cli"
        continue
        ;;
      absl/*) continue ;; # not ours; everybody may
      ceph/librados/*) target=ceph/librados ;;
      *) target=${include%%/*} ;;
    esac
    [[ " ${allowed[$layer]} " == *" $target "* ]] ||
      offend "$file: includes \"$include\", which is not below $layer"
  done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file")
  if [[ $layer != ceph/librados ]] && grep -qE '^#include <(rados|rbd)/' "$file"; then
    offend "$file: Ceph's headers belong to ceph/librados"
  fi
  if [[ ! ($layer == *_service || $layer =~ ^(rpc|identity|server|cli)$) ]] &&
    grep -qE '^#include <(grpc|google/protobuf)' "$file"; then
    offend "$file: gRPC and protobuf belong to services, rpc, server and cli"
  fi
  if [[ $layer != server ]] && grep -qE '^#include <(event2|prometheus)/' "$file"; then
    offend "$file: metrics and HTTP belong to server"
  fi
  # Messages may hold secrets, and the redacted form is rpc/redact.h.
  if grep -qE '(Short|Utf8)?DebugString\(' "$file"; then
    offend "$file: DebugString shows secrets; use rpc/redact.h"
  fi
  if grep -qE 'sleep_for|usleep\(|std::async|\.detach\(\)' "$file"; then
    offend "$file: no naked sleeps, std::async or detached threads"
  fi
done < <(find base ceph node volume operation rpc identity admin networkfence reclaimspace replication volumegroup server cli -name '*.h' -o -name '*.cc' | sort)

((checked > 0)) || offend "no files were checked"
((offences == 0)) || exit 1
echo "$checked files, all includes point downwards"
