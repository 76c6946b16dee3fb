#!/usr/bin/env bash
# Both commands on a CPU, with little of everything: maintenance/gpu/rehearse.sh FOLDER, after pack.sh, in an environment
# with the machine's versions. The training is killed once.
set -euo pipefail
cd "$(dirname "$0")/../.."
export KIT=$1/kit ENCODING=0 TRIAL=8 TIME=${TIME:-180} PRECISION=fp32 LAUNCHER=cpu RECIPE=$1/small.yaml
export OMP_NUM_THREADS=1
mkdir -p "$1/first" "$1/second"
sed 's/^\(batch_size\): .*/\1: 16/; s/^\(token_budget\): .*/\1: 3072/; s/^\(precision\): .*/\1: fp32/; s/^\(evaluate_frames\): .*/\1: 40/
    $a train_dialogues: 200' baselines/onepass/config/record_gpu.yaml > "$RECIPE"
OUT=$1/first bash maintenance/gpu/first.sh
OUT=$1/second LIMIT='--limit 2' bash maintenance/gpu/second.sh &
second=$!
until [ -f "$1/second/weights-2" ]; do sleep 0.2; done
kill -9 "$(pgrep -f "^python3 -m maintenance.gpu.record .*$KIT/work")"
wait $second
PYTHONPATH=$KIT/site maintenance/gpu/back.sh "$1/second" "$1/model"
