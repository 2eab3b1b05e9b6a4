"""A figure file as markup for the page."""

from __future__ import annotations

import re

from letorlab.report.drawing import ACCENT, GRID, INK

# what a standalone file needs and an HTML page does not (the last two are the only addresses in a figure)
NOT_IN_HTML = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>| xmlns(:\w+)?=\"[^\"]*\"", re.DOTALL
)
# colours that would not show on a dark page; a white ground becomes the page's own
THEMED = {INK: "currentColor", GRID: "var(--rule)", ACCENT: "var(--blue)", "#ffffff": "none"}
IDENTIFIER = re.compile(r"(\bid=\"|href=\"#|url\(#)")


def inline_svg(svg: str, prefix: str) -> str:
    """Markup for inside an HTML page: identifiers of its own, text and grid in the page's colours.

    Parameters
    ----------
    svg : str
        A file written by `letorlab.report.figures`.
    prefix : str
        Put before every identifier, so that two figures of a page do not share clip paths.
    """
    markup = NOT_IN_HTML.sub("", svg).replace("xlink:href", "href").strip()
    markup = IDENTIFIER.sub(rf"\g<1>{prefix}-", markup)
    markup = re.sub(r' width="[\d.]+pt"', "", re.sub(r' height="[\d.]+pt"', "", markup, count=1), count=1)
    for colour, themed in THEMED.items():
        markup = markup.replace(colour, themed)
    return markup
