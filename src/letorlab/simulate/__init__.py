"""The papers' own synthetic experiments."""
