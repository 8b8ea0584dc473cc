"""The throughput study of Henjes et al. 2006, an experiment per file; pytest fixtures supply broker and measurement."""
