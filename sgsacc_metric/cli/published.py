"""Published figures of generators on SGD, as they were printed, with where and how.

The paper is Chen, Lin and Byrne 2023 (arXiv 2301.12568). Its own systems were tested on 10,000
sampled test turns; of those that it cites it does not say so. Its seen and unseen are of domains.
BLEU figures do not stand on one scale, as most sources do not say how they were computed.
"""

from dataclasses import dataclass

# Of all turns, of those of seen domains and of those of unseen domains.
AllSeenUnseen = tuple[float, float, float]


@dataclass(frozen=True)
class PublishedSystem:
    """One system's printed figures, all in percent.

    Attributes:
        name: What the source calls the system.
        source: Where its figures were printed.
        data: What they were measured on.
        bleu: BLEU, from 0 to 100.
        bleu_scale: How BLEU was computed, as far as the source says.
        ser: Slot error rate of all turns and those of seen and unseen domains, or of all alone.
        sgsacc_validated, sgsacc: The same of SGSAcc, over the validated turns and over all.
        note: What has to be known beside the figures.
    """

    name: str
    source: str
    data: str
    bleu: float
    bleu_scale: str
    ser: AllSeenUnseen | tuple[float] | None = None
    sgsacc_validated: AllSeenUnseen | None = None
    sgsacc: AllSeenUnseen | None = None
    note: str = ""


_PAPER = "Chen et al. 2023, arXiv 2301.12568"
_SAMPLE = "10,000 sampled test turns"
_LOWER = "tok:13a|case:lc"
_UNSAID = "not stated"
# BLEU of the sizes small, base, large and XL.
_GEM = {
    "T5": (31.72, 32.60, 31.37, 31.63),
    "mT5": (30.43, 31.36, 31.67, 33.01),
    "ByT5": (31.20, 31.36, 30.65, 32.38),
}
PUBLISHED = (
    PublishedSystem(
        "CVAE", "Du et al. 2020, arXiv 2005.05480", "SG-NLG, tested on SGD dev", 43.0, _UNSAID,
        (24.0, 9.00, 27.0), note="delexicalised, another task: about 4,000 meaning representations",
    ),
    PublishedSystem("GPT2", "Tsai et al. 2021, arXiv 2109.12211", _UNSAID, 20.5, _UNSAID, (0.90,)),
    PublishedSystem(
        "T2G2-T5", _PAPER, _UNSAID, 28.6, "most likely tok:none", (0.40, 0.40, 0.40),
        note="the table credits Tsai et al. 2021, the text Kale and Rastogi 2020",
    ),
    PublishedSystem(
        "FT-T5 (t5-small)", _PAPER, _SAMPLE, 32.3, _UNSAID, (0.04, 0.05, 0.00),
        (97.3, 98.6, 88.7), (96.5, 97.8, 87.7), "the text has 89.1 for unseen",
    ),
    PublishedSystem(
        "PT-T5 (prefix-tuned t5-small)", _PAPER, _SAMPLE, 31.8, _UNSAID, (0.82, 0.91, 0.23),
        (98.5, 98.7, 97.0), (97.9, 98.2, 96.4), "the text has 98.5 for unseen",
    ),
    PublishedSystem(
        "PT+FT, reranked", _PAPER, _SAMPLE, 32.1, _UNSAID, (0.02, 0.02, 0.00),
        (98.9, 99.5, 97.7), (98.5, 99.1, 97.1),
        "the text has 99.4 and 98.8; 99.5 and 97.7 cannot average to 98.9",
    ),
    *(
        PublishedSystem(
            f"{family} {size} (GEM)", "GEM's result files", "GEM's 10,000 sampled test turns",
            bleu, _LOWER,
        )
        for family, figures in _GEM.items()
        for size, bleu in zip(("small", "base", "large", "XL"), figures, strict=True)
    ),
    PublishedSystem(
        "unnamed, 639M parameters (GEM)", "GEM's result files", "GEM's 10,000 sampled test turns",
        39.13, _LOWER, note="the submission does not say what it is",
    ),
    PublishedSystem(
        "T5-small (ConvLab-3)", "ConvLab-3's results", "whole test split", 29.6, _LOWER,
        note="its error rate of 11.9 counts redundant values and all slots too: it is not SER",
    ),
)  # fmt: skip
