"""What a reader sees of a study: tables, figures and the page."""
