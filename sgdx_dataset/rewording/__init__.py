"""New words for schemas: from paraphrases, at random, or by way of another language."""
