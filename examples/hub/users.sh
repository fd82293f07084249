#!/bin/sh
# Admits nodes to a hub: makes the missing passwords, and users.conf, in which each node has a user of its own.
#
#   users.sh FOLDER [NODE...]      and then, if the hub is running: nats-server --signal reload
set -eu
umask 077
folder=${1:?usage: users.sh FOLDER [NODE...]}
shift

mkdir -p "$folder"
for user in reader "$@"; do
  case $user in
    *[!a-z0-9.-]* | '' | .* | -*) echo "users.sh: \"$user\" is not the name of a node" >&2 && exit 2 ;;
  esac
  file=$folder/$user.credentials
  # The first character is a letter: the server would parse digits as a number.
  [ -e "$file" ] || echo "$user:k$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >"$file"
done

{
  echo 'users: ['
  for file in "$folder"/*.credentials; do
    IFS=: read -r user password <"$file"
    if [ "$user" = reader ]; then
      # Programs that collect and read events.
      echo "  { user: reader, password: \"$password\" }"
      continue
    fi
    # A node serves its own stream of events, under the domain that is its name, and answers those who ask for it.
    domain=$(echo "$user" | tr . _)
    echo "  { user: \"$user\", password: \"$password\", permissions: {"
    echo "    publish: { allow: [\"kubus-hub.$domain.>\", \"\$JSC.R.*\", \"_INBOX.>\"] }"
    echo "    subscribe: { allow: [\"\$JS.$domain.API.>\", \"\$JS.FC.>\"] }"
    echo '  } }'
  done
  echo ']'
} >"$folder/users.conf.new"
mv "$folder/users.conf.new" "$folder/users.conf"
