# shellcheck shell=bash
# The commands stop, cont, end, kill and start: what tests do to single daemons.

# start_again SITE DAEMON [OFFSET]: after end or kill; nothing when it runs.
start_again() {
  local file=$DIR/$1/pid/$2
  if ours "$file"; then return; fi
  rm -f "$file"
  if [[ $2 == osd* && $STORE == memstore ]]; then
    printf '%s: %s: this OSD starts without its data, the pools will not answer\n' "$PROG" "$1" >&2
  fi
  start_daemon "$@"
  if [[ $2 == mon ]]; then wait_for "$1: mon" "$DIR/$1/log/mon.a.log" mon_listens "$1"; fi
}

# has_stopped PID: each of its threads, which a busy machine lets run on for a while after
# the signal.
has_stopped() {
  local thread line
  for thread in /proc/"$1"/task/*/stat; do
    read -r line 2>/dev/null <"$thread" || continue
    [[ ${line##*) } == [TtXZ]* ]] || return 1
  done
}

# signal_daemon ACTION SITE DAEMON: stop, cont, end or kill; a stopped one does nothing any
# more, and one that was told to end or killed has ended, when this returns.
signal_daemon() {
  local file=$DIR/$2/pid/$3 killed since
  if ours "$file"; then
    case $1 in
      stop)
        kill -STOP "$PID"
        wait_for "$2: $3 to stop" "$DIR/$2/log" has_stopped "$PID"
        ;;
      cont) kill -CONT "$PID" ;;
      end | kill)
        killed=$PID since=$STARTED
        if [[ $1 == end ]]; then
          kill -TERM "$killed"
          wait_for "$2: $3 to end" "$DIR/$2/log" has_ended "$killed" "$since"
        else
          kill -KILL "$killed"
          until has_ended "$killed" "$since"; do sleep 0.02; done
        fi
        rm -f "$file"
        ;;
    esac
  elif [[ $1 != kill && $1 != end ]]; then
    die "$2: $3 is not running"
  fi
}

# cmd_signal stop|cont|end|kill|start DIR SITE DAEMON [OFFSET]
cmd_signal() {
  local action=$1 site=${3:-} daemon targets
  load_bed "${2:-}"
  need_site "$site"
  read -ra targets <<<"$(daemons "$site")"
  if [[ ${4:-} != all ]]; then
    [[ " ${targets[*]} " == *" ${4:-} "* ]] || usage_error "DAEMON is one of ${targets[*]} all"
    targets=("$4")
  fi
  for daemon in "${targets[@]}"; do
    case $action in
      start) start_again "$site" "$daemon" ${5:+"$5"} ;;
      *) signal_daemon "$action" "$site" "$daemon" ;;
    esac
  done
}
