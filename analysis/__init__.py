"""The only statistics: reads run directories, never a socket; Spark reduces them, statsmodels fits what is left."""
