"""Results as a single self-contained HTML file. Everything here only formats and draws; it computes no statistic.

`tables` and `figures` define the content, as values; `plot_svg`, `svg` and the templates define the appearance;
`throughput_page` and `scenario_page` combine them.
"""
