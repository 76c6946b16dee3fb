"""What the terminal says of figures of generated turns."""

from sgdx_eval.turns.terminal import coverage_lines, figure_title


def test_titles() -> None:
    keys = ("bleu_v1-5", "sgsacc_validated_orig", "ss_ser", "ss_bleu(v1..v5+mine)", "flips_ser")
    assert [figure_title(key) for key in keys] == [
        "BLEU v1-5",
        "SGSAcc validated orig",
        "SS_SER",
        "SS_BLEU(v1..v5+mine)",
        "flips_ser",
    ]


def test_coverage() -> None:
    counts = {
        "turns": {"all": 9},
        "judged_turns": 7,
        "valid_turns": 5,
        "actions": {"all": 20, "judged": 15},
        "pairs": {"sent": 30, "asked": 40},
    }
    shares = {"ser_coverage": 0.636, "coverage": 7 / 9, "validated": 5 / 9}
    shares["validated_without_offers"] = 0.625
    scores = {"variants": {"v1": {"#ALL_SERVICES": shares}}, "counts": counts}
    assert coverage_lines(scores) == [
        "ser_coverage 63.6 %: turns with a slot that SER looks at (the paper: 66).",
        "coverage 77.8 %: judged turns, 7 of 9 (15 of 20 actions).",
        "validated 55.6 %: valid turns, 5 of 9 (the paper: 97.0).",
        "validated_without_offers 62.5 %: of turns that do more than offer an intent.",
        "30 pairs were judged for 40 answers.",
    ]
    scores["counts"] = {"turns": {"all": 9}}
    assert len(coverage_lines(scores)) == 1
