#!/usr/bin/env bash
# ceph-csi makes its LUKS volumes with Argon2 in 32 MiB of memory, for nodes and containers with
# little. One would guess that a changed passphrase (`cryptsetup luksChangeKey`, libcryptsetup's
# crypt_keyslot_change_by_passphrase) keeps that, as it keeps the number of the slot. cryptsetup 2.6.1
# makes a new slot as this machine would for a new volume, with up to 1 GB of memory. A busy machine
# takes less (150 to 190 MB at loads of 9 to 14 on two cores). The slot gets the old number, and
# nothing is said. Where memory is limited the volume cannot be opened any more.
# The slot's priority is lost as well. With LUKS1 the number changes, too.
#
# Who changes keys by program sets the old slot's way first (crypt_keyslot_get_pbkdf and
# crypt_set_pbkdf_type, or --pbkdf-memory).
set -euo pipefail
# shellcheck source=findings/lib/finding.sh
. "$(dirname "$0")/lib/finding.sh"
need cryptsetup-bin=2:2.6.1-4~deb12u2 libcryptsetup12=2:2.6.1-4~deb12u2 sed util-linux
enter_root

seen "$(in_root cryptsetup --version)"
for key in old new; do printf '%s' "$key" >"$root/tmp/$key"; done
make() { # TYPE OPTION...
  truncate -s 32M "$root/tmp/$1"
  in_root cryptsetup -q luksFormat --type "$@" "/tmp/$1" /tmp/old
}
change() { in_root cryptsetup -q luksChangeKey --key-file /tmp/old "/tmp/$1" /tmp/new; } # TYPE
opened_in_100_megabytes() { # TYPE KEY: the slot, or why not
  in_root prlimit --as=100000000 cryptsetup open --verbose --test-passphrase --key-file "/tmp/$2" "/tmp/$1" 2>&1 |
    sed -n 's/^Key slot \([0-9]*\) unlocked.*/\1/p; /^Not enough/p'
}
dumped() { in_root cryptsetup luksDump /tmp/luks2 | sed -n "s/^\t$1: *//p"; } # FIELD: of the only slot

make luks1 --pbkdf-force-iterations 1000
make luks2 --pbkdf-memory 32768 --pbkdf-parallel 1 --pbkdf-force-iterations 4
in_root cryptsetup config --key-slot 0 --priority prefer /tmp/luks2
expect "LUKS2, memory in KiB" 32768 "$(dumped Memory)"
expect "LUKS2, priority" preferred "$(dumped Priority)"
expect "LUKS2, opened within 100 MB by slot" 0 "$(opened_in_100_megabytes luks2 old)"
expect "LUKS1, opened within 100 MB by slot" 0 "$(opened_in_100_megabytes luks1 old)"

change luks1
change luks2
after=$(dumped Memory)
expect "LUKS2 after the change, more than 100,000 KiB ($after)" yes "$( ((after > 100000)) && echo yes || echo no)"
expect "LUKS2, priority" normal "$(dumped Priority)"
expect "LUKS2, opened within 100 MB by slot" "Not enough available memory to open a keyslot." "$(opened_in_100_megabytes luks2 new)"
expect "LUKS2, slots" 1 "$(in_root cryptsetup luksDump /tmp/luks2 | grep -c '^  0: luks2$')"
expect "LUKS1, opened within 100 MB by slot" 1 "$(opened_in_100_megabytes luks1 new)"
