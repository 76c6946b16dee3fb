#!/usr/bin/env bash
# Moves models/ and results/ back; with the folder that came back from second.sh, makes a model of it:
#   maintenance/gpu/back.sh [FOLDER [OUTPUT]]
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/../.."
for folder in models results; do
    if [ -d ".gpu/aside/$folder" ]; then mv ".gpu/aside/$folder" .; fi
done
if [ $# -gt 0 ]; then
    from=$(cd "$here" && realpath "$1") output=${2:-outputs/onepass-record_gpu}
    mkdir -p "$output"
    tar -xzf "$from/run.tar.gz" -C "$output"
    cat "$from"/weights-? > "$output/model.safetensors"
    grep -q "$(sha256sum < "$output/model.safetensors" | cut -d' ' -f1)" "$from/record.json" ||
        { echo "$from: the parts of the weights are not of one model" >&2 && exit 1; }
    python -c "
import sys
from baselines.use import load_tracker
print(load_tracker(sys.argv[1]).describe())" "$output"
fi
