"""The SGD baseline: one pass of an encoder per turn, and schema elements embedded once."""
