"""Numbers in reasons that people read."""


def apart(value: float, limit: float) -> str:
    """``value`` in as few digits as tell it from ``limit``: a refusal by a hair must not read as a tie."""
    for digits in range(2, 16):
        text = f"{value:.{digits}g}"
        if float(text) != limit or value == limit:
            return text
    return repr(value)
