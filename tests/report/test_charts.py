"""Geometry of the small charts."""

from __future__ import annotations

from tagfill.report.charts import Point, Series, line_chart


def test_axes_have_round_marks_inside() -> None:
    chart = line_chart(
        [Series("loss", [Point(1, -0.1123), Point(2, -0.1291)])], x_label="epoch", y_label="loss"
    )
    assert [tick.text for tick in chart.x_ticks] == ["1", "2"]
    assert all(chart.top <= tick.position <= chart.bottom for tick in chart.y_ticks)
    assert len(chart.y_ticks) >= 3
    flat = line_chart([Series("one", [Point(1, 2.0)])], x_label="epoch", y_label="loss")
    assert flat.lines[0].path.startswith("M")
