# shellcheck shell=bash
# Daemons as processes. A pid file holds "PID STARTTIME"; the start time (field 22 of /proc/PID/stat) and the
# command line, which names the bed, make sure that a pid used again by a foreign process is never signalled.

# proc_stat PID: sets STATE and STARTED of a process; fails when there is none.
proc_stat() {
  local stat fields
  stat=$(first_line "/proc/$1/stat") || return 1
  read -ra fields <<<"${stat##*) }" # the name in parentheses may contain blanks
  STATE=${fields[0]} STARTED=${fields[19]}
}

# ours PIDFILE: succeeds, and sets PID and STATE, when the recorded process lives and is ours.
ours() {
  local started cmdline
  PID='' STATE='' STARTED=''
  { read -r PID started <"$1"; } 2>/dev/null || return 1
  [[ $PID =~ ^[0-9]+$ ]] && proc_stat "$PID" && [[ $STARTED == "$started" && $STATE != Z ]] || return 1
  { mapfile -d '' -t cmdline <"/proc/$PID/cmdline"; } 2>/dev/null || return 1
  [[ ${cmdline[*]} == *"$DIR/"* || ${cmdline[*]} == *"$PROG"* ]]
}

# has_ended PID STARTTIME: succeeds when every thread of the process is gone, and with the last one its files and
# locks. The first thread, whose state /proc/PID/stat shows, may be a zombie while others of it still end.
has_ended() {
  local threads
  proc_stat "$1" && [[ $STARTED == "$2" ]] || return 0
  threads=("/proc/$1/task"/*)
  [[ $STATE == Z ]] && ((${#threads[@]} < 2))
}

# any_alive PIDFILE...: succeeds when one of them is ours.
any_alive() {
  local file
  for file; do if ours "$file"; then return 0; fi; done
  return 1
}

# record_worker SITE: this shell is what "down" has to end first.
record_worker() {
  proc_stat "$BASHPID"
  printf '%s %s\n' "$BASHPID" "$STARTED" >"$DIR/$1/pid/worker"
}

# launch SITE NAME COMMAND...: starts a daemon that outlives us. The child records itself before it becomes
# the daemon, so a caller killed at any moment leaves no unknown process. It has its own session and none of
# the caller's files: neither a Ctrl-C nor somebody waiting for our output to end concerns it.
launch() {
  local site=$1 name=$2
  shift 2
  # shellcheck disable=SC2016 # expanded by the inner shell
  setsid -f bash -c '
    pidfile=$1; shift
    for fd in /proc/$$/fd/*; do fd=${fd##*/}; if ((fd > 2)); then eval "exec $fd>&-"; fi; done
    cd / # an OSD of Debian 20.2.4 looks for its object classes relative to it
    stat=$(</proc/$$/stat); set -f; fields=(${stat##*) })
    echo "$$ ${fields[19]}" >"$pidfile.new" && mv "$pidfile.new" "$pidfile" && exec "$@"
  ' "$DIR/$site/ceph.conf" "$DIR/$site/pid/$name" "$@" </dev/null >>"$DIR/$site/log/$name.out" 2>&1
  wait_for "$site: $name" "$DIR/$site/log/$name.out" test -s "$DIR/$site/pid/$name"
}

# start_daemon SITE DAEMON [OFFSET]: returns when its process runs, which is before it answers. With OFFSET its
# clock is wrong by so much, and passes as fast as any other.
start_daemon() {
  local conf=$DIR/$1/ceph.conf netns=${NETNS[$(site_number "$1")]:-} clock=() place=() WITH
  # The dynamic linker puts in $LIB.
  # shellcheck disable=SC2016
  if [[ ${3:-} ]]; then
    clock=(env 'LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1' FAKETIME="$3" FAKETIME_DONT_FAKE_MONOTONIC=1)
  fi
  if [[ $netns ]]; then place=(ip netns exec "$netns"); fi
  ceph_of "$1"
  case $2 in
    mon) launch "$1" mon "${clock[@]}" "${WITH[@]}" ceph-mon -f -i a -c "$conf" ;;
    mgr) launch "$1" mgr "${clock[@]}" "${WITH[@]}" ceph-mgr -f -i x -c "$conf" ;;
    osd) launch "$1" osd "${clock[@]}" "${WITH[@]}" ceph-osd -f -i 0 -c "$conf" ;;
    osd.*) launch "$1" "$2" "${clock[@]}" "${WITH[@]}" ceph-osd -f -i "${2#osd.}" -c "$conf" ;;
    # rbd-mirror looks for its local cluster on the default path only; -c alone is not enough.
    rbd-mirror)
      launch "$1" rbd-mirror "${place[@]}" "${clock[@]}" env CEPH_CONF="$conf" "${WITH[@]}" \
        rbd-mirror -f -n client.rbd-mirror -c "$conf"
      ;;
  esac
}

# mon_listens SITE: succeeds once it does.
mon_listens() { ours "$DIR/$1/pid/mon" && owns_port "$PID" "$(first_line "$DIR/$1/port")"; }

# stop_all: ends every recorded process of the bed, the helpers of a running "up" first.
stop_all() {
  local file end files=()
  for file in "$DIR"/*/pid/worker; do
    # A worker leads its process group; the daemons are not in it.
    if ours "$file"; then kill -KILL -- "-$PID" 2>/dev/null || kill -KILL "$PID" 2>/dev/null || true; fi
  done
  for file in "$DIR"/*/pid/{rbd-mirror,osd,osd.*,mgr,mon}; do
    if ours "$file"; then
      files+=("$file")
      kill -CONT "$PID" 2>/dev/null || true # a stopped process would not see the TERM
      kill -TERM "$PID" 2>/dev/null || true
    fi
  done
  end=$((SECONDS + 2)) # nothing in a bed is worth a longer wait
  while any_alive "${files[@]}" && ((SECONDS < end)); do sleep 0.05; done
  for file in "${files[@]}"; do
    if ours "$file"; then kill -KILL "$PID" 2>/dev/null || true; fi
  done
  end=$((SECONDS + 10))
  while any_alive "${files[@]}" && ((SECONDS < end)); do sleep 0.05; done
}
