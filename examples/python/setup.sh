#!/bin/sh
# Sets up Python for the examples: a virtual environment with the packages in requirements.txt. Again, it changes nothing.
#
#   examples/python/setup.sh [FOLDER]      default: .venv in the checkout
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(cd "$here/../.." && pwd)/.venv}

fail() {
  echo "setup.sh: $*" >&2
  exit 1
}

command -v python3 >/dev/null || fail 'python3 is not installed (on Debian and Ubuntu: apt-get install python3 python3-venv)'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "Python 3.10 or later is needed: python3 is $(python3 --version)"
python3 -m venv "$folder" || fail 'python3 cannot make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)'
# Where the index of packages cannot be reached, the default of five retries takes ten seconds a package before pip looks elsewhere.
"$folder/bin/python" -m pip install --quiet --no-input --retries 1 --disable-pip-version-check --requirement "$here/requirements.txt" ||
  fail "the packages in $here/requirements.txt cannot be installed: see above"
echo "ready: $folder/bin/python"
