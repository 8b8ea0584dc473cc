"""Results as a single self-contained HTML file. Everything here only formats and draws; it computes no statistic.

The tables are those of `analysis.throughput.tables` and `analysis.scenario.tables`. `figures` and `scenario_figures`
define the figures, as values; `throughput_page`, `scenario_page` and `gate_page` combine them to a `page`; `plot_svg`,
`svg` and the template define the appearance.
"""
