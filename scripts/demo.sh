#!/usr/bin/env bash
# The main job before one's eyes: a volume moves between two real Ceph sites, by plan and in
# a disaster, with the commands that a person would type, and the data is checked.
#
#   scripts/demo.sh          runs, checks, cleans up; the exit code tells
#   scripts/demo.sh --short  a planned move, a fence and reclaimed space, without the disaster
#   scripts/demo.sh --keep   leaves two sites and a replicated volume, and says how to use them
#
# After the build it takes at most three minutes, with --short at most one. Where it takes
# longer than three although the machine is not busy, it fails. Ids are shortened in what is
# shown, and what a command says while it waits is left out.
#
# Everything runs on loopback, below one temporary folder. What is needed is installed from
# Debian's packages, and their services are neither started nor enabled; nothing else of the
# system is changed. Ctrl-C ends it at any time, and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/build.sh
. scripts/lib/build.sh

keep='' short=''
for argument; do
  case $argument in
    --keep) keep=1 ;;
    --short) short=1 ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      printf "demo.sh: there is no option '%s'\n\n" "$argument" >&2
      usage >&2
      exit 2
      ;;
  esac
done

if [[ ! $terminal ]]; then width=80; fi
# The shortest that the daemon allows, instead of 90 s, so that the disaster is a short one.
settle=60
work=$(mktemp -d /tmp/rbda-demo.XXXXXX)
bed=$work/bed
pool=replicapool
volume=pvc-demo
samples=deploy/samples/ceph-csi
declare -A daemon_pid=() page=()
step_number=0
step_started=0

# What it may take after the build on a machine that does nothing else.
most_seconds=180
# Of all processor time; with less left over the machine is busy.
quiet_percent=25

now() { date +%s; }

# processor_time: that which was left over since the boot, and all of it.
processor_time() {
  local name user nice system idle iowait irq softirq steal
  read -r name user nice system idle iowait irq softirq steal _ </proc/stat
  printf '%s %s\n' $((idle + iowait)) \
    $((user + nice + system + idle + iowait + irq + softirq + steal))
}
# left_over IDLE ALL: what was left over since then, in percent.
left_over() {
  local idle all
  read -r idle all < <(processor_time)
  printf '%s\n' $((all > $2 ? 100 * (idle - $1) / (all - $2) : 0))
}

# shortened: standard input with ids as short as a person needs them.
shortened() {
  local hex='[0-9a-f]'
  sed -E "s/\b(0001-$hex{4})-[a-z0-9-]+-$hex{16}-($hex{8})-$hex{4}-$hex{4}-$hex{4}-$hex{12}/\1-...-\2-.../g
    s/\b($hex{8})-$hex{4}-$hex{4}-$hex{4}-$hex{12}/\1-.../g
    s/ \(request [^ ]*\)$//"
}
cut_to_width() { if ((${#1} > width)); then printf '%s...\n' "${1:0:width-3}"; else printf '%s\n' "$1"; fi; }
say() { wrapped "    " "$*"; }
show() { # standard input: rows of tables are cut, and what is longer otherwise is wrapped
  local line indent
  while IFS= read -r line; do
    indent="    ${line%%[! ]*}"
    line=${line#"${indent:4}"}
    if ((${#indent} + ${#line} > width)) && [[ ! $line =~ [^\ ]\ \ +[^\ ].*[^\ ]\ \ +[^\ ] ]]; then
      fold -s -w $((width - ${#indent} - 2)) <<<"$line" | sed "s/^/$indent  /; 1s/  //; s/ *$//"
    else
      cut_to_width "$indent$line"
    fi
  done
}

step() { # SENTENCE
  step_number=$((step_number + 1))
  step_started=$(now)
  printf '\n%s' "$bold"
  wrapped "" "[$step_number] $*"
  printf '%s' "$plain"
}
held() { # RESULT: the sentence that the step has shown to be so
  wrapped "    " "$green$tick$plain $dim$(($(now) - step_started)) s:$plain $*"
}
told=''
fail() { # MESSAGE [FILE]: FILE is shown below it
  told=1
  progress_done
  echo >&2
  wrapped "" "${red}FAILED in step $step_number:$plain $1" >&2
  if [[ ${2:-} ]]; then answered "$2" | show >&2; fi
  for site in a b; do
    [[ -f $work/$site.log ]] && {
      printf -- '--- last lines of the daemon at site %s\n' "$site" >&2
      tail -n 15 "$work/$site.log" | while IFS= read -r line; do wrapped "    " "$line"; done >&2
    }
  done
  exit 1
}

# end_below PID: what it has started, and not itself.
end_below() {
  local child
  for child in $(pgrep -P "$1" || true); do
    end_below "$child"
    kill "$child" 2>/dev/null || true
  done
}
clean_up() {
  local status=$? site
  if [[ $keep && $status -eq 0 ]]; then return; fi
  if [[ ! $told ]] && ((step_number > 0 && status != 0 && status < 128)); then
    printf 'FAILED in step %s: a command ended with %s\n' "$step_number" "$status" >&2
  fi
  end_below $$
  for site in "${!daemon_pid[@]}"; do wait "${daemon_pid[$site]}" 2>/dev/null || true; done
  scripts/testbed down "$bed" || true
  rm -rf "$work"
}
trap clean_up EXIT
on_interrupt_say_so

# The program as somebody at a site has it who has set its variables. The Ceph key comes from
# a file and never stands on a command line.
make_program() { # SITE
  cat >"$work/site-$1" <<PROGRAM
#!/bin/sh
# rbd-addons at site $1
export RBD_ADDONS_CSI_ADDONS_ENDPOINT='unix://$work/$1.sock'
export RBD_ADDONS_ADMIN_ENDPOINT='unix://$work/$1.admin.sock'
export RBD_ADDONS_SECRETS_FILE='$bed/$1/secrets.json'
exec '$bin/rbd-addons' "\$@"
PROGRAM
  chmod 755 "$work/site-$1"
}

# wait_for_end PID WHAT [SINCE]: shows what is waited for and for how long; ends as it does.
wait_for_end() {
  local since=${3:-$(now)} waited
  while kill -0 "$1" 2>/dev/null; do
    waited=$(($(now) - since))
    if ((waited >= (${#terminal} ? 1 : 10))); then progress "    $2: $waited s"; fi
    sleep 0.2
  done
  progress_done
  wait "$1"
}

typed() { # SITE ARGUMENTS: the command line
  printf '%s' "$bold"
  cut_to_width "    site-$1\$ rbd-addons $(shortened <<<"$2")"
  printf '%s' "$plain"
}
# answered FILE: what a command has said, without what it says while it waits.
answered() {
  { grep -vE '^(waiting: |nothing is changed while it waits|volume [^ ]+ is 0001-|[a-z]+, )' "$1" || true; } |
    shortened
}
# run CODE SITE VERB ARGUMENT...: shows the command line and what comes of it, which is in
# $work/answer; the exit code must be CODE, an extended regular expression. `waits_for` is
# what is said meanwhile, `only` a pattern of the lines that are shown.
waits_for='' only=''
run() {
  local code=$1 site=$2 status=0
  shift 2
  typed "$site" "$*${only:+ | grep -E \"$only\"}"
  "$work/site-$site" "$@" >"$work/answer" 2>&1 </dev/null &
  wait_for_end $! "${waits_for:-under way}" || status=$?
  [[ $status =~ ^($code)$ ]] ||
    fail "rbd-addons $* at site $site ended with $status, not $code:" "$work/answer"
  answered "$work/answer" | { grep -E "$only" || true; } | show
}
says() { # PATTERN: the last command
  grep -qE "$1" "$work/answer" || fail "the last command does not say '$1', but:" "$work/answer"
}

# until_true SECONDS WHAT COMMAND...: repeats COMMAND, and shows what is waited for.
until_true() {
  local limit=$1 what=$2 began
  shift 2
  began=$(now)
  while true; do
    "$@" &
    if wait_for_end $! "waiting until $what" "$began"; then break; fi
    (($(now) - began < limit)) || fail "$what: not within $limit s"
    sleep 0.5
  done
  if (($(now) - began > 1)); then say "waited until $what: $(($(now) - began)) s"; fi
}
quietly() { # SITE VERB ARGUMENT...
  local site=$1
  shift
  exec "$work/site-$site" "$@" >"$work/quiet" 2>&1 </dev/null
}
look_says() { # TEXT SITE VERB ARGUMENT...
  "$work/site-$2" "${@:3}" >"$work/quiet" 2>&1 </dev/null || true
  grep -q "$1" "$work/quiet"
}

# disk SITE IMAGE ACTION [TEXT]: through librbd. What `rbd export` gives of a secondary is not
# always what reading it gives.
disk() {
  CEPH_CONF=$bed/$1/ceph.conf timeout 60 /usr/bin/python3 - "$pool" "${@:2}" <<'PY'
import os, sys, rados, rbd
pool, image, action, text = (sys.argv[1:] + [""])[:4]
MIB = 1 << 20
cluster = rados.Rados(conffile=os.environ["CEPH_CONF"])
cluster.connect()
with cluster.open_ioctx(pool) as ioctx, rbd.Image(ioctx, image, read_only=action in ("read", "count")) as disk:
    size = disk.size()
    if action == "write":  # into each of its objects
        for offset in range(0, size, MIB):
            disk.write((text + "\n").encode().ljust(4096, b"."), offset)
    elif action == "count":  # those of its objects that are there
        prefix, found = disk.block_name_prefix(), 0
        for number in range(disk.stat()["num_objs"]):
            try:
                ioctx.stat(f"{prefix}.{number:016x}")
                found += 1
            except rados.ObjectNotFound:
                pass
        print(found)
    elif action == "zeros":  # over its second half
        for offset in range(size // 2, size, 4 * MIB):
            disk.write(bytes(4 * MIB), offset)
    elif action == "read":
        for offset in range(0, size, 4 * MIB):
            sys.stdout.buffer.write(disk.read(offset, min(4 * MIB, size - offset)))
    if action in ("write", "zeros"):
        disk.flush()
cluster.shutdown()
PY
}
write_data() { # SITE TEXT [IMAGE]
  disk "$1" "${3:-$image}" write "$2" || fail "writing at site $1"
  say "written: '$2'"
}
data_of() { disk "$1" "${2:-$image}" read | sha256sum | cut -d' ' -f1; } # SITE [IMAGE]
# Only the first bytes are wanted, so the reader may end in a broken pipe.
first_line_of() { { disk "$1" "${2:-$image}" read 2>/dev/null || true; } | head -n 1; }
same_data() { # SITE CHECKSUM [IMAGE]
  local found
  found=$(data_of "$1" "${3:-$image}")
  [[ $found == "$2" ]] ||
    fail "data at site $1 is '$(first_line_of "$1" "${3:-$image}")' ($found), expected $2"
  say "read at site $1: '$(first_line_of "$1" "${3:-$image}")', and the rest is as written"
}
free_port() {
  /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
start_daemon() { # SITE
  local port
  port=$(free_port)
  page[$1]=http://127.0.0.1:$port/
  # In a session of its own: neither Ctrl-C nor the end of the terminal concerns it.
  setsid "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com \
    --csi-addons-endpoint "unix://$work/$1.sock" --admin-endpoint "unix://$work/$1.admin.sock" \
    --config-dir "$bed/$1/csi-config" --settle-time "${settle}s" \
    --watch-user "$bed/$1/secrets.json" --watch-interval 5s \
    --metricsport "$port" --metrics-address 127.0.0.1 2>"$work/$1.log" &
  daemon_pid[$1]=$!
}
page_title() { # SITE: what a browser shows of the status page before all else
  /usr/bin/python3 - "${page[$1]}" <<'PY'
import re, sys, urllib.request
ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
print(re.search("<title>(.*?)</title>", ask(sys.argv[1], timeout=10).read().decode())[1])
PY
}
page_says() { [[ $(page_title "$1" 2>/dev/null) == *"$2"* ]]; } # SITE TEXT

# of_class FILE: the parameters of a class as options, without those that are for the operator.
of_class() {
  sed -n 's/^    \([a-zA-Z]*\): \(.*\)$/--parameter\n\1=\2/p' "$samples/$1" |
    sed 's/^schedulingInterval=.*/schedulingInterval=1m/'
}
mapfile -t class < <(of_class volumereplicationclass.yaml)

check_machine demo
step "Install what is missing, and build."
install_for demo
# One that is to be shipped is shown where there is one.
preset=demo
if [[ -f build/release/CMakeCache.txt ]]; then preset=release; fi
configure "$preset" || fail "cmake"
build "$preset" rbd-addonsd rbd-addons || fail "the build"
bin=$root/build/$preset/bin
held "The daemon rbd-addonsd and the command line rbd-addons are there."
started=$(now)
read -r idle_before all_before < <(processor_time)

step "Start two throwaway Ceph sites, a and b, that mirror each other."
scripts/testbed up "$bed" --mirror --objectstore bluestore
for site in a b; do
  say "site $site: $(scripts/testbed ceph "$bed" "$site" fsid), pool '$pool' has id $(<"$bed/$site/pool-id")"
done
held "Monitors, managers, OSDs and rbd-mirror run; nothing is simulated."

step "Start rbd-addonsd at each site, and ask whether all is in order."
for site in a b; do start_daemon "$site" && make_program "$site"; done
for site in a b; do until_true 30 "the daemon at site $site is ready" quietly "$site" probe; done
run 0 a doctor
says ' 0 problems'
for site in a b; do say "status page of site $site: ${page[$site]}"; done
page_says a "site-a" || fail "the page at ${page[a]} does not say whose it is"
held "Both daemons serve, and the doctor has found no problem at site a."

step "Make a volume at site a as ceph-csi does, and switch its replication on."
id_a=$(scripts/testbed volume "$bed" a "$volume" --size 64M)
image=csi-vol-${id_a: -36}
write_data a "first words, written at site a"
copied=$(data_of a)
say "class: $samples/volumereplicationclass.yaml, but every minute"
run 0 a enable "$volume" "${class[@]}"
run 0 a promote "$volume" "${class[@]}"
held "No database is needed: the volume is found by its name in ceph-csi's journal."

step "Make the volume known at site b, whose journal does not have it."
until_true 90 "the image is at site b" quietly b adopt "$pool/$image"
run 0 b adopt "$pool/$image" --yes
until_true 90 "the first copy is whole" quietly b check-failover "$volume" --force
run 0 a destination "$volume"
id_b=$(tail -n 1 "$work/answer")
[[ $id_b == *-site-b-*${id_a: -36} ]] || fail "the destination of $id_a is $id_b"
held "Site b has a whole copy, and each site knows what the other one calls it."

# planned_move FROM TO
planned_move() {
  local before
  step "Move the volume from site $1 to site $2 by plan."
  until_true 90 "site $1 has heard that its copy is made" look_says HEALTHY "$1" info "$volume"
  run 0 "$1" info "$volume"
  write_data "$1" "written at site $1 just before the move"
  before=$(data_of "$1")
  waits_for="site $2 is to follow first" run 0 "$1" demote "$volume"
  until_true 60 "that has arrived" quietly "$2" check-failover "$volume" --planned
  run 0 "$2" check-failover "$volume" --planned
  says 'planned +works: .*nothing is lost'
  run 0 "$2" promote "$volume" "${class[@]}"
  same_data "$2" "$before"
  held "Nothing is lost: the promotion waits until the demotion has arrived whole."
}

disaster() {
  step "Site a dies, with all its daemons. Is it dead, or only slow?"
  write_data a "written at site a, and never copied"
  scripts/testbed kill "$bed" a all
  waits_for="site a is listened for, for $settle s (--settle-time)" \
    run 9 b promote "$volume" "${class[@]}"
  says '^FAILED_PRECONDITION: .*forcing returns to the state of '
  until_true 30 "the status page of site b says so, too" page_says b "no sign of site-a"
  say "status page of site b: $(page_title b)"
  run 9 b status "$volume"
  held "This code lets the operator force, and it comes only after $settle s of silence."

  step "Take the volume over at site b, by force."
  run 0 b check-failover "$volume"
  says 'by force +works: it returns to the state of '
  ! grep 'demote it there' "$work/answer" || fail "a dead site is told to be demoted"
  waits_for="the last whole copy is brought back" \
    run 0 b promote "$volume" "${class[@]}" --force --yes
  same_data b "$copied"
  write_data b "written at site b after the disaster"
  after=$(data_of b)
  held "Site b has the last whole copy and can be written. Nobody has a copy of that yet."
}

# Its copy is made anew in the background, which takes a minute.
site_a_returns() {
  step "Site a comes back, and still believes to be primary."
  scripts/testbed start "$bed" a all
  until_true 90 "site a sees that there are two primaries" \
    look_says 'split brain' a info "$volume"
  run 0 a info "$volume"
  only='demote|resync' run 0 a explain "$volume"
  typed a "site failback $pool --cluster site-a --yes &"
  "$work/site-a" site failback "$pool" --cluster site-a --yes >"$work/failback" 2>&1 </dev/null &
  failback=$!
  held "Site a is told to give way: what only it has is lost, and its copy is made anew."
}
site_a_has_returned() {
  local found
  step "Wait until site a has the copy again."
  wait_for_end "$failback" "site a copies" || fail "site failback:" "$work/failback"
  grep -q '^1 of 1 done' "$work/failback" || fail "site failback has done nothing, but said:" "$work/failback"
  answered "$work/failback" | grep -E '^(done:|[0-9]+ of)' | show
  run 0 a info "$volume"
  says 'IN STEP'
  found=$(data_of a)
  [[ $found == "$copied" || $found == "$after" ]] || fail "data at site a is '$(first_line_of a)'"
  say "read at site a: '$(first_line_of a)'"
  until_true 60 "site b sees it" quietly b status "$volume"
  run 0 b status "$volume"
  held "What only site a had is gone. It follows site b, a minute behind at most."
}

a_group_moves() {
  local ids=() sums=() images=() group_b group_a members group_class name i
  mapfile -t members < <(of_class volumereplicationclass-groups.yaml)
  mapfile -t group_class < <(of_class volumegroupreplicationclass.yaml)
  step "Meanwhile: two more volumes move to site a together, as a group."
  for name in pvc-data pvc-log; do
    ids+=("$(scripts/testbed volume "$bed" b "$name" --size 16M)")
    images+=("csi-vol-${ids[-1]: -36}")
    write_data b "$name, written at site b" "${images[-1]}"
  done
  # The class of each site names its own cluster.
  run 0 b group create demo --volume pvc-data --volume pvc-log "${group_class[@]/site-a/site-b}"
  group_b=$(sed -n 's/^group  //p' "$work/answer")
  run 0 b enable --group "$group_b" "${members[@]}"
  run 0 b promote --group "$group_b" "${members[@]}"
  until_true 120 "both are at site a" quietly a adopt "${images[@]/#/$pool/}"
  run 0 a adopt "${images[@]/#/$pool/}" --yes
  run 0 a group create demo --volume pvc-data --volume pvc-log "${group_class[@]}"
  group_a=$(sed -n 's/^group  //p' "$work/answer")
  for i in 0 1; do sums+=("$(data_of b "${images[i]}")"); done
  waits_for="site a is to follow first" run 0 b demote --group "$group_b"
  waits_for="what was written arrives" run 0 a promote --group "$group_a" "${members[@]}"
  for i in 0 1; do same_data a "${sums[i]}" "${images[i]}"; done
  held "None is promoted before all have arrived: the group is of one moment."
}

# A node of site a.
fence_a_node() {
  local cidr fence_class
  cidr=$(sed -n 's/^    - \(.*\)$/\1/p' "$samples/networkfence.yaml")
  mapfile -t fence_class < <(of_class networkfenceclass.yaml)
  fenced() { [[ $(scripts/testbed ceph "$bed" a osd blocklist ls 2>/dev/null) == *"${cidr%/*}"* ]]; }
  step "Cut a dead node off from site a, and let it in again."
  say "which: $samples/networkfence.yaml"
  run 0 a fence "$cidr" --cluster "${fence_class[1]#clusterID=}" --yes
  fenced || fail "the blocklist of site a does not have $cidr"
  run 0 a unfence "$cidr" --cluster "${fence_class[1]#clusterID=}" --yes
  ! fenced || fail "the blocklist of site a still has $cidr"
  held "Ceph's blocklist had the node's address, and has it no longer."
}

what_happened() { # SITE
  step "What has happened to the volume, as site $1 remembers it?"
  run 0 "$1" history "$volume" --limit 6
  says 'promote: OK'
  held "Who asked for what, when, and what came of it: it is kept in the pool."
}

# Of a volume without replication: what mirror snapshots hold would not be freed.
reclaim_space() {
  local id scratch
  step "Give back what a volume holds as zeros."
  say "as $samples/reclaimspacejob.yaml, of a volume that is not replicated"
  id=$(scripts/testbed volume "$bed" a pvc-scratch --size 64M)
  scratch=csi-vol-${id: -36}
  write_data a "somebody's data" "$scratch"
  disk a "$scratch" zeros || fail "writing at site a"
  say "written: zeros, over the second half"
  run 0 a reclaim pvc-scratch
  says '^used before +64\.0 MiB'
  says '^used now +32\.0 MiB'
  [[ $(disk a "$scratch" count) == 8 ]] || fail "the image does not have 8 objects left, of 16"
  held "Eight of the volume's 16 objects held zeros alone, and are gone."
}

end_replication() { # PRIMARY SECONDARY
  step "End the replication."
  run 0 "$2" disable "$volume" --yes
  run 0 "$1" disable "$volume" --yes
  [[ $(scripts/testbed rbd "$bed" "$1" mirror snapshot schedule ls --pool "$pool" --image "$image" 2>/dev/null) =~ ^(\[\])?$ ]] ||
    fail "a schedule is left"
  [[ $(scripts/testbed rbd "$bed" "$1" info "$pool/$image") != *mirroring* ]] || fail "it is still mirrored"
  held "At site $2 it did nothing; at site $1 it removed mirroring and schedule."
}

# In the meantime rbd-mirror of site b reports, and only then somebody may say that a is silent.
fence_a_node
reclaim_space
if [[ $short ]]; then
  planned_move a b
  primary=b secondary=a
else
  disaster
  site_a_returns
  a_group_moves
  site_a_has_returned
  planned_move b a
  primary=a secondary=b
fi
what_happened "$primary"
if [[ ! $keep ]]; then end_replication "$primary" "$secondary"; fi

took=$(($(now) - started))
printf '\n%s%s: All %d steps held, in %s after the build.%s\n' "$green" "$tick" "$step_number" \
  "$(duration "$took")" "$plain"
if ((took > most_seconds)); then
  spare=$(left_over "$idle_before" "$all_before")
  if ((spare < quiet_percent)); then
    wrapped "" "${bold}note:${plain} That is more than $(duration "$most_seconds"). The machine was" \
      "busy: $spare % of its processor time was left over."
  else
    wrapped "" "${red}FAILED:${plain} That is more than $(duration "$most_seconds"), and the machine" \
      "was not busy: $spare % of its processor time was left over." >&2
    told=1
    if [[ ! $keep ]]; then exit 1; fi
  fi
fi
if [[ $keep ]]; then
  cat >"$work/end" <<END
#!/bin/sh
# Ends the daemons and clusters and removes this folder.
kill ${daemon_pid[a]} ${daemon_pid[b]}
'$root/scripts/testbed' down '$bed'
rm -rf '$work'
END
  chmod 755 "$work/end"
  cat <<KEEP

Left running: volume $volume, primary at site $primary, copied to site $secondary every minute.
Status pages: ${page[$primary]} and ${page[$secondary]}
site-a and site-b are rbd-addons at either site. In any folder:

  PATH=\$PATH:$work
  site-$primary status                  # how are all volumes? trouble first
  site-$primary demote $volume         # a planned move, and
  site-$secondary promote $volume        # its second half

Or a disaster at site $primary. The second command asks, and takes more than $settle s:
  $root/scripts/testbed kill $bed $primary all
  site-$secondary site failover $pool --cluster site-$secondary
And the way back from it. In the first minute the second command may leave the
volume alone, and says so:
  $root/scripts/testbed start $bed $primary all
  site-$primary site failback $pool --cluster site-$primary

  tail -f $work/a.log $work/b.log
  $work/end        # ends and removes all of it
KEEP
else
  cat <<NEXT

What next:
  scripts/demo.sh --keep      leaves the two sites running, for you to type
  docs/install.md             install it in Kubernetes
  docs/standalone.md          install it on hosts
  docs/operations.md          the commands above, and the others
  docs/runbooks/README.md     what to do when something is wrong
NEXT
fi
