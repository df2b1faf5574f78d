# Starts a step: `sh launch.sh PYTHON_VERSION PROGRAM [ARGUMENT...]`, in the sandbox's top folder.
# The interpreter's path differs from host to host and is no part of the key; its version is.
set -eu
version=$1
shift
is_wanted() {
    [ -x "$1" ] && [ "$("$1" -I -c 'import platform; print(platform.python_version())')" = "$version" ]
}
python=$(readlink -f ".python/$version" || true)
if [ ! -x "$python" ]; then
    python=
    for candidate in "/usr/local/bin/python${version%.*}" "/usr/bin/python${version%.*}"; do
        if is_wanted "$candidate"; then python=$candidate; break; fi
    done
fi
if [ -z "$python" ]; then
    echo "CPython $version is not on this host: install it, then restart Pants so that it looks again" >&2
    exit 1
fi
# -S and -s: nothing that the host has installed is importable. -P came with Python 3.11.
case $version in 3.9.*|3.10.*) options="-B -s -S" ;; *) options="-B -P -s -S" ;; esac
# Large inputs are hard links into the store, read-only. Root could write through them: give that up.
if [ "$(id -u)" = 0 ] && [ -z "${ENGINEWRIGHT_AS_ROOT:-}" ] && [ -x /usr/bin/setpriv ]; then
    exec /usr/bin/setpriv --bounding-set=-dac_override --inh-caps=-dac_override \
        "$python" $options "$@"
fi
exec "$python" $options "$@"
