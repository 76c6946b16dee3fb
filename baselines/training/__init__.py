"""The one training loop, its checkpoints, settings and run folders, shared by all trackers."""
