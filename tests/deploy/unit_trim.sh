#!/usr/bin/env bash
# NodeReclaimSpace by the packages' unit under a real systemd, with the drop-in that
# docs/standalone.md shows, on a filesystem that is really mounted on an image of a throwaway
# Ceph site; and what it says without the drop-in. Ten seconds; ends with 77 where that
# cannot be tried.
#
#   tests/deploy/unit_trim.sh ROOT    a root file system in which the packages are installed
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$(realpath "$1")
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh
# shellcheck source=scripts/lib/two_sites.sh
. scripts/lib/two_sites.sh
# shellcheck source=scripts/lib/exported_image.sh
. scripts/lib/exported_image.sh
# shellcheck source=scripts/lib/booted_root.sh
. scripts/lib/booted_root.sh
have_ceph
have_exports
make_work unit
drop_in=$root/etc/systemd/system/rbd-addonsd.service.d/override.conf
end() {
  # The loop device goes with the last mount, and that with the root.
  power_off
  unexport
  rm -rf "${drop_in%/*}" "$root/etc/rbd-addons/config.json" "$root/exports" "$root/volumes"
  sed -i '/^# trim/,$d' "$root/etc/default/rbd-addons"
  clean_up
}
trap end EXIT
prepare_to_boot

scripts/testbed up "$bed" --objectstore bluestore
export_volume "$root/exports"
mkdir -p "$root/etc/rbd-addons"
install -m 644 "$bed/a/csi-config/config.json" "$root/etc/rbd-addons"
# No rbd and no nbd here: loop devices over exported files count as images.
printf '%s\n' '# trim' RBD_ADDONS_NODESERVER=true RBD_ADDONS_IMAGE_EXPORTS=/exports >>"$root/etc/default/rbd-addons"

boot "$root"
until_true 60 "systemd has booted" booted
until_true 30 "the unit is started at boot, and answers" is_up

# As kubelet or an administrator does it, while the daemon runs; the folder is another user's
# alone. Devices come from outside: systemd-nspawn gives its guests none.
loop=$(losetup --find)
loop=${loop#/dev/loop}
inside mknod "/dev/loop$loop" b 7 "$loop"
inside losetup "/dev/loop$loop" "/exports/$pool/$image"
inside mkdir -p "/volumes/$id"
inside mount "/dev/loop$loop" "/volumes/$id"
inside losetup --detach "/dev/loop$loop" # when the mount ends
place=/proc/$init/root/volumes/$id
leave_garbage "$place"
chown 1000:1000 "$place"
chmod 700 "$place"
full=$(stored)
check "the pool has what was deleted ($full MiB)" test "$full" -ge 104

trim() { inside rbd-addons trim "$id" --path /volumes --timeout 90 >"$work/answer" 2>&1; }
answer() { tr '\n' ' ' <"$work/answer"; }
refused() { ! trim && grep -q CAP_DAC_READ_SEARCH "$work/answer" && (($(stored) >= full - 8)); }
if refused; then held "without the drop-in it trims nothing: $(answer)"; else failed "trim without the drop-in: $(answer)"; fi

mkdir -p "${drop_in%/*}"
awk '/^## Trimming/ { here = 1 } here && /^```$/ { exit } inside { print } here && /^```ini$/ { inside = 1 }' \
  docs/standalone.md >"$drop_in"
check "the page has a drop-in" grep -q CAP_SYS_ADMIN "$drop_in"
inside systemctl daemon-reload
check "the unit starts with it" inside systemctl restart rbd-addonsd
until_true 30 "and answers" is_up
main=$(property MainPID)
# shellcheck disable=SC2016 # awk's own
capabilities() { inside awk '$1 == "CapEff:" { print $2 }' "/proc/$main/status"; }
check "it has just the two capabilities: $(capabilities)" test "$(capabilities)" = 0000000000200004
if trim; then held "trim: $(answer)"; else failed "trim: $(answer)"; fi
left=$(stored)
check "the pool has got it back ($full MiB before, $left MiB after)" test "$left" -le $((full - 96 + 24))
check "what was not deleted is there" keeps_its_data "$place"

if ((failures)); then inside journalctl --no-pager --lines 20 --unit rbd-addonsd || true; fi
printf '%d failures\n' "$failures"
((failures == 0))
