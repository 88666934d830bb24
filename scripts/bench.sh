#!/usr/bin/env bash
# Measures a daemon on two throwaway mirrored Ceph sites of this machine: how long each call
# takes, how many there are in a second, and what they cost the daemon.
#
#   scripts/bench.sh [--volumes N] [--concurrency "C..."] [--default-monitors] [--json FILE]
#                    [--floor] [--more] [--waiting N] [--osd-operations] [NAME=BIN...]
#   scripts/bench.sh --failover [--volumes N] [--concurrency C] [--default-monitors] [--floor]
#                    [NAME=BIN...]
#                                a whole site moves: planned, and by force after the other died
#   scripts/bench.sh --scale N [--volumes N] [--concurrency "C..."] [NAME=BIN...]
#                                status calls with few and with N mirrored images in the pool, and
#                                with 100 clusters in config.json
#   scripts/bench.sh --micro     what the daemon does without Ceph: ids, redaction, parsing, ranges,
#                                the table of operations. Needs no clusters; a minute
#
# BIN is a folder with rbd-addonsd, by default build/release/bin, which is built first. Several
# are measured in turn in one run, on the same volumes: only such figures can be compared.
#   --volumes N          default 20
#   --concurrency "C.."  calls at a time, default "1 8"
#   --default-monitors   Ceph's own monitor timers, with which each change of a mirrored image
#                        takes a second; without this they are out of the way
#   --floor              besides, the same Ceph work in a loop with one connection, without RPC,
#                        checks and looks: what no server can be faster than. Each row then says
#                        how many times its median that is, and what part of its calls in a second
#   --more               besides, with the first number of calls at a time: start to the first Probe,
#                        a blocklist of 10,000 entries, 64 ranges in one fence, a volume group of up to
#                        100 of the volumes, a page of a list of 10,000 groups, reclaiming images of
#                        which half is zeros, a trim (as root, with FUSE), the status of a resync, and
#                        memory: idle, with those entries, after many calls
#   --calls N            how many those are, default 20000
#   --waiting N          besides, what N promotions cost that wait for the other site's
#                        demotion (four minutes more)
#   --osd-operations     besides, how many operations the OSDs served for each call, by their own
#                        counters. Every rbd-mirror is stopped while a row is measured, so that
#                        nobody else asks them
#   --json FILE          appends each row as a JSON object
# Takes about two minutes for each BIN and number of calls at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/build.sh
. scripts/lib/build.sh

wrong() {
  printf 'bench.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}
micro() {
  check_machine unit
  on_interrupt_say_so
  install_for micro
  configure release
  build release rbd-addons-micro
  exec build/release/bin/rbd-addons-micro
}
volumes=20 concurrency='1 8' default_monitors='' with_floor='' with_more='' calls=20000 waiting=0 json='' count_operations='' failover='' scale='' servers=()
while (($#)); do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --volumes | --concurrency | --waiting | --calls | --scale | --json)
      (($# > 1)) || wrong "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    --micro)
      (($# == 1)) || wrong "--micro stands alone"
      micro
      ;;
    --default-monitors) default_monitors=yes ;;
    --floor) with_floor=yes ;;
    --more) with_more=yes ;;
    --failover) failover=yes ;;
    --osd-operations) count_operations=yes ;;
    *=*)
      [[ -x ${1#*=}/rbd-addonsd ]] || wrong "there is no program ${1#*=}/rbd-addonsd"
      servers+=("$1")
      ;;
    *) wrong "there is no option '$1'" ;;
  esac
  shift
done
[[ $volumes =~ ^[1-9][0-9]*$ ]] || wrong "--volumes needs a number, not '$volumes'"
[[ $waiting =~ ^[0-9]+$ ]] || wrong "--waiting needs a number, not '$waiting'"
[[ $calls =~ ^[1-9][0-9]*$ ]] || wrong "--calls needs a number, not '$calls'"
[[ ! $scale || $scale =~ ^[1-9][0-9]*$ ]] || wrong "--scale needs a number, not '$scale'"
[[ $concurrency =~ ^[1-9][0-9\ ]*$ ]] || wrong "--concurrency needs numbers, not '$concurrency'"

check_machine integration
on_interrupt_say_so
install_for release integration
use_temporary_folder
if ((!${#servers[@]})); then
  configure release
  build release
  servers=(this="$PWD/build/release/bin")
fi
tools=$PWD/build/release/bin
if [[ ! -x $tools/rbd-addons-load || ! -x $tools/rbd-addons-floor || ! -x $tools/rbd-addons-start ]]; then
  configure release
  build release rbd-addons-load rbd-addons-floor rbd-addons-start rbd-addons
fi
load=$tools/rbd-addons-load
# Last, with a daemon that does nothing but tell when copies have arrived.
if [[ $with_floor ]]; then servers+=("floor=${servers[-1]#*=}"); fi

work=$TMPDIR
bed=$work/bed
daemons=()
end_daemons() {
  local pid
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
  daemons=()
}
clean_up() {
  end_daemons
  remove_temporary_folder
}
trap clean_up EXIT

ids=() ids_b=()
# make_bed: two sites, with the volumes in ids on site a.
make_bed() {
  local site i
  scripts/testbed up "$bed" --mirror ${count_operations:+--osd-commands}
  if [[ ! $default_monitors ]]; then
    for site in a b; do
      scripts/testbed ceph "$bed" "$site" config set mon paxos_propose_interval 0.01
      scripts/testbed ceph "$bed" "$site" config set mon paxos_min_wait 0.01
    done
  fi
  cluster=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["clusterID"])' \
    "$bed/a/csi-config/config.json")
  ids=() ids_b=()
  for ((i = 1; i <= volumes; ++i)); do
    progress "    making volumes: $i of $volumes"
    ids+=("$(scripts/testbed volume "$bed" a "pvc-bench-$i")")
  done
  progress_done
}
# images_of ID...: the volumes' images, in $work/objects.
images_of() {
  local id
  for id in "$@"; do printf 'csi-vol-%s\n' "${id: -36}"; done >"$work/objects"
}
# describe_run: of what the figures are.
describe_run() {
  printf '%s, Ceph %s, %s volumes, %s processors, monitors %s\n\n' "$(date -u +%F)" \
    "$(ceph-mon --version | awk '{ print $3 }')" "$volumes" "$(nproc)" \
    "$([[ $default_monitors ]] && printf 'with their default timers' || printf 'without delay')"
}
# start_daemons: of $bin, one for each site.
start_daemons() {
  local site
  for site in a b; do
    "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com \
      --csi-addons-endpoint "unix://$work/$site.sock" \
      --admin-endpoint "unix://$work/$site.admin.sock" --config-dir "$bed/$site/csi-config" \
      --settle-time 60s 2>>"$work/$server-$site.log" &
    daemons+=($!)
  done
  for site in a b; do
    until [[ -S $work/$site.sock ]]; do
      if ! kill -0 "${daemons[@]}" 2>/dev/null; then
        printf 'bench.sh: a daemon of %s ended at once:\n' "$server" >&2
        tail -n 5 "$work/$server-a.log" "$work/$server-b.log" >&2
        exit 1
      fi
      sleep 0.1
    done
  done
}
# know_peers: the volumes as site b calls them, once its copies are there.
know_peers() {
  local id
  if ((${#ids_b[@]})); then return; fi
  for id in "${ids[@]}"; do ids_b+=("$(scripts/testbed peer-journal "$bed" b "$id")"); done
}

# requests SITE [FIELDS]: one line per volume, in $work/requests.
requests() {
  local id extra=${2:+,$2} ids_here=("${ids[@]}")
  if [[ $1 == b ]]; then ids_here=("${ids_b[@]}"); fi
  for id in "${ids_here[@]}"; do
    printf '{"replication_source":{"volume":{"volume_id":"%s"}}%s}\n' "$id" "$extra"
  done >"$work/requests"
}
# fences: a request for each of some ranges that nobody has, in $work/requests.
readonly ranges=64
fences() {
  local i
  for ((i = 0; i < ranges; ++i)); do
    printf '{"parameters":{"clusterID":"%s"},"cidrs":[{"cidr":"198.18.%d.0/24"}]}\n' "$cluster" "$i"
  done >"$work/requests"
}
failures=0
# measure SITE NAME METHOD [TIMES]
measure() {
  if [[ ! $count_operations ]]; then
    measure_time "$@"
    return
  fi
  local counted
  for_each_site stop rbd-mirror
  counted=$(osd_operations "$1")
  measure_time "$@"
  counted=$(($(osd_operations "$1") - counted))
  for_each_site cont rbd-mirror
  if [[ $calls_made == 0 ]]; then return; fi
  printf '| %s: %s | %s | %s |\n' "$server" "$2" "$at_once" \
    "$(awk "BEGIN { printf \"%.1f\", $counted / $calls_made }")" >>"$work/operations"
}
for_each_site() { # COMMAND DAEMON
  local site
  for site in a b; do scripts/testbed "$1" "$bed" "$site" "$2"; done
}
# osd_operations SITE: how many its OSD has served, reads and writes.
osd_operations() {
  scripts/testbed ceph "$bed" "$1" tell osd.0 perf dump osd |
    python3 -c 'import json, sys; osd = json.load(sys.stdin)["osd"]; print(osd["op"])'
}
calls_made=0 # of the last row
measure_time() {
  if [[ $server == floor ]]; then
    measure_floor "$@"
    return
  fi
  local site=$1 name=$2 method=$3 options=() index=0 result=0
  if [[ $site == b ]]; then index=1; fi
  options=(--endpoint "unix://$work/$site.sock" --pid "${daemons[index]}" --times "${4:-1}"
    --concurrency "$at_once" --name "$server: $name")
  if [[ $method != */Probe ]]; then
    options+=(--requests "$work/requests" --secrets-file "$bed/$site/secrets.json")
  fi
  "$load" "$method" "${options[@]}" --json >"$work/row" || result=$?
  note_row "$name" "$result"
}
# note_row NAME EXIT_CODE: of what is in $work/row.
note_row() {
  if [[ $json ]]; then cat "$work/row" >>"$json"; fi
  calls_made=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["calls"])' <"$work/row")
  cat "$work/row" >>"$work/rows"
  progress "    $server, $at_once at a time: $1"
  if (($2 != 0)); then
    progress_done
    printf "bench.sh: of '%s' some calls failed: %s\n" "$1" "$(cat "$work/row")" >&2
    failures=$((failures + 1))
  fi
}
# As measure(), of the Ceph work alone; what is none is left out.
measure_floor() {
  local site=$1 name=$2 what id result=0
  calls_made=0
  case $2 in
    *' again' | 'promote, primary already' | probe*) return ;;
  esac
  case $3 in
    FenceClusterNetwork) what=fence ;;
    UnfenceClusterNetwork) what=unfence ;;
    EnableVolumeReplication) what=enable ;;
    GetVolumeReplicationInfo) what=info ;;
    DemoteVolume) what=demote ;;
    PromoteVolume) what=promote ;;
    DisableVolumeReplication) what=disable ;;
    ControllerReclaimSpace) what=sparsify ;;
    *) return ;;
  esac
  if [[ $2 == *'by force' ]]; then what=promote-force; fi
  case $what in
    fence | unfence) grep -oE '198\.[0-9./]+' "$work/requests" ;;
    *) sed -E 's/.*"volume_id":"[^"]*([0-9a-f-]{36})".*/csi-vol-\1/' "$work/requests" ;;
  esac >"$work/objects"
  floor "$site" "$what" "${4:-1}" "$at_once" "$name"
  if [[ $what == info ]]; then
    floor "$site" info-from-lists "${4:-1}" "$at_once" "$name, opening nothing"
  fi
}
# floor SITE WORK TIMES CONCURRENCY NAME: of the objects in $work/objects.
floor() {
  local result=0
  ask_floor "$1" "$2" --times "$3" --concurrency "$4" --name "floor: $5" >"$work/row" || result=$?
  note_row "$5" "$result"
}
# ask_floor SITE WORK [OPTION...]: of the objects in $work/objects; prints a JSON object.
ask_floor() {
  "$tools/rbd-addons-floor" "$2" --conf "$bed/$1/ceph.conf" --user csi-rbd \
    --key-file "$bed/$1/csi-rbd.key" --pool replicapool --objects "$work/objects" --json "${@:3}"
}
# Promotions on the other site while this one is primary and alive: they wait.
measure_waiting() {
  local storm ticks idle
  idle=$(server_use)
  "$load" PromoteVolume --endpoint "unix://$work/b.sock" --requests "$work/requests" \
    --secrets-file "$bed/b/secrets.json" --concurrency "$waiting" --timeout 140 \
    --times $(((waiting + volumes - 1) / volumes)) >/dev/null 2>&1 &
  storm=$!
  # The first call of each volume is answered after 20 s, all others wait on. Workers that
  # looked at the images of the first ones end after a minute.
  progress "    $server: $waiting promotions wait"
  sleep 90
  ticks=$(cpu_ticks)
  sleep 10
  ticks=$(($(cpu_ticks) - ticks))
  printf '%s: %s promotions of %s volumes wait: %s; idle before: %s; %s %% of a processor\n' \
    "$server" "$waiting" "$volumes" "$(server_use)" "$idle" \
    $((ticks * 100 / 10 / $(getconf CLK_TCK))) >>"$work/waiting"
  measure b "probe, $waiting promotions wait" identity.Identity/Probe 500
  wait "$storm" || true # that they wait in vain
  sleep 70
  printf '%s: 70 s later: %s\n' "$server" "$(server_use)" >>"$work/waiting"
}
server_use() { # SITE: 0 for a, 1 for b, which is the default
  awk '/^Threads:/ { threads = $2 } /^VmRSS:/ { mib = $2 / 1024 }
    END { printf "%d threads, %d MiB", threads, mib }' "/proc/${daemons[${1:-1}]}/status"
}
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/${daemons[1]}/stat"; }
# all_report SITE STATE|...: rbd-mirror there says so of every volume, in state or description.
all_report() {
  scripts/testbed rbd "$bed" "$1" mirror pool status replicapool --verbose --format json 2>/dev/null |
    VOLUMES=$volumes TEXT=$2 python3 -c '
import json, os, re, sys
images = json.load(sys.stdin).get("images", [])
there = [i for i in images if re.search(os.environ["TEXT"], i["state"] + " " + i["description"])]
sys.exit(len(there) < int(os.environ["VOLUMES"]))'
}
# newest_is SITE demoted|follows: the newest mirror snapshot of every volume there is such a one
# that came from the other site, and whole.
newest_is() {
  images_of "${ids[@]}"
  ask_floor "$1" "$2" --concurrency 8 >/dev/null
}
reported() { # replication info has an answer for each of them
  "$load" GetVolumeReplicationInfo --endpoint "unix://$work/a.sock" --requests "$work/requests" \
    --secrets-file "$bed/a/secrets.json" >/dev/null
}
gone() { [[ -z $(scripts/testbed rbd "$bed" b ls replicapool) ]]; }
await() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1))
  progress "    waiting until $2"
  until "${@:3}"; do
    if ((SECONDS >= end)); then
      progress_done
      printf 'bench.sh: gave up waiting until %s\n' "$2" >&2
      exit 1
    fi
    sleep 2
  done
}

schedule='"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1h"}'
# shellcheck source=scripts/lib/bench/more.sh
. scripts/lib/bench/more.sh
# shellcheck source=scripts/lib/bench/failover.sh
. scripts/lib/bench/failover.sh
if [[ $failover ]]; then
  measure_failovers
  exit $((failures > 0))
fi
# shellcheck source=scripts/lib/bench/scale.sh
. scripts/lib/bench/scale.sh
# print_rows: what was measured.
# "x floor": how many times the floor's median; and what part of its calls in a second.
print_rows() {
  printf '| what | at once | median ms | p99 ms | calls/s | CPU ms per call | MiB | threads | x floor | of its calls/s |\n'
  printf '|---|---|---|---|---|---|---|---|---|---|\n'
  python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
def what(row): return row["concurrency"], row["name"].split(": ", 1)[1]
floor = {what(row): row for row in rows if row["name"].startswith("floor: ")}
for row in sorted(rows, key=what):
    least = floor.get(what(row))
    ratios = ("", "") if least in (None, row) else (
        "{:.2f}".format(row["median_ms"] / least["median_ms"]),
        "{:.2f}".format(row["calls_per_s"] / least["calls_per_s"]))
    print("| {name} | {concurrency} | {median_ms:.1f} | {p99_ms:.1f} | {calls_per_s:.0f} | "
          "{cpu_ms_per_call:.1f} | {resident_mib:.0f} | {threads} | {0} | {1} |".format(*ratios, **row))
' <"$work/rows"
}
if [[ $scale ]]; then
  measure_scale
  progress_done
  describe_run
  print_rows
  exit $((failures > 0))
fi
make_bed
for named in "${servers[@]}"; do
  server=${named%%=*} bin=${named#*=}
  more=$with_more
  if [[ $server == floor ]]; then more=''; fi
  for at_once in $concurrency; do
    if [[ $more ]]; then measure_start; fi
    start_daemons
    if [[ $more ]]; then note_memory idle; fi
    measure a probe identity.Identity/Probe 2000
    fences
    measure a "fence of $ranges ranges" FenceClusterNetwork
    measure a "unfence of $ranges ranges" UnfenceClusterNetwork
    if [[ $more ]]; then
      measure_entries
      measure_groups
      measure_many_groups
    fi
    if [[ $with_more ]]; then
      measure_one_fence
      measure_reclaim
      if [[ $at_once == "${concurrency%% *}" ]]; then measure_trim; fi
    fi
    requests a "$schedule"
    measure a enable EnableVolumeReplication
    measure a 'enable again' EnableVolumeReplication
    await 600 'the other site has all copies' all_report b 'up.(replaying|stopped)'
    know_peers
    measure a 'promote, primary already' PromoteVolume
    requests a
    await 180 'the copies are reported' reported
    measure a 'replication info' GetVolumeReplicationInfo 3
    if [[ $more ]]; then
      measure a "replication info, $calls calls" GetVolumeReplicationInfo $((calls / volumes + 1))
      note_memory "after $calls calls of replication info"
      requests b
      measure b 'resync, in step' ResyncVolume
      requests a
      more=''
    fi
    if ((waiting)) && [[ $server != floor ]]; then
      requests b "$schedule"
      measure_waiting
      requests a
    fi
    measure a 'planned move: demote' DemoteVolume
    requests b "$schedule"
    # So that promotions are measured, and not how long rbd-mirror takes (--failover does that).
    await 300 'the demotions have come to b' newest_is b demoted
    measure b 'planned move: promote' PromoteVolume
    requests b
    await 300 'a follows b' newest_is a follows
    measure b 'move back: demote' DemoteVolume
    requests a "$schedule"
    await 300 'the demotions have come to a' newest_is a demoted
    measure a 'move back: promote' PromoteVolume
    requests a "$schedule"
    # Only then does b remove its copies on a disable, which the daemon waits for and the floor
    # does not.
    await 300 'b follows a' newest_is b follows
    measure a disable DisableVolumeReplication
    measure a 'disable again' DisableVolumeReplication
    await 600 'the other site has removed its copies' gone
    end_daemons
    rm -f "$work"/?.sock
  done
done
progress_done

describe_run
print_rows
if [[ $with_more ]]; then
  printf '\n| memory | |\n|---|---|\n'
  cat "$work/memory"
fi
if [[ $count_operations ]]; then
  printf '\n| what | at once | OSD operations per call |\n|---|---|---|\n'
  cat "$work/operations"
fi
if ((waiting)); then printf '\n' && cat "$work/waiting"; fi
((failures == 0))
