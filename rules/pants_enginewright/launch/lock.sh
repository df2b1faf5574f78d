# Resolves requirements.in into lock.txt: `sh lock.sh PYTHON_MINOR_VERSION HEADER [UV_OPTION...]`.
set -eu
python=$1 header=$2; shift 2
export HOME="$PWD" UV_CACHE_DIR="$PWD/.uv-cache" UV_NO_CONFIG=1
./uv pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
    --index-strategy unsafe-best-match --only-binary :all: --python-version "$python" \
    --python-platform x86_64-manylinux_2_28 requirements.in -o body.txt "$@" >&2
"$ENGINEWRIGHT_PYTHON" -I -B -S origins.py body.txt > notes.txt
{ printf '%s\n' "$header"; cat body.txt; } > lock.txt
