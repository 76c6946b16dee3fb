#!/usr/bin/env bash
# Packs into .gpu/1, .gpu/2 and so on what the machine lacks, one folder for each transfer, and moves models/ and results/ out of
# the way, as README.md says.
set -euo pipefail
cd "$(dirname "$0")/../.."
maintenance/gpu/back.sh
trap '[ $? = 0 ] || maintenance/gpu/back.sh' EXIT # whatever fails, the tree is as it was
rm -rf .gpu/[1-9]* .gpu/download
mkdir -p .gpu/1/wheels .gpu/download .gpu/aside

# Python 3.12's wheels of what is not installed there, in the versions that were tried.
tags=(--python-version 3.12 --implementation cp)
for tag in 2_28 2_27 2_24 2_17 2014 1; do tags+=(--platform "manylinux${tag/#2_/_2_}_x86_64"); done
python -m pip download --quiet --no-deps --only-binary=:all: "${tags[@]}" -c constraints.txt -d .gpu/1/wheels \
    annotated-types compressed-tensors cyclopts datasets dill docstring-parser docutils evaluate loguru msgspec multiprocess \
    pydantic pydantic-core rapidfuzz rich-rst transformers typing-inspection
cp "$SGDX_RELEASE" .gpu/1/release.zip
cp results/{validation-200,test-292,test-146}.json .gpu/1/

# The encoders to start from, in 8 bits; what their tokens are goes first.
number=0
for encoder in $SGDX_ENCODERS; do
    number=$((number + 1))
    mkdir ".gpu/1/start-$number"
    python -m maintenance.gpu.weights small "$encoder" ".gpu/1/start-$number"
    cmp .gpu/1/start-{1,"$number"}/tokenizer.json # the batches are made once for all
    mkdir ".gpu/download/start-$number"
    mv ".gpu/1/start-$number/model.safetensors" ".gpu/download/start-$number"
done
tar -cf .gpu/weights.tar -C .gpu/download .

mv models results .gpu/aside/
# Bytes of the tree that goes along; du complains about the files that have just moved.
tree=$(git ls-files -z --cached --others --exclude-standard | { xargs -0 du -sb 2> /dev/null || true; } | awk '{ n += $1 } END { print n }')
room() { echo $(((60 << 20) - tree - $(du -sb ".gpu/$1" | cut -f1))); } # bytes that still fit into a transfer of 60 MiB
cd .gpu
begin=0 size=$(stat -c %s weights.tar) number=0
while [ "$begin" -lt "$size" ]; do
    number=$((number + 1)) && mkdir -p "$number"
    part=$(cd .. && room "$number")
    [ "$part" -gt 0 ]
    tail -c "+$((begin + 1))" weights.tar | head -c "$part" > "$number/weights-$number" || true
    begin=$((begin + part))
done
rm -rf download weights.tar
echo "$number" > 1/transfers
du -sh [1-9]
