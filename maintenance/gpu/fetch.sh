#!/usr/bin/env bash
# The last commands on the machine: fetch.sh SECONDS GROUP waits for the work, at most so many seconds, and hands over what there
# is of it, with four parts of the weights: the first four as group 0, the next as group 1, and so on; those of the last model come
# first.
cd "$(dirname "$0")/../.."
source maintenance/gpu/environment.sh
until [ -f "$KIT/done" ] || [ "$SECONDS" -ge "$1" ]; do
    sleep 1
    [ $((SECONDS % 20)) -ne 0 ] || tail -qn 1 "$KIT"/results/{work,train-*}.log
done
tar -czf "$OUT/run.tar.gz" --exclude='*.safetensors' --exclude=checkpoints -C "$KIT/results" .
parts=$(ls "$KIT"/weights-2-* 2> /dev/null; ls "$KIT"/weights-1-* 2> /dev/null)
echo "$parts" | tail -n "+$((4 * $2 + 1))" | head -n 4 | xargs -r -I{} cp {} "$OUT"
grep -h '^=== ' "$KIT/results/work.log"
echo "$(echo "$parts" | grep -c .) parts of weights"
