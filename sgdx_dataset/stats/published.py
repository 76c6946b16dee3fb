"""Published figures, to be shown beside those of a release."""

from __future__ import annotations

from typing import Any

# Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems"
# (arXiv 2110.06800): Table 1, and from the text the self-BLEU and the figures of the
# back-translated train schemas.
SGDX = "Lee et al. 2022, Table 1"
_TABLE_1: dict[str, list[float | None]] = {
    "slots_seen": [65, 13, 14, 5, 6, 2, 8],
    "intents_seen": [71, 0, 0, 4, 0, 4, 2],
    "name_distance": [None, 0.30, 0.42, 0.49, 0.56, 0.61, 0.48],
    "description_bleu": [None, 18.8, 11.3, 5.6, 2.9, 1.0, 7.9],
}
_VARIANTS = ["original", "v1", "v2", "v3", "v4", "v5", "average"]

# The release's own page, github.com/google-research-datasets/dstc8-schema-guided-dialogue:
# dstc8.md, "Dataset Statistics" (commit 3716015): train, dev and test, each single-domain,
# multi-domain and combined.
SGD = "the release's dstc8.md"
_COUNTS: dict[str, list[float]] = {
    "dialogues": [5403, 10739, 16142, 836, 1646, 2482, 1331, 2870, 4201],
    "turns": [82588, 247376, 329964, 11928, 36798, 48726, 16850, 67744, 84594],
    "tokens": [807562, 2409857, 3217419, 117492, 353381, 470873, 166329, 713731, 880060],
    "turns_per_dialogue": [15.286, 23.035, 20.441, 14.268, 22.356, 19.632, 12.660, 23.604, 20.137],
    "tokens_per_turn": [9.778, 9.742, 9.751, 9.850, 9.603, 9.664, 9.871, 10.536, 10.403],
    "unique_tokens": [16350, 25459, 30349, 6803, 10533, 12719, 7213, 14888, 16382],
    "slots": [201, 214, 214, 134, 132, 136, 157, 158, 159],
    "informable_slots": [138, 144, 144, 89, 87, 89, 109, 110, 111],
    "slot_values": [7070, 11635, 14139, 2418, 4182, 5101, 2492, 5847, 6533],
    "informable_slot_values": [3742, 6348, 7661, 1137, 2118, 2524, 1387, 3323, 3727],
    "domains": [14, 16, 16, 16, 15, 16, 17, 18, 18],
    "services": [24, 26, 26, 17, 16, 17, 20, 21, 21],
    "intents": [35, 37, 37, 28, 26, 28, 33, 34, 35],
}


FIGURES: dict[str, Any] = {
    "sources": {"schemas": SGDX, "dialogues": SGD},
    "schemas": {
        "elements": {"services": 45, "slots": 365, "intents": 88},
        "variants": {
            variant: {name: row[i] for name, row in _TABLE_1.items()}
            for i, variant in enumerate(_VARIANTS)
        },
        "self_bleu": 4.5,
        "backtrans": {"average": {"name_distance": 0.14, "description_bleu": 34.1}},
        "backtrans_self_bleu": 41.8,
    },
    "dialogues": {
        "counts": {
            split: {
                kind: {name: row[3 * i + j] for name, row in _COUNTS.items()}
                for j, kind in enumerate(("single", "multi", "combined"))
            }
            for i, split in enumerate(("train", "validation", "test"))
        }
    },
}
