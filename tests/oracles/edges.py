"""Edge detectors the slow way: one image, one pixel, one comparison at a time."""

# Orientation of the edge as seen, and the step (down, right) from the upper (or left) pixel to the other.
ACROSS = {0: (1, 0), 45: (1, 1), 90: (0, 1), 135: (1, -1)}
ALONG = {0: (0, 1), 45: (1, -1), 90: (1, 0), 135: (1, 1)}


def inside(image, r, c):
    return 0 <= r < len(image) and 0 <= c < len(image[0])


def compared(r, c, orientation):
    """The six pairs of pixels that an edge at (r, c) must beat."""
    (er, ec), (pr, pc) = ACROSS[orientation], ALONG[orientation]
    z, other = (r, c), (r + er, c + ec)
    return [
        (z, (r - er, c - ec)),
        (z, (r + pr, c + pc)),
        (z, (r - pr, c - pc)),
        (other, (r + 2 * er, c + 2 * ec)),
        (other, (r + er + pr, c + ec + pc)),
        (other, (r + er - pr, c + ec - pc)),
    ]


def is_place(image, r, c, orientation):
    return all(inside(image, *pixel) for pair in compared(r, c, orientation) for pixel in pair)


def is_edge(image, r, c, orientation, sign=0, min_contrast=0):
    if not is_place(image, r, c, orientation):
        return False
    er, ec = ACROSS[orientation]
    difference = int(image[r + er][c + ec]) - int(image[r][c])
    if abs(difference) < min_contrast or sign * difference < 0:
        return False
    pairs = compared(r, c, orientation)
    return all(abs(difference) > abs(int(image[a][b]) - int(image[i][j])) for (a, b), (i, j) in pairs)


def detector(image, orientation, vagueness, r, c, sign=0, min_contrast=0):
    er, ec = ACROSS[orientation]
    return any(
        is_edge(image, r + k * er, c + k * ec, orientation, sign, min_contrast)
        for k in range(-vagueness, vagueness + 1)
    )


def places(image, orientation):
    return [(r, c) for r in range(len(image)) for c in range(len(image[0])) if is_place(image, r, c, orientation)]
