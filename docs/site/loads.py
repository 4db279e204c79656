"""What a page would have a browser load from another place."""

from __future__ import annotations

import re

LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=[\"']?(?:https?:)?//"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon|modulepreload))"
    r"[^>]*?\bhref=[\"']?(?:https?:)?//"
    r"|<object\b[^>]*?\bdata=[\"']?(?:https?:)?//"
    r"|@import\s*(?:url\()?[\"']?(?:https?:)?//"
    r"|url\([\"']?(?:https?:)?//",
    re.IGNORECASE,
)


def outside(text: str) -> list[str]:
    """What of an HTML page or a style sheet a browser would load from another place."""
    return [match[0] for match in LOADS.finditer(text)]
