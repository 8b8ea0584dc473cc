"""Results as one HTML file that needs nothing else. Everything here only formats and draws; it computes no statistic.

`sheets` and `pictures` say what is shown, as values; `drawing` and the template say how it looks; `page` joins them.
"""
