#!/bin/sh
# Runs in the new Debian: its user, its network, and the newer containerd beside the release's own.
set -eu
echo kubus-machine >/etc/hostname
printf '127.0.0.1 localhost\n127.0.1.1 kubus-machine\n' >/etc/hosts
echo '/dev/vda / ext4 defaults 0 1' >/etc/fstab
useradd --create-home --shell /bin/bash dev
echo 'dev ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/dev
printf '[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n' >/etc/systemd/network/10-guest.network
systemctl --quiet enable systemd-networkd systemd-resolved ssh
# The packages start these by themselves; each group of tests starts what it needs.
systemctl --quiet disable containerd nats-server
# A journal that survives a reboot.
mkdir -p /var/log/journal

# containerd 2 and its runc are not in this release: unpacked from the next one, not installed.
mirror=$(grep -hoE '^deb (\[[^]]*\] )?[^ ]+' /etc/apt/sources.list | head -1 | sed 's/.* //')
echo "deb ${mirror:-http://deb.debian.org/debian} sid main" >/etc/apt/sources.list.d/sid.list
printf 'Package: *\nPin: release n=sid\nPin-Priority: -1\n' >/etc/apt/preferences.d/sid
# A mirror may lag: its index of sid is only used to find two packages, whose digests it signs.
apt-get -o Acquire::Check-Valid-Until=false update
folder=$(mktemp -d)
chmod 755 "$folder"
cd "$folder"
apt-get download containerd/sid runc/sid
for package in *.deb; do dpkg-deb --extract "$package" /opt/containerd2; done
cd /
rm -rf "$folder" /etc/apt/sources.list.d/sid.list /etc/apt/preferences.d/sid
apt-get update
apt-get clean
/opt/containerd2/usr/bin/containerd --version
/opt/containerd2/usr/sbin/runc --version
