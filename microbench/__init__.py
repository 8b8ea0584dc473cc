"""The throughput study of Henjes et al. 2006, one question per file; brokers and figures come by pytest fixture."""
