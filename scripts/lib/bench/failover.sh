# shellcheck shell=bash disable=SC2154,SC2034 # variables are shared with who sources it
# What scripts/bench.sh --failover measures: how long a whole site's move takes. Sourced by it.

seconds_since() { awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $1 }"; }
# all SITE NAME METHOD [FIELDS]: of every volume; calls that the operator would repeat are, as it
# does, and counted in $rounds.
all() {
  local ended
  requests "$1" "${4:-}"
  rounds=0
  while ((++rounds <= 20)); do
    ended=$failures
    measure_time "$1" "$2" "$3"
    if ((failures == ended)); then return; fi
    failures=$ended
  done
  failures=$((failures + 1))
}
# The floor has to be told when the demotions have come; the daemon's promotions wait for that.
planned_move() { # FROM TO
  local begin middle demoted took
  begin=$(date +%s.%N)
  all "$1" 'planned move of the site: demote' DemoteVolume
  demoted=$(seconds_since "$begin")
  middle=$(date +%s.%N)
  if [[ $server == floor ]]; then await 900 "the demotions have come to $2" newest_is "$2" demoted; fi
  all "$2" 'planned move of the site: promote' PromoteVolume "$schedule"
  took=$(seconds_since "$begin")
  printf '| %s: planned move | %s | %s | %s | %s | %s |\n' "$server" "$at_once" "$demoted" \
    "$(seconds_since "$middle")" "$took" "$rounds" >>"$work/moves"
}
forced_move() { # TO
  local begin
  begin=$(date +%s.%N)
  all "$1" 'failover of the site: promote by force' PromoteVolume "$schedule,\"force\":true"
  printf '| %s: failover by force | %s | | | %s | %s |\n' "$server" "$at_once" \
    "$(seconds_since "$begin")" "$rounds" >>"$work/moves"
}
measure_failovers() {
  local named
  at_once=${concurrency##* }
  for named in "${servers[@]}"; do
    server=${named%%=*} bin=${named#*=} bed=$work/bed-$server
    make_bed
    start_daemons
    requests a "$schedule"
    measure a enable EnableVolumeReplication
    await 1800 'the other site has all copies' all_report b 'up.(replaying|stopped)'
    know_peers
    if [[ $server != floor ]]; then measure a 'promote, primary already' PromoteVolume; fi
    requests a
    await 300 'the copies are reported' reported
    planned_move a b
    await 1800 'a follows b' newest_is a follows
    # Nothing is being copied to a, so that a forced promotion meets the same state each time.
    await 300 'a reports that' all_report a 'up.replaying.*idle'
    # The other site dies: nothing of it answers any more.
    scripts/testbed stop "$bed" b all
    forced_move a
    scripts/testbed cont "$bed" b all
    end_daemons
    rm -f "$work"/?.sock
    scripts/testbed down "$bed"
  done
  progress_done
  describe_run
  # "rounds": how often the calls were made until all were OK.
  printf '| what | at once | demote s | promote s | in all s | rounds |\n|---|---|---|---|---|---|\n'
  cat "$work/moves"
}
