"""All statistics of the suite: reads run directories, never a socket; Spark aggregates them, statsmodels fits."""
