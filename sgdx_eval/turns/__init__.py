"""Generated turns: what is read, scored and printed."""
