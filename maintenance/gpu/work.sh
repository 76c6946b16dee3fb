#!/usr/bin/env bash
# All of the work on the machine, twelve minutes, in the background: installs, checks, encodes, trains, chooses the biases, judges.
# What is in $KIT/results at any moment is whole.
set -uo pipefail
cd "$(dirname "$0")/../.."
source maintenance/gpu/environment.sh
cd "$KIT"
left() { echo $((TIME * $1 / 100 - SECONDS)); } # seconds until so many hundredths of the time are over
on_cpu() { CUDA_VISIBLE_DEVICES='' "$@"; }
mv carried/{start-*,release.zip,*.json} .
python3 -m pip install -q --no-index --no-deps --no-compile --target site carried/wheels/*.whl || exit 1
say "installed"
nvidia-smi || true

# Ten steps of four small systems, on the GPU in bfloat16 and on the CPU in float32.
ten=(python3 -m maintenance.gpu.ten_steps)
train=(baselines.train --source sample --config "$KIT/steps/device/onepass.yaml")
small() {
    on_cpu "${ten[@]}" steps/cpu fp32 > cpu.log 2>&1 &
    "${ten[@]}" steps/device "$PRECISION" && wait && "${ten[@]}" compare steps/{cpu,device}
    say "ten steps differ from the CPU's at most by rounding: $?"
    # A run under the launcher of several GPUs has the losses of one that is killed and resumed.
    python3 -m accelerate.commands.launch --config_file "tree/baselines/accelerate/$LAUNCHER.yaml" --num_processes 1 \
        -m "${train[@]}" --output steps/launched/onepass
    python3 -m "${train[@]}" --output steps/killed/onepass & killed=$!
    until compgen -G "steps/killed/onepass/checkpoints/step-*" || ! kill -0 $killed; do sleep 0.05; done
    kill -9 $killed
    python3 -m "${train[@]}" --output steps/killed/onepass --resume
    "${ten[@]}" compare steps/{launched,killed}
    say "a run that was killed and one under the launcher are the same: $?"
}
small > results/small.log 2>&1 &

on_cpu python3 -m sgdx_cli prepare --source release.zip --config original v1 v2 v3 v4 v5 > results/prepare.log 2>&1
say "prepared"
cp -r start-1 tokens && on_cpu python3 -c "
from transformers import AutoConfig, AutoModel
config = AutoConfig.from_pretrained('tokens')
del config.quantization_config
AutoModel.from_config(config).save_pretrained('tokens')" # whose weights are random
on_cpu python3 -m maintenance.gpu.encode "${recipes[0]}" release.zip tokens encoded "$ENCODING" || exit 1
say "encoded $(find encoded -name 'train-*' | wc -l) batches"
for number in $(seq "$(cat carried/transfers)"); do until [ -f "whole-$number" ]; do sleep 0.2; done; done
cat $(seq -f carried/weights-%g "$(cat carried/transfers)") | tar -x
say "has the encoders to start from"

# learn NUMBER: a training, which is begun again where it was killed, and its weights in parts.
learn() {
    local model=results/model-$1 end=${until[$1 - 1]}
    while [ "$(left "$end")" -gt $((TIME / 20)) ]; do
        timeout -k 5 "$(left $((end + 4)))" python3 -m maintenance.gpu.record --encoded encoded --recipe "${recipes[$1 - 1]}" \
            --start "start-$1" --output "$model" --seconds "$(left "$end")" --trial "$TRIAL" >> "results/train-$1.log" 2>&1 && break
        say "training $1 ended with status $?"
    done
    say "trained $1"
    tar -cf - -C "$model" $(cd "$model" && echo *.safetensors) | split -b 15M -d - "weights-$1-"
}

# judge NUMBER SPLIT AS OPTIONS: writes results/model-NUMBER/SPLIT/AS.
judge() {
    timeout -k 5 "$(left 99)" python3 -m sgdx_cli evaluate --model "results/model-$1" --split "$2" --quiet \
        --batch-size 512 --token-budget 32768 --output "results/model-$1/$2/$3" "${@:4}" $LIMIT >> "results/judge-$1.log" 2>&1
    say "judged $1 on $3 of $2: $?"
}
# judge_all NUMBER SPLIT DIALOGUES DIALOGUES: SGD with acts and by text alone, and many.
judge_all() {
    local sgd=(--source release.zip --dialogues) text=(--acts false)
    judge "$1" "$2" sgd "${sgd[@]}" "$3" & judge "$1" "$2" sgd-text "${text[@]}" "${sgd[@]}" "$4" &
    judge "$1" "$2" many --source many & judge "$1" "$2" many-text "${text[@]}" --source many &
    wait
}
# validate NUMBER: chooses the biases and judges on validation.
validate() {
    timeout -k 5 "$(left 99)" python3 -m maintenance.gpu.biases encoded "results/model-$1" release.zip >> "results/train-$1.log" 2>&1
    say "chose the biases of $1: $?"
    judge_all "$1" validation validation-200.json validation-200.json
}

# The first is judged while the second learns; the second on test only by whoever chooses it by validation.
learn 1
{ validate 1; judge_all 1 test test-292.json test-146.json; } &
[ "${#recipes[@]}" = 1 ] || { learn 2; validate 2; }
wait
say "done"
touch done
