"""How faithful generated responses are: SER, BLEU and SGSAcc under every wording of the schemas."""

from sgdx_metric.rows import ScoreError
from sgdx_metric.version import __version__

from .api import score, score_files
from .gold import Options

__all__ = ["Options", "ScoreError", "__version__", "score", "score_files"]
