#!/usr/bin/env bash
# The first command on the machine, two and a half minutes: installs, encodes the frames, checks.
# What is made lies outside of the tree, where second.sh finds it. Logs go to $OUT.
set -uo pipefail
cd "$(dirname "$0")/../.."
source maintenance/gpu/environment.sh
exec > >(tee "$OUT/first.log") 2>&1
rm -rf "$KIT" && mkdir -p "$KIT"
cp -r .gpu/first/. "$KIT" # a second transfer removes what it does not carry
python3 -m pip install -q --no-index --no-deps --no-compile --target "$KIT/site" "$KIT"/wheels/*.whl || exit 1
say "installed"
nvidia-smi || true

# Ten steps of four small systems, on the GPU in bfloat16 and on the CPU in float32.
on_cpu() { CUDA_VISIBLE_DEVICES='' "$@"; }
ten=(python3 -m maintenance.gpu.ten_steps)
train=(baselines.train --source sample --config "$KIT/steps/device/onepass.yaml")
small() {
    on_cpu "${ten[@]}" "$KIT/steps/cpu" fp32 > "$KIT/cpu.log" 2>&1 &
    "${ten[@]}" "$KIT/steps/device" "$PRECISION" && wait && "${ten[@]}" compare "$KIT"/steps/{cpu,device}
    say "ten steps differ from the CPU's at most by rounding: $?"
    # A run under the launcher of several GPUs has the losses of one that is killed and resumed.
    python3 -m accelerate.commands.launch --config_file "baselines/accelerate/$LAUNCHER.yaml" --num_processes 1 \
        -m "${train[@]}" --output "$KIT/steps/launched/onepass"
    python3 -m "${train[@]}" --output "$KIT/steps/killed/onepass" & killed=$!
    until compgen -G "$KIT/steps/killed/onepass/checkpoints/step-*" || ! kill -0 $killed; do sleep 0.05; done
    kill -9 $killed
    python3 -m "${train[@]}" --output "$KIT/steps/killed/onepass" --resume
    "${ten[@]}" compare "$KIT"/steps/{launched,killed}
    say "a run that was killed and one under the launcher are the same: $?"
}
small > "$OUT/small.log" 2>&1 & small=$!

on_cpu python3 -m sgdx_cli prepare --source "$KIT/release.zip" --config original v1 v2 v3 v4 v5 > "$KIT/prepare.log" 2>&1
say "prepared"
on_cpu python3 -c "
import sys
from transformers import AutoConfig, AutoModel
AutoModel.from_config(AutoConfig.from_pretrained(sys.argv[1])).save_pretrained(sys.argv[1])" "$KIT/start"
on_cpu python3 -m maintenance.gpu.encode "$RECIPE" "$KIT/release.zip" "$KIT/start" "$KIT/encoded" "$ENCODING" || exit 1
say "encoded $(find "$KIT/encoded" -name 'train-*' | wc -l) batches"
wait $small
grep '^=== ' "$OUT/small.log"
