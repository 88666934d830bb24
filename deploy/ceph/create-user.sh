#!/usr/bin/env bash
# Makes (or changes) a Ceph user with the least capabilities that rbd-addonsd needs, and
# prints what the callers need of it. Run it where the ceph program works as an administrator.
#
#   deploy/ceph/create-user.sh [OPTION...] client.NAME
#
#   --pool POOL[/NAMESPACE]    a pool, or one RADOS namespace of it, that the user may use;
#                              repeat it for more. Data pools are pools, too. Who may only
#                              fence needs none: a fence waits for the OSDs of all pools that
#                              its user may read
#   --for replication,groups,fencing,reclaim
#                              only these services; default all of them
#   --for watch                nothing but reading: the user of the daemon's own, --watch-user
#   --format secret|json|none  what to print: a Secret for Kubernetes (default), secrets.json
#                              for the command line, or only the capabilities, changing nothing
#   --secret NAMESPACE/NAME    of the Secret; default rook-ceph/rbd-addons
#
# The key goes to standard output: redirect it. CEPH is the program, with its options.
# docs/security.md tells what each capability is for.
set -euo pipefail

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }
wrong() {
  printf 'create-user.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}

pools=() services=replication,groups,fencing,reclaim format=secret secret=rook-ceph/rbd-addons client=''
while (($#)); do
  case $1 in
    --pool) pools+=("${2:?}") && shift ;;
    --for) services=${2:?} && shift ;;
    --format) format=${2:?} && shift ;;
    --secret) secret=${2:?} && shift ;;
    -h | --help) usage && exit 0 ;;
    client.*) client=$1 ;;
    *) wrong "'$1' is not known" ;;
  esac
  shift
done
[[ $client == client.?* ]] || wrong "no client.NAME was given"
[[ $format =~ ^(secret|json|none)$ ]] || wrong "--format '$format' is none of secret, json, none"
[[ $secret == ?*/?* ]] || wrong "--secret '$secret' is not NAMESPACE/NAME"

for service in ${services//,/ }; do
  case $service in
    replication | groups | fencing | reclaim | watch) ;;
    *) wrong "--for '$service' is none of replication, groups, fencing, reclaim, watch" ;;
  esac
done
wants() { [[ ,$services, == *,$1,* ]]; }
if wants watch && [[ $services != watch ]]; then
  wrong "--for watch goes with no other service: it is a user of its own, which only reads"
fi
if ((${#pools[@]} == 0)) && wants watch; then wrong "no --pool was given"; fi
if ((${#pools[@]} == 0)) && { wants replication || wants groups || wants reclaim; }; then
  wrong "no --pool was given"
fi

mon='profile rbd'
# Not "profile rbd-read-only": with that 16.2.15 lets it put clients on the blocklist.
if wants watch; then mon='allow r'; fi
# Fencing; and forced promotions, which send rbd-mirror's clients away before they begin.
if wants fencing || wants replication; then mon+=', allow command "osd blocklist"'; fi
osd='' mgr=''
for place in "${pools[@]}"; do
  limit="pool=${place%%/*}"
  if [[ $place == */* ]]; then limit+=" namespace=${place#*/}"; fi
  if wants replication || wants groups || wants reclaim; then
    osd+="${osd:+, }profile rbd $limit"
  elif wants watch; then
    osd+="${osd:+, }profile rbd-read-only $limit"
  else
    osd+="${osd:+, }allow r $limit"
  fi
  # Schedules of mirror snapshots, and tasks that flatten clones.
  if wants replication || wants groups; then mgr+="${mgr:+, }profile rbd $limit"; fi
  if wants watch; then mgr+="${mgr:+, }profile rbd-read-only $limit"; fi
done
# Promotions after a disaster: whether this site's rbd-mirror lives, when it reports nothing.
if [[ $mgr ]] && ! wants watch; then mgr+=', allow command "service status"'; fi

if wants fencing; then
  if ((${#pools[@]})); then
    echo "create-user.sh: a fence by this user takes effect at once in these pools only (docs/networkfence.md)" >&2
  else
    osd='allow r'
  fi
fi

capabilities=(mon "$mon")
if [[ $mgr ]]; then capabilities+=(mgr "$mgr"); fi
if [[ $osd ]]; then capabilities+=(osd "$osd"); fi
printf '%s: ' "$client" >&2
printf "%s '%s' " "${capabilities[@]}" >&2
echo >&2
[[ $format != none ]] || exit 0

read -ra ceph <<<"${CEPH:-ceph}"
# The first makes it, the second changes the capabilities of one that was there.
"${ceph[@]}" auth get-or-create "$client" >/dev/null
"${ceph[@]}" auth caps "$client" "${capabilities[@]}" >/dev/null 2>&1 || {
  echo "create-user.sh: ceph refused these capabilities" >&2
  exit 1
}
key=$("${ceph[@]}" auth get-key "$client")
if [[ $format == json ]]; then
  printf '{"userID": "%s", "userKey": "%s"}\n' "${client#client.}" "$key"
else
  cat <<SECRET
apiVersion: v1
kind: Secret
metadata:
  name: ${secret#*/}
  namespace: ${secret%%/*}
type: Opaque
stringData:
  userID: ${client#client.}
  userKey: $key
SECRET
fi
