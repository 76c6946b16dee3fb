"""What the report shows of calls of somebody's own tools: the scores of ``sgdx_tools``."""
