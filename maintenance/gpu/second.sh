#!/usr/bin/env bash
# The second command on the machine, eight minutes: the record, its judgement, then the speed of other shapes.
# What is in $OUT at any moment is whole: record.json, weights-0 to -2, run.tar.gz, speed.json, second.log.
set -uo pipefail
cd "$(dirname "$0")/../.."
source maintenance/gpu/environment.sh
exec > >(tee "$OUT/second.log") 2>&1
[ -f .gpu/second/model.safetensors ] && cp .gpu/second/model.safetensors "$KIT/start/"
mkdir -p "$KIT/work"
left() { echo $((TIME * $1 / 100 - SECONDS)); } # seconds until so many hundredths of the time are over

# The training is begun again where it was killed.
while [ "$(left 75)" -gt $((TIME / 10)) ]; do
    timeout -k 5 "$(left 80)" python3 -m maintenance.gpu.record --seconds "$(left 75)" --encoded "$KIT/encoded" \
        --model "$KIT/start" --work "$KIT/work" --results "$OUT" --trial "$TRIAL" && break
    say "the training ended with status $?"
done
say "trained"
pack() { tar -czf "$OUT/run.new" --exclude='*.safetensors' --exclude=checkpoints --exclude=predictions -C "$KIT/work/best" . && mv "$OUT/run.new" "$OUT/run.tar.gz"; }
pack

# Validation of SGD (200 dialogues) and of many, each with the system's acts and by text alone.
judge() {
    timeout -k 5 "$(left 92)" python3 -m sgdx_cli evaluate --model "$KIT/work/best" --split validation --quiet \
        --batch-size 1024 --token-budget 131072 --output "$KIT/work/best/validation/$1" "${@:2}" $LIMIT
    say "judged $1: $?"
}
sgd=(--source "$KIT/release.zip" --dialogues "$KIT/validation-200.json")
judge sgd "${sgd[@]}" & judge sgd-text --acts false "${sgd[@]}" & judge many --source many & judge many-text --acts false --source many &
wait %1 %2 %3 %4 # all but the log
pack
say "judged"
timeout -k 5 "$(left 98)" python3 -m maintenance.gpu.speed "$OUT/speed.json" "$(left 96)"
say "done"
