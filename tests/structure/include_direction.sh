#!/usr/bin/env bash
# A folder is a layer: checks that includes point downwards only, that a folder within a
# folder is an interior (only its parent includes it), and that the headers of Ceph, gRPC
# and protobuf stay where they belong. Every folder of the top level that holds C++ is
# walked; one without a row here is an offence. Prints each offence.
set -euo pipefail
cd "$1"

# Who may include whom, by layer (layer_of). A folder is a layer; so are an interior, whose
# place among its parent's files is thereby held, the *_service files, and a door that stands
# above an interior of its own folder (replication/membership).
declare -A allowed=(
  [base]="base"
  [ceph]="ceph base"
  [ceph/librados]="ceph/librados ceph base"
  [node]="node base"
  [volume]="volume node ceph base"
  # What an operation is; how the table works inside; the table.
  [operation_spec]="operation_spec base"
  [operation/table]="operation/table operation_spec base"
  [operation]="operation operation/table operation_spec base"
  # What happened to volumes, written into their pools.
  [history]="history volume ceph base"
  # Who of several daemons changes a volume.
  [lease]="lease operation_spec volume ceph base"
  [rpc]="rpc base"
  [identity]="identity rpc base"
  [identity_service]="identity_service identity rpc base"
  [admin_service]="admin_service admin watch history operation operation_spec rpc base"
  [networkfence]="networkfence history operation operation_spec node volume ceph base"
  [networkfence_service]="networkfence_service networkfence history operation operation_spec node volume ceph base rpc"
  # What is seen of an image; what is decided from that; what the verbs share; the verbs on
  # one image; those on a group; who joins and leaves.
  [replication_options]="replication_options lease ceph base"
  [replication/look]="replication/look replication_options volume ceph base"
  [replication/decide]="replication/decide replication/look replication_options volume ceph base"
  [replication]="replication replication/look replication_options history lease operation operation_spec volume ceph base"
  [replication/steps/ceph_faults]="replication/steps/ceph_faults replication replication/look replication_options history lease operation operation_spec volume ceph base"
  [replication/steps]="replication/steps replication/steps/ceph_faults replication replication/decide replication/look replication_options history lease operation operation_spec volume ceph base"
  [replication/group]="replication/group replication/steps replication/steps/ceph_faults replication replication_options history lease operation operation_spec volume ceph base"
  [replication_membership]="replication_membership replication/group replication/steps replication/steps/ceph_faults replication replication_options history lease operation operation_spec volume ceph base"
  [replication_service]="replication_service replication/group replication/steps replication/steps/ceph_faults replication replication/look replication_options history lease operation operation_spec volume ceph base rpc"
  # Proof that a copy is whole.
  [points]="points replication/group replication/steps replication/steps/ceph_faults replication replication/look replication_options history lease operation operation_spec volume ceph base"
  [points_service]="points_service points inspection replication_service replication/group replication/steps replication replication_options history lease operation operation_spec volume ceph base rpc"
  # What is done and seen when no call asks.
  [watch]="watch replication/steps replication/steps/ceph_faults replication replication/look replication_options history lease operation operation_spec volume ceph base"
  # What people are told of all this, without a change; what is wrong in a pool; what doctor
  # asks of it.
  [inspection]="inspection replication/group replication/steps replication/steps/ceph_faults replication replication/decide replication/look replication_options history lease operation operation_spec volume ceph base"
  [inspection/audit]="inspection/audit networkfence inspection replication/steps replication/steps/ceph_faults replication replication/look replication_options history lease operation operation_spec volume ceph base"
  [inspection_installation]="inspection_installation doctor inspection/audit inspection watch replication/steps replication/steps/ceph_faults replication replication/look replication_options history lease operation operation_spec volume ceph base"
  [inspection_service]="inspection_service replication_service inspection/audit inspection replication replication_options history lease operation operation_spec volume ceph base rpc"
  [keyrotation]="keyrotation operation operation_spec node volume ceph base"
  [keyrotation_service]="keyrotation_service keyrotation operation operation_spec node volume ceph base rpc"
  [reclaimspace]="reclaimspace history lease operation operation_spec node volume ceph base"
  [reclaimspace_service]="reclaimspace_service reclaimspace history lease operation operation_spec node volume ceph base rpc"
  [volumegroup]="volumegroup history lease operation operation_spec volume ceph base"
  [volumegroup_service]="volumegroup_service volumegroup history lease operation operation_spec volume ceph base rpc"
  [doctor]="doctor volume ceph base"
  [doctor_service]="doctor_service doctor operation operation_spec volume ceph base rpc"
  [server]="server points doctor_service admin_service identity identity_service keyrotation keyrotation_service networkfence networkfence_service points_service reclaimspace reclaimspace_service volumegroup volumegroup_service replication replication/look replication_membership replication_service inspection_installation inspection_service watch history lease operation operation_spec volume ceph/librados ceph rpc base"
  # What is tried at a server of whoever; the commands.
  [cli/conformance]="cli/conformance cli rpc base"
  [cli]="cli cli/conformance rpc base"
  # Measuring: never installed.
  [bench]="bench cli rpc operation operation_spec replication/look volume ceph base"
)

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

# These set REPLY: a subshell for each of thousands of includes takes long.
layer_of() { # FILE or INCLUDE
  case $1 in
    */*_service.* | */*_service_*) REPLY=${1%%/*}_service ;;
    ceph/librados/* | inspection/audit/* | operation/table/* | replication/*/*) REPLY=${1%/*} ;;
    server/* | cli/*) REPLY=${1%%/*} ;;
    replication/membership.*) REPLY=replication_membership ;;
    inspection/installation_check.*) REPLY=inspection_installation ;;
    replication/options.* | replication/verb_scope.*) REPLY=replication_options ;;
    operation/operation_context.* | operation/operation_info.* | operation/operation_limits.* | \
      operation/operation_spec.* | operation/work_memory.* | operation/worker_share.*) REPLY=operation_spec ;;
    *) REPLY=${1%%/*} ;;
  esac
}

# ceph/librados is a layer of its own, with one door: the main program makes the real
# provider with it.
interior_of() { # INCLUDE -> the folder that alone may include it, or nothing
  local folder=${1%/*}
  REPLY=
  case $folder in
    # What may look into the rooms of replication/ stands in the table.
    ceph/librados | replication/*) ;;
    */*) REPLY=${folder%/*} ;;
  esac
}

mapfile -t folders < <(find . -mindepth 2 \( -name '*.h' -o -name '*.cc' \) -not -path './.*' |
  cut -d/ -f2 | grep -vxE 'tests|build.*' | sort -u)
((${#folders[@]} > 0)) || offend "no folders were found"

mapfile -t files < <(find "${folders[@]}" -name '*.h' -o -name '*.cc' | sort)
((${#files[@]} > 0)) || offend "no files were checked"
declare -A layers
for file in "${files[@]}"; do
  layer_of "$file"
  layers[$file]=$REPLY
  [[ ${allowed[$REPLY]:-} ]] || offend "$file: the folder has no row in this test"
done

while IFS=: read -r file include; do
  layer=${layers[$file]}
  interior_of "$include"
  # Measuring looks inside, as tests do.
  if [[ $REPLY && $file != "$REPLY"/* && $file != bench/* ]]; then
    offend "$file: includes \"$include\", which is an interior of $REPLY/"
  fi
  layer_of "$include"
  [[ " ${allowed[$layer]:-} " == *" $REPLY "* ]] ||
    offend "$file: includes \"$include\" ($REPLY), which is not below $layer"
done < <(grep -HoE '^#include "[^"]*"' "${files[@]}" | sed 's/#include "//; s/"$//' |
  grep -vE ':absl/|\.pb\.h$') # not ours, everybody may; generated, see below

# only PATTERN LAYERS MESSAGE: what only files of some layers (a regular expression) hold.
only() {
  local file
  while IFS= read -r file; do
    [[ ${layers[$file]} =~ ^($2)$ ]] || offend "$file: $3"
  done < <(grep -lE "$1" "${files[@]}")
}
readonly speak_grpc='.*_service|rpc|identity|server|cli|bench'
only '^#include ".*\.pb\.h"' "$speak_grpc" 'generated code belongs to services, rpc, server and cli'
only '^#include <(grpc|google/protobuf)' "$speak_grpc" 'gRPC and protobuf belong to services, rpc, server and cli'
only '^#include <(spdlog|fmt)/' 'base' 'base/log.h is the log; spdlog compiles all of fmt in each file'
only '\<[jJ]son::parse\(' 'base|cli|volume' 'base/json.h has ParseJson(); json::parse() takes seconds in each file'
only '^#include <(rados|rbd)/' 'ceph/librados|bench' "Ceph's headers belong to ceph/librados"
only '\<(last_update|SiteStatus)\>' 'replication/look|ceph|ceph/librados|doctor' 'what a report of rbd-mirror means is judged in replication/look/peers.h'
only '^#include <libcryptsetup' 'node' 'node/luks_header.h is what there is of LUKS'
only '^#include <prometheus/' server 'metrics belong to server'
only 'std::jthread(>| [a-z_]+)?[({]|std::thread\b[^:]|pthread_create' base 'threads are made by base/start_thread.h'
# Messages may hold secrets, and the redacted form is rpc/redact.h.
only '(Short|Utf8)?DebugString\(' none 'DebugString shows secrets; use rpc/redact.h'
only 'sleep_for|usleep\(|std::async|\.detach\(\)' bench 'no naked sleeps, std::async or detached threads'

# The kernel's headers are C, and some releases of some of them are no C++.
while IFS= read -r line; do
  offend "$line: only <linux/fs.h> is known to be C++ in every release"
done < <(grep -rnE '^#include <(linux|asm|asm-generic)/' --include='*.h' --include='*.cc' \
  "${folders[@]}" tests | grep -v '<linux/fs\.h>')

((offences == 0)) || exit 1
echo "${#files[@]} files, all includes point downwards"
