#!/usr/bin/env bash
# All commands on a CPU, with little of everything: maintenance/gpu/rehearse.sh FOLDER, after pack.sh with one or two small encoders,
# in an environment with the machine's versions. The first training is killed once.
set -euo pipefail
cd "$(dirname "$0")/../.."
export KIT=$1/kit ENCODING=0 TRIAL=8 TIME=${TIME:-300} PRECISION=fp32 LAUNCHER=cpu LIMIT='--limit 2'
export OMP_NUM_THREADS=1 OUT=$1/fetched
mkdir -p "$OUT"
sed 's/^\(batch_size\): .*/\1: 16/; s/^\(token_budget\): .*/\1: 3072/; s/^\(precision\): .*/\1: fp32/; s/^\(evaluate_frames\): .*/\1: 40/
    $a train_dialogues: 40' baselines/onepass/config/base_gpu.yaml > "$1/small.yaml"
RECIPES=$(for start in .gpu/1/start-*; do echo "$1/small.yaml"; done) && export RECIPES
for folder in .gpu/[1-9]*; do bash maintenance/gpu/take.sh "$(basename "$folder")"; done
until compgen -G "$KIT/results/model-1/checkpoints/step-*" > /dev/null; do sleep 0.2; done
kill -9 "$(pgrep -f "^python3 -m maintenance.gpu.record ")"
bash maintenance/gpu/fetch.sh "$TIME" 0
PYTHONPATH=$KIT/site maintenance/gpu/back.sh "$OUT" 1 "$1/model"
