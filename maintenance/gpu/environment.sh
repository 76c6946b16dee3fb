# What first.sh and second.sh share: where things lie, and sizes, which rehearse.sh makes smaller.
export KIT=${KIT:-/tmp/sgdx-gpu}
export PYTHONPATH=$KIT/site:$PWD PYTHONUNBUFFERED=1
export HF_HOME=$KIT/huggingface HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1
RECIPE=${RECIPE:-onepass/record_gpu} PRECISION=${PRECISION:-bf16} LAUNCHER=${LAUNCHER:-ddp}
ENCODING=${ENCODING:-60} # seconds to encode in, after a first pass over all frames
TRIAL=${TRIAL:-400} # steps at each of three rates
TIME=${TIME:-500} # seconds that second.sh has
LIMIT=${LIMIT:-} # options of judging
say() { echo "=== $SECONDS s: $*"; }
