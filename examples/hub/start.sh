#!/bin/sh
# Starts a hub; its passwords and events are kept in FOLDER. With a certificate and its key (PEM) it is reachable from other machines.
#
#   start.sh FOLDER [CERTIFICATE KEY]
set -eu
umask 077
here=$(dirname "$0")
folder=${1:?usage: start.sh FOLDER [CERTIFICATE KEY]}

mkdir -p "$folder"
for user in node reader; do
  file=$folder/$user.credentials
  # The first character is a letter: the server would parse digits as a number.
  [ -e "$file" ] || echo "$user:k$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >"$file"
done
NODE_PASSWORD=$(cut -d: -f2 "$folder/node.credentials")
READER_PASSWORD=$(cut -d: -f2 "$folder/reader.credentials")
export NODE_PASSWORD READER_PASSWORD

config=nats.conf
if [ $# -gt 1 ]; then
  config=nats-tls.conf
  export TLS_CERT="$2" TLS_KEY="${3:?usage: start.sh FOLDER [CERTIFICATE KEY]}"
fi
exec nats-server --config "$here/$config" --store_dir "$folder/events"
