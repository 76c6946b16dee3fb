#!/usr/bin/env bash
# Moves models/ and results/ back; with a folder into which all that fetch.sh handed over was copied, makes a model of it:
#   maintenance/gpu/back.sh [FOLDER NUMBER OUTPUT]
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/../.."
for folder in models results; do
    if [ -d ".gpu/aside/$folder" ]; then mv ".gpu/aside/$folder" .; fi
done
if [ $# -gt 0 ]; then
    from=$(cd "$here" && realpath "$1") number=$2 output=$3
    mkdir -p "$output"
    tar -xzf "$from/run.tar.gz" -C "$output" --strip-components 2 "./model-$number"
    cat "$from/weights-$number"-?? | tar -x -C "$output"
    python -c "
import sys
from baselines.use import load_tracker
print(load_tracker(sys.argv[1]).describe())" "$output"
fi
