"""What a business workload's run says: its audit by the published rules, its rates, times and steady state."""
