"""The page that `sgdx report` writes: what runs score, what rewording costs, and where."""
