"""Where the labels of points go, so that they cover one another and the points least."""

from __future__ import annotations

from collections.abc import Mapping

Box = tuple[float, float, float, float]  # left, bottom, right, top


def place_labels(
    points: Mapping[str, tuple[float, float]], letter: float, line: float
) -> dict[str, tuple[str, int]]:
    """Place the labels of points one after the other, each where it covers least.

    The points, by their label, are parts of the panel in [0, 1]; so are about how wide a letter and
    how high a line is. Gives by label the side of the text that is at the point, `left` or
    `right`, and by how many lines it is lifted.
    """
    half = line / 2
    taken = [(x - half, y - half, x + half, y + half) for x, y in points.values()]
    labels = {}
    for name, (x, y) in points.items():
        places = {}
        for lift in (0, 1, -1, 2, -2):
            for side in ("left", "right"):
                left = x + 0.015 if side == "left" else x - 0.015 - letter * len(name)
                middle = y + lift * line
                box = left, middle - half, left + letter * len(name), middle + half
                outside = max(0.0, -box[0]) + max(0.0, box[2] - 1.05)
                cost = sum(_overlap(box, other) for other in taken) + outside + 1e-4 * abs(lift)
                places[side, lift] = round(cost, 9), box
        labels[name] = min(places, key=lambda place: places[place][0])
        taken.append(places[labels[name]][1])
    return labels


def _overlap(first: Box, second: Box) -> float:
    """The area that two boxes share."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, width) * max(0.0, height)
