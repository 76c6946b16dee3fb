# What the scripts share: where things lie on the machine, and sizes, which rehearse.sh makes smaller.
export KIT=${KIT:-/tmp/sgdx-gpu}
export PYTHONPATH=$KIT/site:$KIT/tree PYTHONUNBUFFERED=1
export HF_HOME=$KIT/huggingface HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1
RECIPE=${RECIPE:-onepass/base_gpu} PRECISION=${PRECISION:-bf16} LAUNCHER=${LAUNCHER:-ddp}
ENCODING=${ENCODING:-20} # seconds to encode in, after a first pass over all frames
RATE=${RATE:-1e-4} # the highest learning rate
TRIAL=${TRIAL:-160} # steps after which the speed is known
TIME=${TIME:-740} # seconds of all the work
LIMIT=${LIMIT:-} # options of judging
say() { echo "=== $SECONDS s: $*"; }
