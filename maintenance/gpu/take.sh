#!/usr/bin/env bash
# The first commands on the machine: take.sh NUMBER keeps what lies in .gpu/NUMBER. The first starts the work, which goes on
# when the command is over.
set -euo pipefail
cd "$(dirname "$0")/../.."
source maintenance/gpu/environment.sh
if [ "$1" = 1 ]; then
    rm -rf "$KIT" && mkdir -p "$KIT/carried" "$KIT/results" "$KIT/tree"
    cp -r baselines maintenance setup.cfg sgdx_* sgsacc_metric "$KIT/tree" # the next transfer changes what lies here
fi
cp -r ".gpu/$1/." "$KIT/carried"
touch "$KIT/whole-$1"
if [ "$1" = 1 ]; then setsid nohup bash "$KIT/tree/maintenance/gpu/work.sh" > "$KIT/results/work.log" 2>&1 < /dev/null & fi
