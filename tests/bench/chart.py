"""A horizontal bar chart as SVG text."""

from html import escape

LEFT, WIDTH, ROW, TOP = 300, 460, 24, 60
FULL = 1.25  # the ratio at the right end; longer bars are cut
OURS, SLOWER, LINE, TEXT = "#2f6fb7", "#c0703a", "#999", "#444"


def chart(title: str, bars: list[tuple[str, float]]) -> str:
    """Bars of ratios, with a line at 1."""
    height = TOP + ROW * len(bars) + 20
    one = LEFT + WIDTH / FULL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{height}" font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="24" font-size="15" fill="{TEXT}">{escape(title)}</text>',
        f'<text x="{one:.0f}" y="{TOP - 10}" text-anchor="middle" fill="{TEXT}">best peer = 1</text>',
    ]
    for index, (name, ratio) in enumerate(bars):
        y = TOP + ROW * index
        length = WIDTH * min(ratio, FULL) / FULL
        colour = OURS if ratio <= 1 else SLOWER
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="{TEXT}">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{ROW - 8}" fill="{colour}"/>',
            f'<text x="{LEFT + length + 6:.0f}" y="{y + 15}" fill="{TEXT}">{ratio:.2f}</text>',
        ]
    bottom = TOP + ROW * len(bars)
    parts += [f'<line x1="{one:.0f}" y1="{TOP - 4}" x2="{one:.0f}" y2="{bottom}" stroke="{LINE}" stroke-dasharray="3 3"/>', "</svg>"]
    return "\n".join(parts) + "\n"
