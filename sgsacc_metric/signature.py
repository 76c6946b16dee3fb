"""The one line beside every score that says how it was computed.

The line is modelled on sacreBLEU's signature (Post 2018, arXiv 1804.08771).
"""

from collections.abc import Sequence

from sgdx_metric.signature import (
    Setup,
    dialogues_mark,
    made_parts,
    marked,
    release_part,
    signature_line,
    split_name,
)
from sgdx_metric.variants import short_digest

from .bleu import bleu_signature
from .candidates import REVISION
from .gold import PAPER, GoldTurn, Options
from .rows import Turn

NAME = "sgsacc_metric"


def signature(
    variants: Sequence[str],
    evaluators: Sequence[str],
    split_turns: Sequence[Turn],
    turns: Sequence[Turn],
    setup: Setup,
    nli: str = "none",
    gold: Sequence[GoldTurn] = (),
    options: Options = PAPER,
) -> str:
    """Write the line `sgsacc_metric|key:value|...` of those turns of a split that are scored."""
    split = split_name(setup.split or "unknown")
    dialogues = {turn.dialogue_id for turn in turns}
    available = len({turn.dialogue_id for turn in split_turns})
    if setup.subset:  # `split_turns` are those of some dialogues alone
        available = setup.subset.available
    is_whole = len(turns) == sum(turn.dialogue_id in dialogues for turn in split_turns)
    turns_digest = short_digest(sorted(turn.turn_id for turn in turns))
    # sacreBLEU's signature in one part: `tok-13a,case-mixed,...`.
    bleu = bleu_signature(options.tokenize, options.lowercase)
    bleu = bleu.replace(":", "-").replace("|", ",").replace("version", "sacrebleu")
    parts: dict[str, object] = {
        "generator": marked(variants, setup.variants),
        "evaluator": marked(evaluators, setup.variants),
        "split": split,
        "release": release_part(split, available, setup.release),
        "dialogues": dialogues_mark(dialogues) if len(dialogues) < available else None,
        "services": "+".join(sorted(set(setup.services))) or None,
        "turns": len(turns) if is_whole else f"{len(turns)}@{turns_digest}",
        "bleu": bleu,
        "ser": "t2g2",
        "nli": nli,
    }
    if nli != "none":
        valid = f"{sum(turn.valid for turn in gold)}/{len(gold)}" if gold else None
        parts |= {
            "rules": options.rules,
            "references": REVISION,
            "context": "yes" if options.context else "no",
            "validated": valid if options.validate else None,
            "negatives-seed": options.seed if options.validate else None,
        }
    return signature_line(NAME, parts | made_parts(setup))
