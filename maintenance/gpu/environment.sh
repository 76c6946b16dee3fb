# What the scripts share: where things lie on the machine, and sizes, which rehearse.sh makes smaller.
export KIT=${KIT:-/tmp/sgdx-gpu}
export PYTHONPATH=$KIT/site:$KIT/tree PYTHONUNBUFFERED=1
export HF_HOME=$KIT/huggingface HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1
recipes=(${RECIPES:-onepass/base_gpu onepass/record_gpu}) # one for each encoder that was packed, with the same batches
until=(${UNTIL:-52 76}) # hundredths of the time after which each training ends
PRECISION=${PRECISION:-bf16} LAUNCHER=${LAUNCHER:-ddp}
ENCODING=${ENCODING:-20} # seconds to encode in, after a first pass over all frames
TRIAL=${TRIAL:-160} # steps after which the speed is known
TIME=${TIME:-720} # seconds of all the work
LIMIT=${LIMIT:-} # options of judging
say() { echo "=== $SECONDS s: $*"; }
