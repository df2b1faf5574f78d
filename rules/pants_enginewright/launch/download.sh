# Downloads the wheels of lock.txt into ./wheels: `sh download.sh PYTHON_VERSION`.
# Where they come from is no part of the key, because the lock pins the hash of each one.
set -eu
. ./.index/settings.sh
mkdir -p wheels .pip
ln -s "$ENGINEWRIGHT_PIP" .pip/pip
export PYTHONPATH=.pip PIP_CONFIG_FILE=/dev/null PIP_CACHE_DIR=.pip-cache PIP_DISABLE_PIP_VERSION_CHECK=1
if "$(readlink -f ".python/$1")" -B -s -m pip download --quiet --no-input --require-hashes --no-deps \
    --only-binary :all: --dest wheels --requirement lock.txt >pip.log 2>&1; then
    cat pip.log >&2
    exit 0
fi
# pip says "someone may have tampered with them" of a wheel that the lock merely does not list.
sed -e '/DO NOT MATCH THE HASHES/c\
The lock has no hash for the artifact that an index offers to CPython '"$1 on $(uname -sm)"'.\
Where the lock was made for another platform, or without this index: make it again with\
`./pants generate-lockfiles --resolve=ADDRESS`. Where it was made for this one, these are other bytes\
than those that were locked: find out which index has them before you trust them.' pip.log >&2
exit 1
