"""Run folders in; the tables and figures of the SGD-X paper, and the errors behind them, out."""
