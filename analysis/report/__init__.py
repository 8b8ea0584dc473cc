"""Results as a single self-contained HTML file. Everything here only formats and draws; it computes no statistic.

The tables are those of `analysis.throughput.tables` and `analysis.scenario.tables`. `figures` and `scenario_figures`
define the figures, as values; `plot_svg`, `svg` and the templates define the appearance; `throughput_page` and
`scenario_page` combine them.
"""
