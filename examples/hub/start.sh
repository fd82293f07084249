#!/bin/sh
# Starts a hub for these nodes and those of earlier calls; its configuration, passwords and events are kept in FOLDER. With a certificate and
# its key (PEM) it is reachable from other machines.
#
#   [TLS_CERT=FILE TLS_KEY=FILE] start.sh FOLDER [NODE...]
set -eu
umask 077
here=$(dirname "$0")
folder=${1:?usage: start.sh FOLDER [NODE...]}

"$here/users.sh" "$@"
cp "$here/nats.conf" "$here/nats-tls.conf" "$here/accounts.conf" "$folder"
config=nats.conf
[ -z "${TLS_CERT:-}" ] || config=nats-tls.conf
EVENTS=\"$folder/events\"
export EVENTS
exec nats-server --config "$folder/$config"
