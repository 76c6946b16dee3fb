#!/usr/bin/env bash
# Trainings on a machine with a GPU that is there for fifteen minutes: kit.sh COMMAND. README.md says when to say which.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export KIT=${KIT:-/tmp/sgdx-gpu} # where all lies on the machine
# What is done, an item for each encoder that was packed; rehearse has less of all.
recipes=(${RECIPES:-onepass/base_gpu onepass/record_gpu}) steps=(${STEPS:-1683 1509})
until=(${UNTIL:-60 82}) # hundredths of the time after which each training ends
TIME=${TIME:-720} # seconds of all the work
LIMIT=${LIMIT:-} # options of judging
say() { echo "=== $SECONDS s: $*"; }
left() { echo $((TIME * $1 / 100 - SECONDS)); } # seconds until so many hundredths of the time are over

# pack: fills .gpu/1, .gpu/2 and so on with what the machine lacks, one folder for each transfer, and moves models/ and results/ away.
pack() {
    back
    trap '[ $? = 0 ] || back' EXIT # whatever fails, the tree is as it was
    rm -rf .gpu/[1-9]* .gpu/weights
    mkdir -p .gpu/1/wheels .gpu/weights .gpu/aside
    # Python 3.12's wheels of what is not installed there, in the versions that were tried.
    local tags=(--python-version 3.12 --implementation cp) tag encoder name
    for tag in 2_28 2_27 2_24 2_17 2014 1; do tags+=(--platform "manylinux${tag/#2_/_2_}_x86_64"); done
    python -m pip download --quiet --no-deps --only-binary=:all: "${tags[@]}" -c constraints.txt -d .gpu/1/wheels \
        annotated-types compressed-tensors cyclopts datasets dill docstring-parser docutils evaluate loguru msgspec multiprocess \
        pydantic pydantic-core rapidfuzz rich-rst transformers typing-inspection
    cp "$SGDX_RELEASE" .gpu/1/release.zip
    cp results/{validation-200,test-292,test-146}.json .gpu/1/
    for encoder in $SGDX_ENCODERS; do
        name=$(basename "$encoder")
        echo "$name" >> .gpu/1/encoders
        python -m maintenance.gpu.weights "$encoder" ".gpu/weights/$name"
    done
    tar -cf .gpu/weights.tar -C .gpu/weights .
    mv models results .gpu/aside/
    # Bytes of the tree that goes along; du complains about the files that have just moved.
    local tree number=0 begin=0 size room
    tree=$(git ls-files -z --cached --others --exclude-standard | { xargs -0 du -sb 2> /dev/null || true; } | awk '{ n += $1 } END { print n }')
    size=$(stat -c %s .gpu/weights.tar)
    while [ "$begin" -lt "$size" ]; do
        number=$((number + 1)) && mkdir -p ".gpu/$number"
        room=$(((60 << 20) - tree - $(du -sb ".gpu/$number" | cut -f1))) # bytes that still fit into a transfer of 60 MiB
        [ "$room" -gt 0 ]
        tail -c "+$((begin + 1))" .gpu/weights.tar | head -c "$room" > ".gpu/$number/weights-$number" || true
        begin=$((begin + room))
    done
    rm -rf .gpu/weights .gpu/weights.tar
    echo "$number" > .gpu/1/transfers
    du -sh .gpu/[1-9]
}

# take NUMBER: keeps what lies in .gpu/NUMBER; the first starts the work, which goes on when the command is over.
take() {
    if [ "$1" = 1 ]; then
        rm -rf "$KIT" && mkdir -p "$KIT/carried" "$KIT/results" "$KIT/tree"
        cp -r baselines maintenance setup.cfg sgdx_* sgsacc_metric "$KIT/tree" # the next transfer changes what lies here
    fi
    cp -r ".gpu/$1/." "$KIT/carried"
    touch "$KIT/whole-$1"
    [ "$1" != 1 ] || setsid nohup bash "$KIT/tree/maintenance/gpu/kit.sh" work > "$KIT/results/work.log" 2>&1 < /dev/null &
}

# work: installs, trains and judges; what is in $KIT/results at any moment is whole.
work() {
    set +e
    cd "$KIT"
    export PYTHONPATH=$KIT/site:$KIT/tree PYTHONUNBUFFERED=1 HF_HOME=$KIT/huggingface HF_HUB_OFFLINE=1
    mv carried/{release.zip,*.json} .
    python3 -m pip install -q --no-index --no-deps --no-compile --target site carried/wheels/*.whl || exit 1
    say "installed"
    nvidia-smi
    CUDA_VISIBLE_DEVICES='' python3 -m sgdx_cli prepare --source release.zip --variant original v1 v2 v3 v4 v5 > results/prepare.log 2>&1
    say "prepared"
    local transfers number
    transfers=$(cat carried/transfers)
    for number in $(seq "$transfers"); do until [ -f "whole-$number" ]; do sleep 0.2; done; done
    cat $(seq -f carried/weights-%g "$transfers") | tar -x
    mapfile -t encoders < carried/encoders
    say "has the encoders to start from"
    # The first is judged while the second learns; the second on test only by whoever chooses it by validation.
    learn 1
    { judge_all 1 validation; judge_all 1 test; } &
    [ "${#recipes[@]}" = 1 ] || { learn 2; judge_all 2 validation; }
    wait
    say "done"
    touch done
}

# learn NUMBER: a training, which goes on where it was killed, and its weights in parts. Encoders of the same tokens share the batches.
learn() {
    local number=$1 model=results/model-$1 encoder=${encoders[$1 - 1]} resume= status=1
    while [ "$status" != 0 ] && [ "$(left "${until[number - 1]}")" -gt $((TIME / 20)) ]; do
        [ ! -d "$model/checkpoints" ] || resume=--resume
        timeout -k 9 "$(left "${until[number - 1]}")" python3 -m sgdx_cli train --recipe "${recipes[number - 1]}" --source release.zip \
            --set "model=$encoder" --set "steps=${steps[number - 1]}" --output "$model" \
            --set "encoded=encoded-$(sha256sum < "$encoder/tokenizer.json" | cut -c1-8)" $resume >> "results/train-$number.log" 2>&1
        status=$?
        say "training $number ended with status $status"
    done
    tar -cf - -C "$model" $(cd "$model" && echo *.safetensors) | split -b 15M -d - "weights-$number-"
}

# judge_all NUMBER SPLIT: SGD with acts and by text alone, and many; writes results/model-NUMBER/SPLIT.
judge_all() {
    local model=results/model-$1 split=$2 sgd=validation-200 text=validation-200
    [ "$split" = validation ] || sgd=test-292 text=test-146
    judge sgd --source release.zip --dialogues "$sgd.json" &
    judge sgd-text --source release.zip --dialogues "$text.json" --acts false &
    judge many --source many &
    judge many-text --source many --acts false &
    wait
    say "judged $1 on $split"
}
judge() {
    timeout -k 5 "$(left 99)" python3 -m sgdx_cli evaluate --model "$model" --split "$split" --quiet --batch-size 512 \
        --token-budget 32768 --output "$model/$split/$1" "${@:2}" $LIMIT >> "results/judge-$(basename "$model").log" 2>&1
    say "judged $(basename "$model") on $1 of $split: $?"
}

# fetch SECONDS GROUP: waits for the work, at most so many seconds, and hands over what there is of it, with four parts of the
# weights: the first four as group 0, the next as group 1, and so on; those of the last model come first.
fetch() {
    until [ -f "$KIT/done" ] || [ "$SECONDS" -ge "$1" ]; do
        sleep 1
        [ $((SECONDS % 20)) -ne 0 ] || tail -qn 1 "$KIT"/results/{work,train-*}.log || true
    done
    tar -czf "$OUT/run.tar.gz" --exclude='*.safetensors' --exclude=checkpoints -C "$KIT/results" .
    local parts
    parts=$(ls "$KIT"/weights-2-* 2> /dev/null; ls "$KIT"/weights-1-* 2> /dev/null || true)
    echo "$parts" | tail -n "+$((4 * $2 + 1))" | head -n 4 | xargs -r -I{} cp {} "$OUT"
    grep '^=== ' "$KIT/results/work.log"
    echo "$(echo "$parts" | grep -c .) parts of weights"
}

# back [FOLDER NUMBER OUTPUT]: moves models/ and results/ back; makes a model of all that fetch handed over and that lies in FOLDER.
back() {
    local folder from
    for folder in models results; do [ ! -d ".gpu/aside/$folder" ] || mv ".gpu/aside/$folder" .; done
    [ $# -gt 0 ] || return 0
    from=$(cd "$here" && realpath "$1")
    mkdir -p "$3"
    tar -xzf "$from/run.tar.gz" -C "$3" --strip-components 2 "./model-$2"
    cat "$from/weights-$2"-?? | tar -x -C "$3"
    python -c "from baselines.use import load_tracker; print(load_tracker('$3').describe())"
}

# rehearse FOLDER: all of it on a CPU, after pack with small encoders, with the first training killed once; its model is FOLDER/model.
rehearse() {
    export KIT=$1/kit OUT=$1/fetched TIME=${TIME:-600} LIMIT='--limit 2' OMP_NUM_THREADS=1 RECIPES="$1/small.yaml $1/small.yaml" STEPS='12 8'
    mkdir -p "$OUT"
    sed 's/^\(batch_size\): .*/\1: 16/; s/^\(token_budget\): .*/\1: 3072/; s/^\(precision\): .*/\1: fp32/; s/^\(evaluate_frames\): .*/\1: 40/
        s/^\(save_every\): .*/\1: 4/; $a train_dialogues: 40' baselines/onepass/config/base_gpu.yaml > "$1/small.yaml"
    local number
    for number in $(seq "$(cat .gpu/1/transfers)"); do bash maintenance/gpu/kit.sh take "$number"; done
    until compgen -G "$KIT/results/model-1/checkpoints/step-*" > /dev/null; do sleep 0.2; done
    kill -9 "$(pgrep -f "^python3 -m sgdx_cli train .*--output results/model-1")"
    for number in 0 1; do bash maintenance/gpu/kit.sh fetch "$TIME" "$number"; done
    PYTHONPATH=$KIT/site back "$OUT" 1 "$1/model"
}

"$@"
