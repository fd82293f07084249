#!/bin/sh
# make-base.sh SUITE ARCHIVE: a Debian with systemd, a kernel and what Kubus needs, as a tar archive. The project is not in it, so it is made
# once for many builds. The machine's own certificate authorities are taken over: a mirror or registry may stand behind them.
set -eu
suite=$1 archive=$2
mmdebstrap --format=tar --variant=important --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
  --include=systemd-sysv,systemd-resolved,dbus,libpam-systemd,linux-image-cloud-amd64,openssh-server,sudo,ca-certificates,procps,iproute2 \
  --include=containerd,runc,nats-server,containernetworking-plugins,iptables,busybox-static,gcc,libc6-dev,curl,python3,xz-utils \
  --customize-hook='mkdir -p "$1/usr/local/share/ca-certificates"; [ ! -d /usr/local/share/ca-certificates ] || cp -r /usr/local/share/ca-certificates/. "$1/usr/local/share/ca-certificates/"; chroot "$1" update-ca-certificates' \
  --customize-hook="copy-in $(dirname "$0")/inside-base.sh /root" \
  --customize-hook='chroot "$1" sh /root/inside-base.sh && rm "$1/root/inside-base.sh"' \
  "$suite" "$archive.part"
mv "$archive.part" "$archive"
