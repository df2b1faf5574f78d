# Downloads the wheels of lock.txt into ./wheels: `sh download.sh PYTHON_VERSION`.
# Where they come from is no part of the key, because the lock pins the hash of each one.
set -eu
. ./.index/settings.sh
mkdir -p wheels .pip
ln -s "$ENGINEWRIGHT_PIP" .pip/pip
export PYTHONPATH=.pip PIP_CONFIG_FILE=/dev/null PIP_CACHE_DIR=.pip-cache PIP_DISABLE_PIP_VERSION_CHECK=1
exec "$(readlink -f ".python/$1")" -B -s -m pip download --quiet --no-input --require-hashes --no-deps \
    --only-binary :all: --dest wheels --requirement lock.txt >&2
