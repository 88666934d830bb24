#!/usr/bin/env bash
# Records what this machine's Ceph answers to every command whose answer is read, from
# throwaway clusters, for the tests of the parsers.
#
#   scripts/record-fixtures.sh [--to DIR]   writes DIR/<release>/..., by default below
#                                           tests/fixtures/ceph; takes three to five minutes
#   scripts/matrix.sh --record              does so in each root: Ceph 16.2, 18.2 and 20.2
#
# Ids of clusters, images and daemons are replaced by counted ones, host names by "host";
# nothing recorded carries a key. A state that did not show up in time is named, and has
# no file.
set -euo pipefail
cd "$(dirname "$0")/.."

to=tests/fixtures/ceph
case ${1:-} in
  --to) to=${2:?--to needs a folder} ;;
  '') ;;
  -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) printf "record-fixtures.sh: there is no option '%s' (see --help)\n" "$1" >&2; exit 2 ;;
esac

work=$(mktemp -d /tmp/rbda-fixtures.XXXXXX)
bed=$work/bed
out=$work/out
mkdir "$out"
clean_up() {
  scripts/testbed down "$bed" || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

pool=replicapool
missed=()
say() { printf '%s\n' "$*" >&2; }
ceph() { scripts/testbed ceph "$bed" "$@"; }
rbd() { scripts/testbed rbd "$bed" "$@"; }

# record FILE COMMAND...: its output, and what it said when it failed, which is read, too.
record() {
  local file=$out/$1
  shift
  mkdir -p "${file%/*}"
  "$@" >"$file" 2>"$work/stderr" || { cat "$work/stderr" >>"$file"; }
}

# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.3
  done
}

# The site's own part comes first, and it alone has the image's global id.
own() { printf '"global_id":"[^"]*","state":"%s' "$1"; }
status_has() { # SITE IMAGE TEXT: in the part about either site
  rbd "$1" mirror image status --format json "$pool/$2" >"$work/status" 2>/dev/null && grep -q -- "$3" "$work/status"
}

# record_status NAME SITE IMAGE TEXT SECONDS: the status as soon as it has TEXT.
record_status() {
  if until_true "$5" status_has "$2" "$3" "$4"; then
    mkdir -p "$out/mirror-status"
    cp "$work/status" "$out/mirror-status/$1.json"
  else
    missed+=("mirror-status/$1")
  fi
}

fill() { # SITE IMAGE SIZE
  rbd "$1" bench --io-type write --io-size 1M --io-threads 16 --io-total "$3" "$pool/$2" >/dev/null 2>&1
}
there() { rbd "$1" info "$pool/$2" >/dev/null 2>&1; }
in_step() { # IMAGE: site b has it
  status_has b "$1" "$(own up+replaying)"
}

release=$(command ceph --version | sed 's/^ceph version \([0-9.]*\).*/\1/')
say "recording Ceph $release"
scripts/testbed up "$bed" --mirror
record version.txt command ceph --version

say "blocklist, maps"
for entry in 192.0.2.7:0/123456 192.0.2.8:0/0 '[2001:db8::7]:0/77'; do
  ceph a osd blocklist add "$entry" 86400 2>/dev/null
done
record osd-blocklist-ls/without-ranges.txt ceph a osd blocklist ls -f json
for range in 198.51.100.0/24 203.0.113.7/28 2001:db8:1::/64; do
  ceph a osd blocklist range add "$range" 86400 2>/dev/null
done
record osd-blocklist-ls/with-ranges.txt ceph a osd blocklist ls -f json
record osd-blocklist-ls/empty.txt ceph b osd blocklist ls -f json
record osd-dump.json ceph a osd dump -f json
record quorum-status.json ceph a quorum_status -f json
record mgr-dump.json ceph a mgr dump -f json
record osd-lspools.json ceph a osd lspools -f json

say "snapshot schedules"
schedule() { ceph a rbd mirror snapshot schedule "$@"; }
rbd a create --size 1G "$pool/still"
record schedule/no-such-image.txt schedule list "$pool/absent" --format json
record schedule/image-not-mirrored.txt schedule list "$pool/still" --format json
rbd a mirror image enable "$pool/still" snapshot >/dev/null
record schedule/list-none.json schedule list "$pool/still" --format json
schedule add "$pool/still" 1h >/dev/null
schedule add "$pool/still" 1d 14:00:00-05:00 >/dev/null
record schedule/list-image.json schedule list "$pool/still" --format json
schedule add "$pool/" 6h >/dev/null
rbd a create --size 1G "$pool/plain"
rbd a mirror image enable "$pool/plain" snapshot >/dev/null
record schedule/list-inherited.json schedule list "$pool/plain" --format json
record schedule/list-image-beside-pool.json schedule list "$pool/still" --format json
record schedule/list-pool.json schedule list "$pool/" --format json

say "mirror status: the ways of one volume"
rbd a create --size 2G "$pool/moved"
fill a moved 1G
rbd a mirror image enable "$pool/moved" snapshot >/dev/null
# While the source does not answer the copy stands still, and the next report, which is due
# every 30 s, tells of it.
until_true 60 there b moved || missed+=(image-arrives)
scripts/testbed stop "$bed" a osd
record_status first-copy b moved 'up+syncing\|starting\|bootstrapping\|\\"syncing' 45
scripts/testbed cont "$bed" a osd
until_true 120 in_step moved || missed+=(first-copy-ends)
record_status secondary-replaying b moved "$(own up+replaying).*replay_state..:..idle.*up+stopped" 90
record_status primary a moved "$(own up+stopped).*up+replaying.*replay_state..:..idle" 90
fill a moved 1G
rbd a mirror image snapshot "$pool/moved" >/dev/null
scripts/testbed stop "$bed" a osd
record_status secondary-copying b moved 'syncing_percent' 45
scripts/testbed cont "$bed" a osd
rbd a mirror image demote "$pool/moved" >/dev/null
record_status both-demoted b moved "$(own up+unknown)" 90
record_status both-demoted-old-primary a moved "$(own up+unknown)" 90

say "mirror status: split brain, and a peer that is gone"
promoted() { rbd "$1" mirror image promote "$pool/$2" >/dev/null 2>&1; }
until_true 60 promoted b moved || missed+=(planned-move) # EBUSY until the demotion is copied
until_true 90 status_has a moved "$(own up+replaying)" || missed+=(moved-back)
rbd a mirror image promote --force "$pool/moved" >/dev/null 2>&1 || true
rbd a mirror image demote "$pool/moved" >/dev/null 2>&1 || true
record_status split-brain a moved "$(own up+error).*split-brain.*up+stopped" 120

say "mirror status: journal mode"
rbd a create --size 256M --image-feature layering,exclusive-lock,journaling "$pool/journal"
rbd a mirror image enable "$pool/journal" journal >/dev/null
until_true 90 in_step journal || missed+=(journal)
fill a journal 64M
record_status journal-replaying b journal 'entries_behind_primary' 60
rbd a mirror image demote "$pool/journal" >/dev/null
record_status journal-demoted b journal "$(own up+unknown)" 60

scripts/testbed kill "$bed" b rbd-mirror
record_status daemon-down b still 'down+' 90

say "tasks"
# Last: a manager of Debian 13 (18.2.7 with Python 3.13) dies of the flatten.
task() { timeout 60 scripts/testbed ceph "$bed" a rbd task "$@"; }
rbd a create --size 2G "$pool/parent"
fill a parent 512M
rbd a snap create "$pool/parent@s" --no-progress >/dev/null 2>&1
rbd a clone --rbd-default-clone-format 2 "$pool/parent@s" "$pool/child"
record rbd-task/list-none.json task list -f json
task add flatten "$pool/child" >/dev/null 2>&1 || true
if task list -f json >"$work/tasks" 2>/dev/null; then
  record rbd-task/list-flatten.json cat "$work/tasks"
else
  missed+=(rbd-task/list-flatten)
fi

say "writing $to/$release"
python3 - "$out" <<'PY'
import json, os, re, sys
out = sys.argv[1]
names = {}
def counted(match):
    n = names.setdefault(match.group(0), len(names) + 1)
    return "00000000-0000-4000-8000-%012d" % n
uuid = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
for folder, _, files in sorted(os.walk(out)):
    for name in sorted(files):
        path = os.path.join(folder, name)
        with open(path) as file:
            text = file.read()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            # What the manager says of modules is nine tenths of the answer, and is not read.
            for key in ("available_modules", "always_on_modules", "force_disabled_modules"):
                if key in answer:
                    answer[key] = type(answer[key])()
        if answer is not None and not name.endswith(".txt"):
            text = json.dumps(answer, indent=1) + "\n"
        text = uuid.sub(counted, text)
        text = re.sub(r'("(?:hostname|container_hostname)": *)"[^"]*"', r'\1"host"', text)
        if re.search(r"/tmp/|[\"'= ]A[Qg][A-Za-z0-9+/]{30,}=", text):
            sys.exit("%s has a path of this machine or a key" % name)
        with open(path, "w") as file:
            file.write(text)
PY
mkdir -p "$to"
rm -rf "${to:?}/$release"
cp -r "$out" "$to/$release"
for name in "${missed[@]}"; do say "not seen in time: $name"; done
say "$(find "$to/$release" -type f | wc -l) files in $to/$release"
