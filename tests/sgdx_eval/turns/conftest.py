"""What the tests of generated turns share with those of their metric."""

from ...sgsacc_metric.conftest import copies

__all__ = ["copies"]
