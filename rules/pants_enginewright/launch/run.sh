# Starts the library for a user: `sh run.sh SANDBOX PYTHON_VERSION MODULE [ARGUMENT...]`, in the user's folder.
set -eu
folder=$PWD
cd "$1"
version=$2
shift 2
exec /bin/sh launch.sh "$version" run.py "$folder" "$@"
