# shellcheck shell=bash
# The ports of the monitors. Only a mon needs a port known beforehand; the others search 6800-7300 themselves.
# A reservation is a file named after the port with the site's directory in it. It lives as long as the bed, so
# that a killed mon finds its port free when it is started again. Reservations of vanished beds are taken over.

readonly PORT_FIRST=21000 PORT_COUNT=8000 # below the ephemeral ports, above the OSDs' 6800-7300

# reserve_dir: prints the directory with the reservations of this user.
reserve_dir() { printf '%s/rbd-addons-testbed-ports.%d' "${TMPDIR:-/tmp}" "$UID"; }

# listeners: prints what listens here, as " PORT/INODE PORT/INODE ", ports in hexadecimal. (In these tables
# column 2 is address:port, column 4 the state, 0A for listening, column 10 the socket's inode.)
listeners() {
  printf ' '
  awk '$4 == "0A" { sub(/.*:/, "", $2); printf "%s/%s ", $2, $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null || true
}

# owns_port PID PORT: succeeds when the process listens there.
owns_port() {
  local hex links
  printf -v hex '%04X' "$2"
  [[ $(listeners) =~ \ $hex/([0-9]+)\  ]] || return 1
  links=$(readlink "/proc/$1/fd/"* 2>/dev/null || true)
  [[ $links == *"socket:[${BASH_REMATCH[1]}]"* ]]
}

# lock_reservations: makes the directory and locks it itself, because the last bed removes it; sets LOCK.
lock_reservations() {
  local dir end=$((SECONDS + WAIT))
  dir=$(reserve_dir)
  while ((SECONDS < end)); do
    mkdir -p "$dir"
    [[ -O $dir ]] || die "$dir belongs to somebody else"
    { exec {LOCK}<"$dir"; } 2>/dev/null || continue # removed since
    flock -w "$WAIT" "$LOCK" || break
    # Removed while we waited? Then somebody else may hold the lock of a new one.
    if [[ $dir -ef /proc/self/fd/$LOCK ]]; then return; fi
    exec {LOCK}<&-
  done
  die "cannot lock $dir"
}

# reserve_port SITE: writes DIR/SITE/port.
reserve_port() {
  local dir site_dir=$DIR/$1 LOCK port hex owner busy try
  dir=$(reserve_dir)
  lock_reservations
  busy=$(listeners)
  for ((try = 0; try < PORT_COUNT; try++)); do
    port=$((PORT_FIRST + RANDOM % PORT_COUNT))
    printf -v hex '%04X' "$port"
    [[ $busy != *" $hex/"* ]] || continue
    # Reserved by a bed that still exists?
    owner=$(first_line "$dir/$port") && [[ $(first_line "$owner/port") == "$port" ]] && continue
    printf '%s\n' "$site_dir" >"$dir/$port"
    printf '%s\n' "$port" >"$site_dir/port"
    exec {LOCK}<&-
    return
  done
  die "no free port between $PORT_FIRST and $((PORT_FIRST + PORT_COUNT - 1))"
}

# release_port SITE_DIR: also forgets the reservations of beds that vanished, and the directory with the last.
release_port() {
  local dir port file owner LOCK
  dir=$(reserve_dir)
  port=$(first_line "$1/port") || return 0
  [[ -d $dir ]] || return 0
  lock_reservations
  if [[ $(first_line "$dir/$port") == "$1" ]]; then rm -f "$dir/$port"; fi
  for file in "$dir"/*; do
    owner=$(first_line "$file") || continue
    [[ $(first_line "$owner/port") == "${file##*/}" ]] || rm -f "$file"
  done
  rmdir "$dir" 2>/dev/null || true # others have beds
  exec {LOCK}<&-
}
