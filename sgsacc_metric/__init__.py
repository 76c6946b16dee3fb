"""How faithful generated responses are: SER, BLEU and SGSAcc under every wording of the schemas."""

from .gold import Options
from .rows import ScoreError
from .version import __version__

__all__ = ["Options", "ScoreError", "__version__"]
