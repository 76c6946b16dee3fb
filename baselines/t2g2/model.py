"""The model of a generator: an encoder-decoder, and what is stored of its training."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from ..loop import last_checkpoint
from ..settings import InputName, T2G2Settings
from ..system import read_provenance
from ..t5dst.model import commit_of, generation_settings, load_model, pretrained_t5
from ..task import Provenance, Run


class T2G2Provenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a generator's model, stored in its ``config.json`` under ``sgdx``."""

    input: InputName  # what the model reads, one of ``inputs.INPUTS``
    # SHA-256 of the hand-written templates that it was trained with; empty if none.
    templates: str = ""
    max_input: int  # in tokens
    max_target: int
    beams: int
    length_penalty: float  # power of the length by which a beam's log-likelihood is divided
    # Commit on the Hub of the model that training started from; empty if that was a folder.
    pretrained_commit: str = ""


def beam_settings(model: PreTrainedModel, provenance: T2G2Provenance) -> GenerationConfig:
    """Settings under which ``model.generate`` searches as this generator does."""
    return generation_settings(
        model, provenance.max_target, provenance.beams, provenance.length_penalty
    )


def initial_model(
    run: Run[T2G2Settings], templates: str, texts: Sequence[str]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, T2G2Provenance]:
    """The model that training starts from: the last checkpoint, or the recipe's model."""
    settings = run.settings
    provenance = run.provenance.extended(
        T2G2Provenance,
        input=settings.input,
        templates=templates,
        max_input=settings.max_input,
        max_target=settings.max_target,
        beams=settings.beams,
        length_penalty=settings.length_penalty,
    )
    if checkpoint := last_checkpoint(run, ""):
        model, tokenizer = load_model(str(checkpoint))
        return model, tokenizer, read_provenance(str(checkpoint), T2G2Provenance)
    name = pretrained_t5(run, texts, provenance, settings.max_target)
    commit = commit_of(name, settings.revision)
    model, tokenizer = load_model(name, commit or None)
    return model, tokenizer, msgspec.structs.replace(provenance, pretrained_commit=commit)
